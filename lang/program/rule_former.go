package program

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/rules"
)

// A former document is taken for what was there: rules go from it to what is wanted now.

// formerOf gives the former document for data of the site; nil: there is none.
func (e *evaluator) formerOf(name string) (given *expr.DataFile) {
	if e.prefix != "" {
		return nil // components have data of their own
	}
	for i, f := range e.target.Former {
		if f.Name == name || f.Name == "" {
			given = &e.target.Former[i]
		}
	}
	return given
}

// reportFormer reports former documents that no rule is for.
func (e *expressions) reportFormer() {
	e.reportUndeclared("--from", e.target.Former)
	names := map[string]bool{} // of data with rules
	for _, d := range e.site.declarations {
		if d.rule != nil {
			names[d.rule.data] = true
		}
	}
	for _, given := range e.target.Former {
		out := diag.Diagnostic{Range: diag.Range{File: "--from"}}
		switch list := strings.Join(slices.Sorted(maps.Keys(names)), ", "); {
		case given.Name == "" && len(names) > 1:
			out.Summary, out.Hint = fmt.Sprintf("which data %s was is not said, and the site has rules for several", given.File), "write --from NAME=FILE, with one of "+list
		case len(names) == 0:
			out.Summary, out.Hint = "the site has no rules that could go from one document to another", "tenet doc rule tells of them"
		case given.Name != "" && !names[given.Name] && e.site.data.Has(given.Name):
			out.Summary, out.Hint = fmt.Sprintf("no rule is for data.%s", given.Name), "there are rules for "+list
		default:
			continue
		}
		e.list.Add(out)
	}
}

// readFormer reads the former document, if one is given, and leaves out what is ignored and what is another host's. What is wrong has been reported
// where it returns false.
func (e *evaluator) readFormer(of *ruledData) bool {
	given := e.formerOf(of.name)
	if given == nil {
		return true
	}
	node, list := document.Read(given.File, given.Data)
	if e.list.Add(list...); node == nil || list.HasErrors() {
		return false
	}
	node.Fields = slices.DeleteFunc(node.Fields, func(f document.Field) bool { return f.Name == "$schema" })
	plain := node.Plain()
	if plain == nil {
		plain = map[string]any{}
	}
	divided, err := rules.Divide(of.list, plain, false)
	if err == nil {
		var others []*rules.Node
		for _, n := range divided.Nodes {
			isHere, ok := e.wasOfHost(of, n, node)
			if !ok {
				return false
			}
			if !isHere {
				others = append(others, n)
			}
		}
		if plain = rules.WithoutNodes(plain, others); e.mayHaveSecrets(of) { // what was one in the former document, nobody says
			plain = rules.HideBesideKeys(of.list, plain)
		}
		of.former, err = rules.Without(plain, of.decl.ignore)
	}
	if err != nil {
		e.reportMisfit(of, node, err)
		return false
	}
	return true
}

// wasOfHost reports whether a node of the former document belonged to the host that is evaluated. It may have belonged to one that is declared no
// more, and to nobody that could be told.
func (e *evaluator) wasOfHost(of *ruledData, n *rules.Node, in *document.Node) (isHere, ok bool) {
	if of.rules[n.Rule].rule.hosts == nil {
		return true, true
	}
	before := len(e.list)
	p, ok := e.hostsPattern(of, n)
	if !ok {
		for i := range e.list[before:] {
			d := &e.list[before+i]
			d.Related = append(d.Related, diag.Related{Message: "it is about this node of the former document", Range: in.At(n.Hit.At).Range})
		}
		return false, false
	}
	return p.Matches(e.host.Name, e.host.Groups), true
}

// reportMisfit reports a former document that does not fit the rules, at its line.
func (e *evaluator) reportMisfit(of *ruledData, node *document.Node, err error) {
	at := node.Range
	if wrong, ok := errors.AsType[*rules.DocumentError](err); ok {
		at = node.At(wrong.At).Range
	}
	e.list.Add(diag.Diagnostic{Summary: err.Error(), Range: at, Hint: "give each element a key of its own", Related: []diag.Related{{Message: of.rules[0].base + " goes by it", Range: rangeOf(of.rules[0].src)}}})
}

// mayHaveSecrets reports whether anything in data may be sensitive, be it that nothing is on this host, or now: it is, or it is computed in a site that has something
// sensitive.
func (e *evaluator) mayHaveSecrets(of *ruledData) bool {
	if of.hasSecrets {
		return true
	}
	isSensitive := func(name string) bool {
		return slices.ContainsFunc(e.site.variables.All(name), func(v *variable) bool { return v.Sensitive })
	}
	return of.decl.value != nil && (len(e.site.secrets) > 0 || e.site.dir.Scripts != nil || slices.ContainsFunc(e.site.variables.Names(), isSensitive))
}
