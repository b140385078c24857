package program

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// templateFile looks into a template file that is named literally, for what is
// Jinja and plain text here: people bring their templates along. Each file is
// looked at once; what cannot be read is reported where it is rendered.
func (w *walker) templateFile(n *hclsyntax.FunctionCallExpr) {
	if n.Name != "template" || len(n.Args) == 0 {
		return
	}
	name := plainText(n.Args[0])
	if name == "" || w.visitedTemplates[name] {
		return
	}
	if w.visitedTemplates == nil {
		w.linker.visitedTemplates = map[string]bool{}
		w.linker.templates = expr.NewFilesOf(w.site.dir.FS, w.site.dir.Name)
	}
	w.visitedTemplates[name] = true
	text, file, err := w.templates.Text(".", name)
	file = path.Join(w.site.dir.Name, file) // as messages name it
	if err != nil || !strings.Contains(text, "{{") && !strings.Contains(text, "{%") {
		return
	}
	related := []diag.Related{{Message: "rendered here", Range: rangeOf(n.NameRange)}}
	warn := func(place []int, summary, hint string) {
		w.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: summary, Hint: hint, Related: related,
			Detail: "Jinja's braces have no meaning in a template: the host gets them as they stand here.", Range: placeIn(file, text, place[0], place[1])})
	}
	if m := statement().FindStringSubmatchIndex(text); m != nil {
		warn(m, fmt.Sprintf("the statement {%% %s … %%} is plain text here", text[m[2]:m[3]]),
			"write %{ if CONDITION } … %{ endif } or %{ for x in LIST } … %{ endfor }; a file that is meant for Jinja on the host is no template: name it with the attribute source")
		return
	}
	given := keysOf(n.Args)
	for _, m := range mustache().FindAllStringSubmatchIndex(text, -1) {
		root := text[m[2]:m[3]]
		hint := ""
		if given[root] {
			hint = "write ${" + root + "}"
		} else if w.jinjaName(root, "") != "" {
			hint = fmt.Sprintf("give it to the template, template(%q, { %s = … }), and write ${%s}", name, root, root)
		}
		if hint != "" {
			warn(m, text[m[0]:m[1]]+" is plain text here", hint)
			return
		}
	}
}

// keysOf lists the names that a call of template gives, as far as they are
// written out.
func keysOf(args []hclsyntax.Expression) map[string]bool {
	names := map[string]bool{}
	if len(args) < 2 {
		return names
	}
	if object, ok := args[1].(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			if key, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr); ok {
				names[plainText(key.Wrapped)] = true
			}
		}
	}
	return names
}

// placeIn is the range of a piece of a text.
func placeIn(file, text string, from, to int) diag.Range {
	pos := func(at int) diag.Pos {
		before := text[:at]
		return diag.Pos{Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]), Byte: at}
	}
	return diag.Range{File: file, Start: pos(from), End: pos(to)}
}
