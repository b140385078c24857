package importer_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// answer is one of a single part, which a change makes another one.
func answer(change func(*machine.Import, *machine.ImportPart)) *machine.Import {
	p := &machine.ImportPart{Type: "file", Label: "/a", LabelKey: "path", Values: []machine.ImportValue{{Name: "path", Value: "/a"}, {Name: "content", Value: "a\n"}}}
	found := &machine.Import{Areas: []*machine.ImportArea{{Name: "files", Parts: []*machine.ImportPart{p}}}}
	change(found, p)
	return found
}

// What a machine tells becomes text that somebody applies: nothing but what was asked for gets into it.
func TestCheck(t *testing.T) {
	all := machine.ImportRequest{List: []string{"directory", "file"}, Paths: []string{"/"}, Files: true}
	one := machine.ImportRequest{Type: "file", Keys: machine.Values{"path": "/a"}}
	type change = func(*machine.Import, *machine.ImportPart)
	for name, c := range map[string]struct {
		r      machine.ImportRequest
		change change
		right  bool
	}{
		"as it is":               {one, func(*machine.Import, *machine.ImportPart) {}, true},
		"as it is, of all":       {all, func(*machine.Import, *machine.ImportPart) {}, true},
		"a file of the site":     {all, func(_ *machine.Import, p *machine.ImportPart) { p.Copy, p.Size = "/etc/a b", 3 }, true},
		"nothing":                {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas = nil }, true},
		"a command":              {all, func(_ *machine.Import, p *machine.ImportPart) { p.Type = "command" }, false},
		"another type":           {one, func(_ *machine.Import, p *machine.ImportPart) { p.Type = "directory" }, false},
		"a type that breaks out": {all, func(_ *machine.Import, p *machine.ImportPart) { p.Type = "file \"x\" {}\ncommand" }, false},
		"a guard": {all, func(_ *machine.Import, p *machine.ImportPart) {
			p.Values = append(p.Values, machine.ImportValue{Name: "only_if", Value: map[string]any{"command": []any{"touch", "/x"}}})
		}, false},
		"a notification":          {all, func(_ *machine.Import, p *machine.ImportPart) { p.Values[1].Name = "notify" }, false},
		"a name that breaks out":  {all, func(_ *machine.Import, p *machine.ImportPart) { p.Values[1].Name = "content = \"\"\nmode" }, false},
		"an attribute twice":      {all, func(_ *machine.Import, p *machine.ImportPart) { p.Values[1].Name = "path" }, false},
		"a label of no key":       {all, func(_ *machine.Import, p *machine.ImportPart) { p.LabelKey = "content" }, false},
		"a label of nothing":      {all, func(_ *machine.Import, p *machine.ImportPart) { p.LabelKey = "mode" }, false},
		"no label":                {all, func(_ *machine.Import, p *machine.ImportPart) { p.Label = "" }, false},
		"text that cannot be":     {all, func(_ *machine.Import, p *machine.ImportPart) { p.Values[1].Value = "\xff" }, false},
		"a number that cannot be": {all, func(_ *machine.Import, p *machine.ImportPart) { p.Values[1].Value = 1.5 }, false},
		"no part":                 {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas[0].Parts[0] = nil }, false},
		"no state":                {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas[0] = nil }, false},
		"two parts": {one, func(i *machine.Import, p *machine.ImportPart) {
			i.Areas[0].Parts = append(i.Areas[0].Parts, p)
		}, false},
		"two states":              {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas = append(i.Areas, i.Areas[0]) }, false},
		"a state that leads out":  {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas[0].Name = "../x" }, false},
		"a state of another file": {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas[0].Name = "site" }, false},
		"a state that breaks out": {all, func(i *machine.Import, _ *machine.ImportPart) {
			i.Areas[0].Require = []string{"state.files]\nx = [state.files"}
		}, false},
		"a state that is missing":  {all, func(i *machine.Import, _ *machine.ImportPart) { i.Areas[0].Require = []string{"state.site"} }, false},
		"a file that leads out":    {all, func(_ *machine.Import, p *machine.ImportPart) { p.Copy = "/../../home/alice/.profile" }, false},
		"a file from here":         {all, func(_ *machine.Import, p *machine.ImportPart) { p.Copy = "etc/passwd" }, false},
		"a file nobody asked for":  {one, func(_ *machine.Import, p *machine.ImportPart) { p.Copy = "/etc/passwd" }, false},
		"a file of negative size":  {all, func(_ *machine.Import, p *machine.ImportPart) { p.Copy, p.Size = "/etc/passwd", -1 }, false},
		"parts in place of files":  {machine.ImportRequest{Contents: []string{"/a"}}, func(*machine.Import, *machine.ImportPart) {}, false},
		"the root in place of one": {all, func(_ *machine.Import, p *machine.ImportPart) { p.Copy = "/" }, false},
	} {
		if err := importer.Check(c.r, answer(c.change), modules.Standard().Lookup); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Of a module that is not known here, nothing but names and values is known.
	unknown := func(string) *states.Module { return nil }
	if err := importer.Check(all, answer(func(*machine.Import, *machine.ImportPart) {}), unknown); err != nil {
		t.Error(err)
	}
}
