package lang

import (
	"cmp"
	"io/fs"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/foreign"
)

// noSources says what is wrong with a directory without state files: best, that
// it holds those of another tool.
func noSources(entries []fs.DirEntry) diag.Diagnostic {
	d := diag.Diagnostic{Summary: "there is nothing to read", Detail: "Its directory holds no *.hcl, *.hcl.json or *.star.",
		Hint: "create a file such as site.hcl in it, or name another directory"}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if a, ok := foreign.File(e.Name()); ok {
			d.Detail += " " + a.Detail
			d.Hint = cmp.Or(a.Hint, d.Hint)
			break
		}
	}
	return d
}
