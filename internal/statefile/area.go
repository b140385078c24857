package statefile

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/runtime/machine"
)

// Text gives the text of an area, not yet in the canonical layout.
func (l Language) Text(a *machine.ImportArea) string {
	var b strings.Builder
	if text := about(a.Name); text != "" {
		comment(&b, text)
	}
	if l == Starlark {
		fmt.Fprintf(&b, "state(%s, [\n", starlarkText(a.Name))
		for _, p := range a.Parts {
			starlarkPart(&b, p)
			b.WriteString(",\n")
		}
		b.WriteString("]")
		if len(a.Require) > 0 {
			refs := make([]string, len(a.Require))
			for i, r := range a.Require {
				refs[i] = "ref(" + starlarkText(r) + ")"
			}
			b.WriteString(", require = [" + strings.Join(refs, ", ") + "]")
		}
		if a.Parallel {
			b.WriteString(", parallel = True")
		}
		return b.String() + ")\n"
	}
	fmt.Fprintf(&b, "state %s {\n", hclText(a.Name))
	if len(a.Require) > 0 {
		b.WriteString("require = [" + strings.Join(a.Require, ", ") + "]\n")
	}
	if a.Parallel {
		b.WriteString("parallel = true\n")
	}
	for _, p := range a.Parts {
		b.WriteString("\n")
		hclPart(&b, p)
	}
	return b.String() + "}\n"
}

// about is a comment above a state.
func about(area string) string {
	switch area {
	case "sources":
		return "Where packages come from, and the keys of those sources."
	case "packages":
		return "The packages that somebody asked for."
	case "accounts":
		return "Groups and users."
	case "files":
		return "Files that no package has brought as they are."
	case "services":
		return "What runs, and starts at boot."
	}
	return ""
}

// Remarks gives the text of what is missing, as comments.
func Remarks(s *machine.Import) string {
	var b strings.Builder
	if len(s.Omissions) > 0 {
		comment(&b, "Left out:")
	}
	for _, m := range s.Omissions {
		comment(&b, "- "+m.What+": "+m.Why)
	}
	return b.String()
}
