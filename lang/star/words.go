package star

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// word is a function that declares something.
type word func(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// words are the declarations of the language.
func words() map[string]word {
	return map[string]word{
		"state": declareState("state"), "handler": declareState("handler"), "run": declareRun, "rule": declareRule, "block": declareBlock, "component": declareComponent,
		"role": declareRole, "host_group": labelledBlock("host_group"), "cluster": labelledBlock("cluster"), "collection": labelledBlock("collection"), "inventory": unlabelledBlock("inventory"), "telemetry": unlabelledBlock("telemetry"),
		"rollout": declareRollout, "output": declareOutput, "moved": declareMoved,
		"variable": declareVariable, "site": describeSite, "ref": makeRef,
	}
}

// builtin makes a function of a word.
func (r *run) builtin(name string, w word) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return w(r, r.call(), args, kwargs)
	})
}

// declare begins a block, and adds it to its file. args[0] is its label, if it
// has one.
func (r *run) declare(word string, c *call, args starlark.Tuple, labelled bool) (*syntax.Block, error) {
	if r.library {
		return nil, &diag.HintError{Message: word + "() declares something, and a file of functions declares nothing",
			Hint: "move it to a file of the site itself"}
	}
	b := &syntax.Block{Type: word, TypeRange: c.word, Header: c.header(), Calls: c.calls,
		Body: &syntax.Body{Src: c.whole}}
	if labelled {
		if len(args) == 0 {
			return nil, &diag.HintError{Message: word + "() needs a name", Hint: fmt.Sprintf("write %s(\"NAME\", …)", word)}
		}
		label, ok := starlark.AsString(args[0])
		if !ok {
			return nil, &placedError{&diag.HintError{Message: fmt.Sprintf("the name of a %s is text, not %s", word, kindOf(args[0])),
				Hint: fmt.Sprintf("write %s(\"NAME\", …)", word)}, c.argument(0).src}
		}
		if _, err := text(label); err != nil {
			return nil, &placedError{err, c.argument(0).src}
		}
		b.Labels, b.LabelRanges = []string{label}, []hcl2.Range{c.argument(0).src}
	}
	return b, nil
}

// add puts a block into the file that runs.
func (r *run) add(b *syntax.Block) {
	r.addItem(item{block: b})
}

func (r *run) addItem(i item) {
	f := r.currentFile()
	r.items[f] = append(r.items[f], i)
}

// kindOf names what a value is without looking at it.
func kindOf(v starlark.Value) string {
	if v == starlark.None {
		return "None"
	}
	if name := v.Type(); strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + v.Type()
}

// attribute adds an attribute of a value. One that cannot be is reported, and
// stands there as unknown: the script goes on, to find what else is wrong.
func (r *run) attribute(b *syntax.Block, p *part, name string, nameRange hcl2.Range, v starlark.Value, at place) {
	value, err := r.convert(v, at)
	if text := textAmongRefs(b, name, v); err == nil && text != "" {
		err = &diag.HintError{Message: "a reference is required, not a string", Hint: fmt.Sprintf("write ref(%q), or the value that its call gave", expr.RefAddress(text))}
	}
	if err != nil {
		if already, ok := err.(*placedError); ok {
			at.src, err = already.at, already.err
		}
		d := diag.Diagnose(err, expr.Range(at.src))
		err = &placedError{&diag.HintError{Message: name + ": " + d.Summary, Hint: d.Hint}, at.src}
		r.list.Add(r.report(err, r.thread.CallStack())...)
		value = literal(cty.DynamicVal)
	}
	a := &syntax.Attribute{Name: name, NameRange: nameRange, Expr: &syntax.Expression{}}
	if value.make == nil {
		a.Expr.Expression = value.expression(nil, at.src)
	} else {
		r.pending = append(r.pending, pendingAttribute{a, value, p, at.src})
	}
	b.Body.Attributes = append(b.Body.Attributes, a)
}

// textAmongRefs gives a text that stands where a reference should.
func textAmongRefs(b *syntax.Block, name string, v starlark.Value) string {
	isRefs := slices.ContainsFunc(expr.Options(), func(o expr.Option) bool { return o.Name == name && o.Refs })
	if !isRefs && !slices.Contains([]string{"members", "rescue", "always"}, name) && !(name == "state" && slices.Contains(hookWords(), b.Type)) {
		return ""
	}
	if text, ok := starlark.AsString(v); ok {
		return text
	}
	if list, ok := v.(*starlark.List); ok {
		for e := range list.Elements() {
			if text, ok := starlark.AsString(e); ok {
				return text
			}
		}
	}
	return ""
}

// keywords adds keyword arguments to a block. Those in special are handled by
// their functions.
func (r *run) keywords(b *syntax.Block, p *part, c *call, kwargs []starlark.Tuple, special map[string]func(starlark.Value, place) error) error {
	for _, pair := range kwargs {
		name := string(pair[0].(starlark.String))
		nameRange, at := c.keyword(name)
		var err error
		switch handle := special[name]; {
		case handle != nil:
			err = handle(pair[1], at)
		case name == "only_if" || name == "unless":
			err = r.guards(b, p, name, nameRange, pair[1], at)
		case name == "instance" && b.Type != "variable" && b.Type != "output":
			err = instance(b, pair[1])
		case name == "for_each":
			err = &diag.HintError{Message: "for_each belongs to HCL", Hint: "write a loop, and give each turn instance = \"KEY\""}
		default:
			r.attribute(b, p, strings.TrimSuffix(name, "_"), nameRange, pair[1], at)
		}
		if _, already := err.(*placedError); err != nil && !already {
			err = &placedError{err, at.src}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func instance(b *syntax.Block, v starlark.Value) error {
	key, ok := starlark.AsString(v)
	switch {
	case v == starlark.None:
		return nil
	case !ok:
		return &diag.HintError{Message: fmt.Sprintf("instance is text, not %s", kindOf(v)), Hint: `write instance = "KEY"`}
	case key == "":
		return &diag.HintError{Message: "the key of an instance is empty", Hint: "keys stand in addresses; take a name"}
	}
	if _, err := text(key); err != nil {
		return err
	}
	b.Instance = &key
	return nil
}

// guards adds the blocks only_if or unless.
func (r *run) guards(b *syntax.Block, p *part, name string, nameRange hcl2.Range, v starlark.Value, at place) error {
	return r.repeatable(b, p, name, nameRange, v, at, `{"exists": "/etc/motd"}`)
}

// repeatable adds blocks that may be repeated: a dict, or a list of dicts.
func (r *run) repeatable(b *syntax.Block, p *part, name string, nameRange hcl2.Range, v starlark.Value, at place, example string) error {
	list := []starlark.Value{v}
	places := []place{at}
	if sequence, ok := v.(starlark.Sequence); ok {
		if _, mapping := v.(starlark.Mapping); !mapping {
			list, places = nil, nil
			for e := range starlark.Elements(sequence) {
				places = append(places, at.element(len(list), sequence.Len()))
				list = append(list, e)
			}
		}
	}
	for i, e := range list {
		if e == starlark.None {
			continue
		}
		d, ok := e.(starlark.IterableMapping)
		if !ok {
			return &placedError{&diag.HintError{Message: fmt.Sprintf("%s is a dict, or a list of dicts, not %s", name, kindOf(e)),
				Hint: fmt.Sprintf("write %s = %s", name, example)}, places[i].src}
		}
		if err := r.inner(b, p, &syntax.Block{Type: name, TypeRange: nameRange, Header: places[i].src}, d, places[i]); err != nil {
			return err
		}
	}
	return nil
}

// inner adds a block within a block, whose attributes are those of a dict.
func (r *run) inner(b *syntax.Block, p *part, sub *syntax.Block, d starlark.IterableMapping, at place) error {
	return r.innerWith(b, p, sub, d, at, nil)
}

// innerWith is inner, with keys that are handled by their functions.
func (r *run) innerWith(b *syntax.Block, p *part, sub *syntax.Block, d starlark.IterableMapping, at place, special map[string]func(v starlark.Value, key hcl2.Range, at place) error) error {
	sub.Body = &syntax.Body{Src: at.src}
	for _, item := range d.Items() {
		key, ok := starlark.AsString(item[0])
		if !ok {
			return &placedError{&diag.HintError{Message: fmt.Sprintf("the keys of %s are text, not %s", sub.Type, kindOf(item[0])), Hint: "put them in quotes"}, at.src}
		}
		if handle := special[key]; handle != nil {
			if err := handle(item[1], at.key(key), at.entry(key)); err != nil {
				return err
			}
			continue
		}
		r.attribute(sub, p, key, at.key(key), item[1], at.entry(key))
	}
	b.Body.Blocks = append(b.Body.Blocks, sub)
	return nil
}

// module is the function of a type of part.
func module(m *states.Module) word {
	return func(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		b, err := r.declare(m.Name, c, args, true)
		if err != nil {
			return nil, err
		}
		if len(args) > 1 {
			return nil, &placedError{argumentCountError(m.Name), c.argument(1).src}
		}
		p := &part{run: r, block: b, module: m}
		if err := r.keywords(b, p, c, sources(c.file, m, kwargs), nil); err != nil {
			return nil, err
		}
		if r.making != nil {
			r.newParts = append(r.newParts, p)
		} else {
			r.addItem(item{b, p})
		}
		return p, nil
	}
}

// sources names the files of the attributes that take one from the directory of
// the scripts, since a script names them from its own.
func sources(f *file, m *states.Module, kwargs []starlark.Tuple) []starlark.Tuple {
	return fromSite(f, kwargs, func(name string) bool {
		a := m.Attribute(name)
		return a != nil && a.Kind.FromSite()
	})
}

// fromSite is sources for any arguments.
func fromSite(f *file, kwargs []starlark.Tuple, isFile func(name string) bool) []starlark.Tuple {
	dir := path.Dir(f.rel)
	if dir == "." {
		return kwargs
	}
	out := slices.Clone(kwargs)
	for i, pair := range out {
		name, ok := starlark.AsString(pair[1])
		if ok && isFile(string(pair[0].(starlark.String))) {
			out[i] = starlark.Tuple{pair[0], starlark.String(relative(dir, name))}
		}
	}
	return out
}

func argumentCountError(word string) error {
	return &diag.HintError{Message: word + "() takes a name, and everything else as NAME = VALUE",
		Hint: fmt.Sprintf("write %s(\"NAME\", attribute = value, …)", word)}
}

// refuseInGenerator refuses declarations in the function of a state.
func (r *run) refuseInGenerator(word string) error {
	if r.making != nil {
		return &diag.HintError{Message: fmt.Sprintf("%s() cannot stand in a function that makes the parts of a state", word),
			Hint: "such a function is called once for each set of params; declare it outside"}
	}
	return nil
}

// labelledBlock declares a block with a label and attributes.
func labelledBlock(word string) word {
	return func(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		b, err := r.declareWith(word, c, args, kwargs, 1, nil)
		if err != nil {
			return nil, err
		}
		return &reference{run: r, kind: word, steps: []refStep{{key: word}, {key: b.Labels[0]}}}, nil
	}
}

// unlabelledBlock declares a block without a label.
func unlabelledBlock(word string) word {
	return func(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		_, err := r.declareWith(word, c, args, kwargs, 0, nil)
		return starlark.None, err
	}
}

// declareWith declares a block with that many positional arguments, of which
// the first is its label.
func (r *run) declareWith(word string, c *call, args starlark.Tuple, kwargs []starlark.Tuple, positional int,
	special map[string]func(starlark.Value, place) error) (*syntax.Block, error) {
	if err := r.refuseInGenerator(word); err != nil {
		return nil, err
	}
	b, err := r.declare(word, c, args, positional > 0)
	if err != nil {
		return nil, err
	}
	if len(args) > positional {
		return nil, &placedError{argumentCountError(word), c.argument(positional).src}
	}
	if err := r.keywords(b, nil, c, kwargs, special); err != nil {
		return nil, err
	}
	r.add(b)
	return b, nil
}

func (r *run) reference(b *syntax.Block) *reference {
	kind := expr.DeclaredRoot(b.Type)
	steps := []refStep{{key: kind}, {key: b.Labels[0]}}
	if b.Instance != nil {
		steps = append(steps, refStep{key: *b.Instance, index: true})
	}
	return &reference{run: r, kind: kind, steps: steps, block: b}
}

// makeRef is ref("state.NAME").
func makeRef(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackPositionalArgs("ref", args, kwargs, 1, &name); err != nil {
		return nil, err
	}
	wrong := &placedError{&diag.HintError{Message: fmt.Sprintf("%q is no reference", name),
		Hint: `write ref("state.NAME"), ref("file.LABEL") or ref("file[\"any label\"]")`}, c.argument(0).src}
	t, diags := hclsyntax.ParseTraversalAbs([]byte(name), c.file.name, hcl2.InitialPos)
	if diags.HasErrors() || len(t) < 2 {
		return nil, wrong
	}
	var steps []refStep
	for _, s := range t {
		switch s := s.(type) {
		case hcl2.TraverseRoot:
			steps = append(steps, refStep{key: s.Name})
		case hcl2.TraverseAttr:
			steps = append(steps, refStep{key: s.Name})
		case hcl2.TraverseIndex:
			if s.Key.Type() != cty.String {
				return nil, wrong
			}
			steps = append(steps, refStep{key: s.Key.AsString(), index: true})
		default:
			return nil, wrong
		}
	}
	known := append([]string{"state", "handler", "run", "rule", "block", "component", "cluster", "data"}, r.options.Registry.Names()...)
	if !slices.Contains(known, steps[0].key) {
		return nil, &placedError{&diag.HintError{Message: fmt.Sprintf("%q is no reference: there is nothing named %q", name, steps[0].key),
			Hint: cmp.Or(diag.DidYouMean(steps[0].key, known), "a reference begins with state, run, block, component or the type of a part; variables are var.NAME")}, c.argument(0).src}
	}
	steps[0].key = expr.DeclaredRoot(steps[0].key)
	return &reference{run: r, steps: steps}, nil
}
