package star

import (
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// declareState is state(NAME, PARTS or a function, **options), or handler in its place.
func declareState(name string) word {
	return func(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return r.declareState(name, c, args, kwargs)
	}
}

func (r *run) declareState(word string, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator(word); err != nil {
		return nil, err
	}
	b, err := r.declare(word, c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 2 {
		return nil, &placedError{&diag.HintError{Message: word + "() takes a name, and its parts", Hint: "put all parts into one list"}, c.argument(2).src}
	}
	var parts starlark.Value = starlark.NewList(nil)
	where := c.argument(1)
	if len(args) == 2 {
		parts = args[1]
	}
	err = r.keywords(b, nil, c, kwargs, map[string]func(starlark.Value, place) error{
		"parts": func(v starlark.Value, at place) error {
			if len(args) == 2 {
				return &diag.HintError{Message: "the parts are given twice", Hint: "give them once, as the second argument"}
			}
			parts, where = v, at
			return nil
		}})
	if err != nil {
		return nil, err
	}
	ref := r.reference(b)
	owner := &state{block: b, steps: ref.steps}
	if fn, ok := parts.(*starlark.Function); ok {
		err = r.addGenerator(b, owner, fn, where)
	} else {
		err = r.take(owner, b.Body, parts, where, 0)
	}
	if err != nil {
		return nil, err
	}
	r.add(b)
	return ref, nil
}

// take puts parts into a state: a part, or lists of them at any depth. None is
// left out, so that a condition may give it.
func (r *run) take(owner *state, to *syntax.Body, v starlark.Value, at place, depth int) error {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil
	case *part:
		if v.ownerName != "" {
			return &placedError{&diag.HintError{Message: fmt.Sprintf("%s belongs to %s already", v, v.ownerName),
				Hint: "a part stands in one state; make another one, in a function that both states call"}, at.src}
		}
		v.owner, v.ownerName = owner, stateName(owner)
		to.Blocks = append(to.Blocks, v.block)
		return nil
	case *starlark.List, starlark.Tuple:
		if depth > maxDepth {
			return &placedError{&diag.HintError{Message: "the list of parts contains itself", Hint: "give a flat list"}, at.src}
		}
		list := v.(starlark.Sequence)
		for i := range list.Len() {
			if err := r.take(owner, to, list.(starlark.Indexable).Index(i), at.element(i, list.Len()), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	hint := `write state("NAME", [file("conf", …), …])`
	if _, ok := v.(starlark.Callable); ok {
		hint = "give a function that is written with def or lambda"
	}
	return &placedError{&diag.HintError{Message: fmt.Sprintf("a state holds parts, not %s", kindOf(v)), Hint: hint}, at.src}
}

func stateName(s *state) string { return (&reference{steps: s.steps}).String() }

// addGenerator declares the params of a function, and how it makes the parts.
func (r *run) addGenerator(b *syntax.Block, owner *state, fn *starlark.Function, at place) error {
	if fn.HasVarargs() || fn.HasKwargs() {
		return &placedError{&diag.HintError{Message: fmt.Sprintf("the function %s takes any arguments, and a state's params have names", fn.Name()),
			Hint: "give it named parameters instead of * and **"}, at.src}
	}
	b.Body.Blocks = append(b.Body.Blocks, r.params(fn)...)
	b.Generate = func(params map[string]cty.Value) (*syntax.Body, diag.List) {
		return r.generate(b, owner, fn, params)
	}
	return nil
}

// params are the blocks "param" of a function's parameters.
func (r *run) params(fn *starlark.Function) []*syntax.Block {
	var out []*syntax.Block
	for i := range fn.NumParams() {
		name, pos := fn.Param(i)
		var src hcl2.Range
		if f := r.files[pos.Filename()]; f != nil {
			src = f.rangeAt(pos)
			src.End.Column, src.End.Byte = src.Start.Column+len(name), src.Start.Byte+len(name)
		}
		p := &syntax.Block{Type: "param", TypeRange: src, Header: src, Labels: []string{name},
			LabelRanges: []hcl2.Range{src}, Body: &syntax.Body{Src: src}}
		if v := fn.ParamDefault(i); v != nil {
			r.attribute(p, nil, "default", src, v, place{src: src})
		}
		out = append(out, p)
	}
	return out
}

// generate calls the function of a state.
func (r *run) generate(b *syntax.Block, owner *state, fn *starlark.Function, params map[string]cty.Value) (*syntax.Body, diag.List) {
	before := len(r.list)
	defer func() { r.list = r.list[:before] }()
	var kwargs []starlark.Tuple
	for i := range fn.NumParams() {
		name, _ := fn.Param(i)
		v, err := r.scriptValue(params[name], "the param "+name, "param", name)
		if err != nil {
			return nil, diag.List{diag.Diagnose(err, expr.Range(b.Header))}
		}
		kwargs = append(kwargs, starlark.Tuple{starlark.String(name), v})
	}
	r.making, r.newParts, r.pending = owner, nil, nil
	defer func() { r.making = nil }()
	out := &syntax.Body{Src: b.Body.Src}
	if r.ended || r.ctx.Err() != nil {
		return nil, nil // and it was said why
	}
	stop := r.watch()
	v, err := starlark.Call(r.thread, fn, nil, kwargs)
	stop()
	if r.stopReason != nil {
		err = r.stopReason.err
	}
	if err != nil {
		r.fail(nil, err)
		return nil, r.relateToState(b, owner, r.diagnosticsSince(before))
	}
	if err := r.take(owner, out, v, place{src: b.Header}, 0); err != nil {
		r.list.Add(r.report(err, nil)...)
	}
	for _, p := range r.newParts {
		if p.ownerName == "" {
			r.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is not among the parts that the function gives", p), Range: expr.Range(p.block.Header),
				Hint: "put it into the list that it returns"})
		}
	}
	r.finish()
	return out, r.relateToState(b, owner, r.diagnosticsSince(before))
}

// relateToState says for which state a function made its mistakes.
func (r *run) relateToState(b *syntax.Block, owner *state, list diag.List) diag.List {
	for i := range list {
		list[i].Related = append(slices.Clone(list[i].Related), diag.Related{Message: "called for the parts of " + stateName(owner), Range: expr.Range(b.Header)})
	}
	return list
}

func (r *run) diagnosticsSince(before int) diag.List {
	return append(diag.List(nil), r.list[before:]...)
}

// declareRun is run(LABEL, STATE, params = {…}, **options).
func declareRun(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("run"); err != nil {
		return nil, err
	}
	b, err := r.declare("run", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 2 {
		return nil, &placedError{argumentCountError("run"), c.argument(2).src}
	}
	if len(args) == 2 {
		r.attribute(b, nil, "state", c.argument(1).src, args[1], c.argument(1))
	}
	if err := r.keywords(b, nil, c, kwargs, nil); err != nil {
		return nil, err
	}
	r.add(b)
	return r.reference(b), nil
}

// declareBlock is block(NAME, MEMBERS…, rescue = …, **options).
func declareBlock(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("block"); err != nil {
		return nil, err
	}
	b, err := r.declare("block", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		members := place{src: c.argument(1).src, file: c.file}
		var list starlark.Value = starlark.NewList(args[1:])
		if _, ok := args[1].(*starlark.List); ok && len(args) == 2 {
			list, members = args[1], c.argument(1)
		}
		r.attribute(b, nil, "members", members.src, list, members)
	}
	confirm := func(v starlark.Value, at place) error {
		d, ok := v.(starlark.IterableMapping)
		if !ok {
			return &diag.HintError{Message: fmt.Sprintf("confirm is a dict, not %s", kindOf(v)), Hint: "write confirm = {…}"}
		}
		return r.inner(b, nil, &syntax.Block{Type: "confirm", TypeRange: at.src, Header: at.src}, d, at)
	}
	if err := r.keywords(b, nil, c, kwargs, map[string]func(starlark.Value, place) error{"confirm": confirm}); err != nil {
		return nil, err
	}
	r.add(b)
	return r.reference(b), nil
}

// declareComponent is component(NAME, source = …, vars = …, **options).
func declareComponent(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	b, err := r.declareWith("component", c, args, kwargs, 1, nil)
	if err != nil {
		return nil, err
	}
	return r.reference(b), nil
}

// declareOutput is output(NAME, VALUE, type = …, sensitive = …). What it gives may stand in a role.
func declareOutput(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("output"); err != nil {
		return nil, err
	}
	b, err := r.declare("output", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 2 {
		return nil, &placedError{argumentCountError("output"), c.argument(2).src}
	}
	if len(args) == 2 {
		r.attribute(b, nil, "value", c.argument(1).src, args[1], c.argument(1))
	}
	special := map[string]func(starlark.Value, place) error{"type": func(v starlark.Value, at place) error { return r.typeAttribute(b, c, v, at) }}
	if err := r.keywords(b, nil, c, kwargs, special); err != nil {
		return nil, err
	}
	r.add(b)
	return r.reference(b), nil
}

// declareMoved is moved(OLD, NEW).
func declareMoved(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("moved"); err != nil {
		return nil, err
	}
	b, err := r.declare("moved", c, nil, false)
	if err != nil {
		return nil, err
	}
	if len(args) != 2 || len(kwargs) > 0 {
		return nil, &placedError{&diag.HintError{Message: "moved() takes the old and the new reference", Hint: `write moved(ref("state.old"), ref("state.new"))`}, c.whole}
	}
	for i, name := range []string{"from", "to"} {
		v := args[i]
		if text, ok := v.(starlark.String); ok { // what is gone has no value
			if v, err = makeRef(r, c, starlark.Tuple{text}, nil); err != nil {
				return nil, err
			}
		}
		r.attribute(b, nil, name, c.argument(i).src, v, c.argument(i))
	}
	r.add(b)
	return starlark.None, nil
}

// declareRole is role(NAME, [CONTENTS], vars = …).
func declareRole(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.refuseInGenerator("role"); err != nil {
		return nil, err
	}
	b, err := r.declare("role", c, args, true)
	if err != nil {
		return nil, err
	}
	if len(args) > 2 {
		return nil, &placedError{argumentCountError("role"), c.argument(2).src}
	}
	if err := r.keywords(b, nil, c, kwargs, nil); err != nil {
		return nil, err
	}
	if len(args) == 2 {
		if err := r.contents(b, args[1], c.argument(1)); err != nil {
			return nil, err
		}
	}
	r.add(b)
	return r.reference(b), nil
}
