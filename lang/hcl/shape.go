package hcl

import (
	"slices"

	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/states"
)

// shape is what a kind of body may hold.
type shape struct {
	what       string         // "a state", for messages
	attributes []string       // sorted
	blocks     map[string]int // block word → number of labels
	refs       []string       // attributes whose JSON strings are expressions
	parts      bool           // modules are blocks with one label
	either     []string       // words that are blocks or attributes
}

// shapes are the kinds of bodies of the language.
type shapes struct {
	root, state, run, block, inner, part, topPart    *shape
	site, variable, validation, locals, param, guard *shape
	retry                                            *shape
	options                                          map[string]*eval.Option
	registry                                         *states.Registry
}

// notYet are words of the language that this version does not know.
func notYet() []string {
	return []string{"component", "confirm", "functions", "host", "host_group", "inventory",
		"moved", "output", "role", "rollout", "changed_if", "failed_if"}
}

func newShapes(registry *states.Registry) *shapes {
	s := &shapes{registry: registry, options: map[string]*eval.Option{}}
	for _, o := range eval.Options() {
		s.options[o.Name] = &o
	}
	guards := map[string]int{"only_if": 0, "unless": 0, "retry": 0}
	s.site = &shape{what: "site", attributes: []string{"name", "prune", "requires_version"}}
	s.variable = &shape{what: "a variable", blocks: map[string]int{"validation": 0}, refs: []string{"type"},
		attributes: []string{"default", "description", "merge", "nullable", "sensitive", "type"}}
	s.validation = &shape{what: "a validation", attributes: []string{"condition", "error_message"}}
	s.locals = &shape{what: "locals"}
	s.param = &shape{what: "a param", attributes: []string{"default", "description", "type"}, refs: []string{"type"}}
	s.guard = &shape{what: "a guard", attributes: []string{"command", "exists", "missing", "would_change"}, refs: []string{"would_change"}}
	s.retry = &shape{what: "retry", attributes: eval.RetryNames()}
	s.part = s.withOptions(eval.OnPart, &shape{what: "a part", blocks: guards})
	s.topPart = s.withOptions(eval.OnPart|eval.OnState, &shape{what: "a part", blocks: guards})
	s.state = s.withOptions(eval.OnState, &shape{what: "a state", parts: true,
		blocks: map[string]int{"param": 1, "only_if": 0, "unless": 0, "retry": 0}})
	s.run = s.withOptions(eval.OnRun, &shape{what: "a run", blocks: guards,
		attributes: []string{"params", "state"}, refs: []string{"state"}})
	s.block = s.withOptions(eval.OnBlock, &shape{what: "a block", parts: true,
		attributes: []string{"always", "members", "ordered", "recovered", "rescue"},
		refs:       []string{"always", "members", "rescue"},
		blocks: map[string]int{"state": 1, "run": 1, "block": 1, "rescue": 0, "always": 0,
			"only_if": 0, "unless": 0, "retry": 0}})
	s.inner = &shape{what: "a block's rescue or always", parts: true, blocks: map[string]int{"state": 1, "run": 1, "block": 1}}
	s.root = &shape{what: "a site", parts: true,
		blocks: map[string]int{"site": 0, "variable": 1, "locals": 0, "state": 1, "run": 1, "block": 1}}
	return s
}

// withOptions adds the options that may stand at the places.
func (s *shapes) withOptions(on eval.Place, to *shape) *shape {
	for name, o := range s.options {
		if o.On&on == 0 || o.Block {
			continue
		}
		to.attributes = append(to.attributes, name)
		if o.Refs {
			to.refs = append(to.refs, name)
		}
	}
	slices.Sort(to.attributes)
	to.either = []string{"retry", "rescue", "always"}
	return to
}

// blockOf gives the shape of a block within a body of this shape, nil for a
// word that is no block there, and its number of labels.
func (s *shapes) blockOf(in *shape, word string) (inside *shape, labels int) {
	labels, ok := in.blocks[word]
	switch {
	case !ok && in.parts && s.registry.Lookup(word) != nil:
		if in == s.state {
			return s.part, 1
		}
		return s.topPart, 1
	case !ok:
		return nil, 0
	}
	switch word {
	case "site":
		inside = s.site
	case "variable":
		inside = s.variable
	case "validation":
		inside = s.validation
	case "locals":
		inside = s.locals
	case "state":
		inside = s.state
	case "run":
		inside = s.run
	case "block":
		inside = s.block
	case "rescue", "always":
		inside = s.inner
	case "param":
		inside = s.param
	case "only_if", "unless":
		inside = s.guard
	case "retry":
		inside = s.retry
	}
	return inside, labels
}

// blockNames lists what may stand as a block in a body of this shape.
func (s *shapes) blockNames(in *shape) []string {
	var names []string
	for name := range in.blocks {
		names = append(names, name)
	}
	if in.parts {
		names = append(names, s.registry.Names()...)
	}
	slices.Sort(names)
	return names
}
