package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/states"
)

type diffCmd struct {
	Old string `arg:"" help:"Document as it was." placeholder:"OLD"`
	New string `arg:"" help:"Document as it is to be." placeholder:"NEW"`
	siteArg
	Explain bool `help:"Tell why, and what no rule is for."`
}

// Run tells which rules would run if one document became the other: what is on machines does not matter.
func (cmd *diffCmd) Run(ctx runContext, s *client) error {
	given := s.globals.Data
	if len(given) > 1 || len(given) == 1 && strings.Contains(given[0], "=") {
		return usage("write --data NAME", "--data says here which data the documents are for")
	}
	s.globals.Data = nil
	old, err := s.documentAt(cmd.Old)
	if err != nil {
		return err
	}
	now, err := s.documentAt(cmd.New)
	if err != nil {
		return err
	}
	_, c, err := s.compile(ctx, cmd.Site)
	if err != nil {
		return err
	}
	part, err := comparisonOf(c.Run, given)
	if err != nil {
		return err
	}
	found, err := runtime.DiffData(part, old.Plain(), now.Plain())
	if err != nil {
		return s.misfit(err, cmd, old, now)
	}
	if s.globals.JSON {
		return s.printJSON(found)
	}
	_, err = s.Out.Write([]byte(diffText(found, cmd.Explain)))
	return failure(err)
}

// documentAt reads a document from here. Its field $schema is no data.
func (s *client) documentAt(name string) (*document.Node, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usage("name a document: .yml, .yaml, .json or .toml", "%w", err)
	}
	node, list := document.Read(name, data)
	if node == nil {
		return nil, usage(list[0].Hint, "%s: %s", list[0].Range, list[0].Summary)
	}
	node.Fields = slices.DeleteFunc(node.Fields, func(f document.Field) bool { return f.Name == "$schema" })
	return node, nil
}

// comparisonOf finds the part of a run that compares the data of a name, or all that it compares.
func comparisonOf(run *states.StateRun, given []string) (*states.Part, error) {
	var names []string
	var found *states.Part
	for i := range run.Invocations {
		for k := range run.Invocations[i].Parts {
			p := &run.Invocations[i].Parts[k]
			if p.Type != states.ComparisonType || run.Invocations[i].Node != nil {
				continue
			}
			_, name, _ := strings.Cut("."+p.Key, ".data.")
			if names = append(names, name); len(given) == 0 || given[0] == name || given[0] == p.Key {
				found = p
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil, usage("tenet doc rule tells of them", "the site has no rules for this host")
	case len(given) == 0 && len(names) > 1:
		return nil, usage("add --data NAME: "+strings.Join(names, ", "), "the site has rules for several data")
	case found == nil:
		return nil, usage("there are rules for "+strings.Join(names, ", "), "no rule is for data.%s", given[0])
	}
	return found, nil
}

// misfit reports a document that does not fit the rules, at its line.
func (s *client) misfit(err error, cmd *diffCmd, old, now *document.Node) error {
	wrong, ok := errors.AsType[*rules.DocumentError](err)
	if !ok {
		return failure(err)
	}
	name, of := cmd.Old, old
	if wrong.IsNew {
		name, of = cmd.New, now
	}
	return usage("give each element a key of its own", "%s: %w", placeOr(of.At(wrong.At).Range, name), err)
}

// placeOr is a place in a document, or its name.
func placeOr(at diag.Range, name string) string {
	if at.IsZero() {
		return name
	}
	return at.String()
}

// diffText tells people of a difference.
func diffText(d *runtime.DataDiff, explains bool) string {
	var out strings.Builder
	signs := map[states.NodeAct]string{states.CreateNode: "+", states.UpdateNode: "~", states.DeleteNode: "-", states.ReplaceNode: "-+"}
	counts := map[states.NodeAct]int{}
	for _, c := range d.Changes {
		counts[c.Act]++
		fmt.Fprintf(&out, "%-2s %s", signs[c.Act], c.Address)
		if explains {
			fmt.Fprintf(&out, "  %s", c.Why)
		}
		out.WriteString("\n")
	}
	for _, k := range d.Kept {
		fmt.Fprintf(&out, "   %s  is kept: the rule has no delete\n", k)
	}
	for _, w := range d.Wrong {
		fmt.Fprintf(&out, "!  %s\n", w)
	}
	if explains {
		for _, r := range d.Rest {
			fmt.Fprintf(&out, "?  %s  belongs to no rule\n", r)
		}
	}
	var sums []string
	for _, act := range []states.NodeAct{states.CreateNode, states.UpdateNode, states.ReplaceNode, states.DeleteNode} {
		if counts[act] > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", counts[act], act))
		}
	}
	if len(sums) == 0 {
		sums = []string{"no rule would run"}
	}
	fmt.Fprintln(&out, strings.Join(sums, ", "))
	return out.String()
}
