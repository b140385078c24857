package star

import (
	"fmt"

	"go.starlark.net/starlark"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// declareRollout is rollout(batch = …, stages = {NAME: {…}}): a dict keeps its order.
func declareRollout(r *run, c *call, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var stages starlark.Value = starlark.None
	var where place
	hooks := map[string]starlark.Value{}
	hook := func(name string) func(starlark.Value, place) error {
		return func(v starlark.Value, _ place) error {
			hooks[name] = v
			return nil
		}
	}
	b, err := r.declareWith("rollout", c, args, kwargs, 0, map[string]func(starlark.Value, place) error{
		"stages": func(v starlark.Value, at place) error {
			stages, where = v, at
			return nil
		},
		"stage": func(starlark.Value, place) error {
			return &diag.HintError{Message: "rollout() has no argument \"stage\"", Hint: stagesHint}
		},
		"before_each": hook("before_each"), "after_each": hook("after_each"),
	})
	for _, name := range hookWords() {
		if v := hooks[name]; v != nil && err == nil {
			src, at := c.keyword(name)
			err = r.repeatable(b, nil, name, src, v, at, hookExample)
		}
	}
	if err != nil || stages == starlark.None {
		return starlark.None, err
	}
	d, ok := stages.(starlark.IterableMapping)
	if !ok {
		return nil, &placedError{&diag.HintError{Message: "stages is a dict, not " + kindOf(stages), Hint: stagesHint}, where.src}
	}
	for _, item := range d.Items() {
		name, ok := starlark.AsString(item[0])
		if !ok {
			return nil, &placedError{&diag.HintError{Message: fmt.Sprintf("the name of a stage is text, not %s", kindOf(item[0])), Hint: stagesHint}, where.src}
		}
		at := where.entry(name)
		inside, ok := item[1].(starlark.IterableMapping)
		if !ok {
			return nil, &placedError{&diag.HintError{Message: fmt.Sprintf("the stage %q is a dict, not %s", name, kindOf(item[1])), Hint: stagesHint}, at.src}
		}
		src := where.key(name)
		sub := &syntax.Block{Type: "stage", TypeRange: src, Header: src, Labels: []string{name}, LabelRanges: []hcl2.Range{src}}
		special := map[string]func(starlark.Value, hcl2.Range, place) error{}
		for _, name := range hookWords() {
			special[name] = func(v starlark.Value, key hcl2.Range, at place) error {
				return r.repeatable(sub, nil, name, key, v, at, hookExample)
			}
		}
		if err := r.innerWith(b, nil, sub, inside, at, special); err != nil {
			return nil, err
		}
	}
	return starlark.None, nil
}

func hookWords() []string { return []string{"before_each", "after_each"} }

const hookExample = `{"hosts": "@lb", "state": ref("state.drain")}`

const stagesHint = `write stages = {"NAME": {"hosts": "db*"}}`
