package testcase

import (
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules/simulated"
)

// described is the machine of the case. One that is like a real one has what the site and its
// components need besides; what the case describes itself counts before that.
func (r *caseRun) described() simulated.Machine {
	m := r.c.machine.Machine
	if m.Like == "" {
		return m
	}
	for _, dir := range append([]string{"."}, r.o.Site.Components()...) {
		for _, needs := range r.needs(dir) {
			add(&m, needs)
		}
	}
	return m
}

// needs gives what the blocks needs in the cases of a component say. Their mistakes are those
// of the case that asks.
func (r *caseRun) needs(dir string) []simulated.Machine {
	var out []simulated.Machine
	entries, err := fs.ReadDir(r.site(), path.Join(dir, Dir))
	if err != nil {
		return nil // it has no cases
	}
	files := expr.NewFiles(r.site())
	for _, e := range entries {
		if !isCaseFile(e) {
			continue
		}
		in := path.Join(dir, Dir)
		d := &decoder{file: path.Join(in, e.Name()), ctx: &hcl.EvalContext{
			Functions: files.FunctionMap(in), Variables: map[string]cty.Value{"local": cty.EmptyObjectVal},
		}}
		if d.src, err = fs.ReadFile(r.site(), d.file); err != nil {
			continue // who reads its cases is told
		}
		body := d.parse()
		if body == nil {
			continue
		}
		body.Blocks = slices.DeleteFunc(body.Blocks, func(b *hclsyntax.Block) bool { return b.Type != "needs" && b.Type != "locals" })
		body.Attributes = nil
		d.locals(body)
		root := &block{}
		d.body(body, shapeOfFile(), root)
		if b := root.single("needs"); b != nil && !d.list.HasErrors() {
			out = append(out, d.machine(b, nil).Machine)
		}
		if dir != "." { // those of the site's own cases are told as they are read
			r.diagnostics = append(r.diagnostics, d.list...)
		}
	}
	return out
}

// add adds what a machine lacks of another one.
func add(m *simulated.Machine, o simulated.Machine) {
	lack(&m.Files, o.Files)
	lack(&m.Directories, o.Directories)
	lack(&m.Links, o.Links)
	lack(&m.Packages, o.Packages)
	lack(&m.Services, o.Services)
	lack(&m.Users, o.Users)
	lack(&m.Groups, o.Groups)
	m.Commands = slices.Concat(m.Commands, o.Commands)
	m.Answers = slices.Concat(m.Answers, o.Answers)
	m.Ports = slices.Concat(m.Ports, o.Ports)
}

func lack[T any](have *map[string]T, more map[string]T) {
	out := map[string]T{}
	maps.Copy(out, more)
	maps.Copy(out, *have)
	*have = out
}
