package hcl

import (
	"bytes"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// maxRepairs is how often a file with mistakes is parsed again.
const maxRepairs = 20

// repair is what is written over a part of a source whose place a mistake names: as many bytes.
type repair struct {
	at   int
	text string
}

// parseOn parses a source that has mistakes, and gives all that can be found: behind a mistake that
// can be repaired, such as = for ==, the parser leaves out the rest of the block or of the
// file, so that the file is looked at again as if it was mended.
func parseOn(name string, src []byte) (*hcl2.File, diag.List) {
	file, diags := expr.ParseConfig(src, name, hcl2.InitialPos)
	list, repairs := advise(name, src, diags)
	all := list
	mended := bytes.Clone(src)
	for range maxRepairs {
		if len(repairs) == 0 {
			break
		}
		for _, r := range repairs {
			copy(mended[r.at:], r.text)
		}
		file, diags = expr.ParseConfig(mended, name, hcl2.InitialPos)
		list, repairs = advise(name, mended, diags)
		for _, d := range list {
			if !slices.ContainsFunc(all, func(known diag.Diagnostic) bool { return known.Range == d.Range && known.Summary == d.Summary }) {
				all = append(all, d)
			}
		}
	}
	return file, all.Sorted()
}

// repairAt finds where in the source a text takes the place of what is wrong: == that of = and
// of a space beside it.
func repairAt(src []byte, at int, text string) (repair, bool) {
	if text == "==" {
		switch {
		case bytes.HasPrefix(src[at:], []byte("= ")):
		case at > 0 && src[at-1] == ' ':
			at--
		default:
			return repair{}, false
		}
	}
	if text == "" || at+len(text) > len(src) || bytes.ContainsRune(src[at:at+len(text)], '\n') {
		return repair{}, false
	}
	return repair{at, text}, true
}
