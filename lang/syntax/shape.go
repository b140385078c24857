package syntax

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// Shape is what a kind of body may hold.
type Shape struct {
	What       string         // "a state", for messages
	Attributes []string       // sorted
	Blocks     map[string]int // block word → number of labels
	Refs       []string       // attributes whose JSON strings are expressions
	Parts      bool           // modules are blocks with one label
	Either     []string       // words that are blocks or attributes
}

// Word is the word that declares such a body, such as "state".
func (s *Shape) Word() string {
	return strings.TrimPrefix(strings.TrimPrefix(s.What, "an "), "a ")
}

// Shapes are the kinds of bodies of the language.
type Shapes struct {
	Root, State, Handler, Run, Block, Inner, Part, TopPart                          *Shape
	Site, Variable, Validation, Locals, Data, Param, Guard                          *Shape
	Retry, Confirm                                                                  *Shape
	Component, Role, Host, HostGroup, Cluster, Collection, Output, Moved, Functions *Shape
	Inventory, Rollout, Stage, Hook, Window, Reconcile                              *Shape
	Telemetry, Rule                                                                 *Shape
	Options                                                                         map[string]*expr.Option
	Registry                                                                        *states.Registry
}

// NewShapes makes the shapes, with the modules of the registry.
func NewShapes(registry *states.Registry) *Shapes {
	s := &Shapes{Registry: registry, Options: map[string]*expr.Option{}}
	for _, o := range expr.Options() {
		s.Options[o.Name] = &o
	}
	guards := map[string]int{"only_if": 0, "unless": 0, "retry": 0}
	s.Site = &Shape{What: "site", Attributes: []string{"name", "prune", "reconcile", "requires_version", "signers"}, Blocks: map[string]int{"reconcile": 0}, Either: []string{"reconcile"}}
	s.Reconcile = &Shape{What: "reconcile", Attributes: []string{"attempts", "backoff", "deadline", "jitter", "mode", "on_failure", "poll"}}
	s.Variable = &Shape{What: "a variable", Blocks: map[string]int{"validation": 0}, Refs: []string{"type"},
		Attributes: []string{"default", "description", "export", "merge", "nullable", "sensitive", "type"}}
	s.Validation = &Shape{What: "a validation", Attributes: []string{"condition", "error_message"}}
	s.Locals = &Shape{What: "locals"}
	s.Data = &Shape{What: "data", Attributes: []string{"file", "ignore", "schema", "value"}}
	s.Param = &Shape{What: "a param", Attributes: []string{"default", "description", "type"}, Refs: []string{"type"}}
	s.Guard = &Shape{What: "a guard", Attributes: []string{"command", "exists", "missing", "would_change"}, Refs: []string{"would_change"}}
	s.Retry = &Shape{What: "retry", Attributes: expr.RetryNames()}
	s.Confirm = &Shape{What: "confirm", Attributes: expr.ConfirmNames()}
	s.Part = s.withOptions(expr.OnPart, &Shape{What: "a part", Blocks: guards})
	s.TopPart = s.withOptions(expr.OnPart|expr.OnState, &Shape{What: "a part", Blocks: guards})
	s.State = s.withOptions(expr.OnState, &Shape{What: "a state", Parts: true,
		Blocks: map[string]int{"param": 1, "only_if": 0, "unless": 0, "retry": 0}})
	s.Handler = s.withOptions(expr.OnState, &Shape{What: "a handler", Parts: true, Blocks: maps.Clone(s.State.Blocks)})
	s.Handler.Attributes = slices.DeleteFunc(s.Handler.Attributes, func(name string) bool { return name == "lazy" }) // it always is
	s.Run = s.withOptions(expr.OnRun, &Shape{What: "a run", Blocks: guards,
		Attributes: []string{"params", "state"}, Refs: []string{"state"}})
	s.Rule = s.withOptions(expr.OnRun, &Shape{What: "a rule", Blocks: guards,
		Attributes: []string{"create", "data", "delete", "hosts", "ordered", "parallel", "purge", "retrieve", "select", "update", "validate"},
		Refs:       []string{"create", "data", "delete", "retrieve", "update", "validate"}})
	s.Rule.Attributes = slices.DeleteFunc(s.Rule.Attributes, func(name string) bool {
		return slices.Contains([]string{"defer", "ensure", "for_each", "lazy", "listen", "listen_failure", "retain"}, name)
	})
	s.Rule.Attributes = slices.Compact(s.Rule.Attributes)
	s.Block = s.withOptions(expr.OnBlock, &Shape{What: "a block", Parts: true,
		Attributes: []string{"always", "members", "ordered", "recovered", "rescue"},
		Refs:       []string{"always", "members", "rescue"},
		Blocks: map[string]int{"state": 1, "handler": 1, "run": 1, "block": 1, "component": 1, "rescue": 0, "always": 0,
			"only_if": 0, "unless": 0, "retry": 0, "confirm": 0}})
	s.Component = s.withOptions(expr.OnComponent, &Shape{What: "a component",
		Blocks:     map[string]int{"only_if": 0, "unless": 0, "retry": 0, "confirm": 0},
		Attributes: []string{"source", "vars"}})
	s.Output = &Shape{What: "an output", Attributes: []string{"description", "sensitive", "type", "value"}, Refs: []string{"type"}}
	s.Host = &Shape{What: "a host",
		Attributes: []string{"address", "become", "become_method", "executor", "for_each", "labels", "name", "port", "reconcile", "roles", "runner_cache", "ssh_options", "user", "vars", "window"},
		Blocks:     map[string]int{"window": 0, "reconcile": 0}, Either: []string{"window", "reconcile"}}
	s.HostGroup = &Shape{What: "a host group",
		Attributes: []string{"become", "become_method", "executor", "hosts", "labels", "port", "priority", "reconcile", "roles", "runner_cache", "ssh_options", "user", "vars", "window"},
		Blocks:     map[string]int{"window": 0, "reconcile": 0}, Either: []string{"window", "reconcile"}}
	s.Collection = &Shape{What: "a collection", Attributes: []string{"modules", "source"}}
	s.Cluster = &Shape{What: "a cluster",
		Attributes: slices.Sorted(slices.Values(append([]string{"ensure", "leader", "together"}, s.HostGroup.Attributes...))),
		Blocks:     s.HostGroup.Blocks, Either: s.HostGroup.Either}
	s.Window = &Shape{What: "a window", Attributes: []string{"days", "hours", "timezone"}}
	s.Telemetry = &Shape{What: "telemetry", Attributes: []string{"otlp"}}
	s.Inventory = &Shape{What: "an inventory", Attributes: []string{"ansible", "command", "opendut"}}
	s.Rollout = &Shape{What: "a rollout", Attributes: []string{"batch", "max_failures", "order", "pause"}, Blocks: map[string]int{"stage": 1, "before_each": 0, "after_each": 0}}
	s.Stage = &Shape{What: "a stage", Attributes: []string{"batch", "hosts", "max_failures"}, Blocks: map[string]int{"before_each": 0, "after_each": 0}}
	s.Hook = &Shape{What: "a hook", Attributes: []string{"hosts", "params", "state"}, Refs: []string{"state"}}
	s.Moved = &Shape{What: "moved", Attributes: []string{"from", "to"}, Refs: []string{"from", "to"}}
	s.Functions = &Shape{What: "functions", Attributes: []string{"source"}}
	s.Inner = &Shape{What: "a block's rescue or always", Parts: true, Blocks: map[string]int{"state": 1, "handler": 1, "run": 1, "block": 1, "component": 1}}
	s.Root = &Shape{What: "a site", Parts: true,
		Blocks: map[string]int{"site": 0, "variable": 1, "locals": 0, "data": 1, "rule": 1, "state": 1, "handler": 1, "run": 1, "block": 1, "component": 1,
			"role": 1, "host": 1, "host_group": 1, "cluster": 1, "collection": 1, "inventory": 0, "rollout": 0, "telemetry": 0, "output": 1, "moved": 0, "functions": 1}}
	s.Role = &Shape{What: "a role", Parts: true, Attributes: []string{"roles", "vars"},
		Blocks: map[string]int{"variable": 1, "locals": 0, "data": 1, "rule": 1, "state": 1, "handler": 1, "run": 1, "block": 1, "component": 1, "output": 1}}
	return s
}

// withOptions adds the options that may stand at the places.
func (s *Shapes) withOptions(on expr.Place, to *Shape) *Shape {
	for name, o := range s.Options {
		if o.On&on == 0 || o.Block {
			continue
		}
		to.Attributes = append(to.Attributes, name)
		if o.Refs {
			to.Refs = append(to.Refs, name)
		}
	}
	slices.Sort(to.Attributes)
	to.Either = []string{"confirm", "retry", "rescue", "always"}
	return to
}

// BlockOf gives the shape of a block within a body of this shape, nil for a
// word that is no block there, and its number of labels.
func (s *Shapes) BlockOf(in *Shape, word string) (inside *Shape, labels int) {
	labels, ok := in.Blocks[word]
	switch {
	case !ok && in.Parts && s.Registry.Lookup(word) != nil:
		if in == s.State || in == s.Handler {
			return s.Part, 1
		}
		return s.TopPart, 1
	case !ok:
		return nil, 0
	}
	switch word {
	case "site":
		inside = s.Site
	case "variable":
		inside = s.Variable
	case "validation":
		inside = s.Validation
	case "locals":
		inside = s.Locals
	case "data":
		inside = s.Data
	case "state":
		inside = s.State
	case "handler":
		inside = s.Handler
	case "run":
		inside = s.Run
	case "rule":
		inside = s.Rule
	case "block":
		inside = s.Block
	case "rescue", "always":
		inside = s.Inner
	case "param":
		inside = s.Param
	case "only_if", "unless":
		inside = s.Guard
	case "retry":
		inside = s.Retry
	case "confirm":
		inside = s.Confirm
	case "component":
		inside = s.Component
	case "role":
		inside = s.Role
	case "host":
		inside = s.Host
	case "host_group":
		inside = s.HostGroup
	case "collection":
		inside = s.Collection
	case "cluster":
		inside = s.Cluster
	case "reconcile":
		inside = s.Reconcile
	case "window":
		inside = s.Window
	case "inventory":
		inside = s.Inventory
	case "telemetry":
		inside = s.Telemetry
	case "rollout":
		inside = s.Rollout
	case "stage":
		inside = s.Stage
	case "before_each", "after_each":
		inside = s.Hook
	case "output":
		inside = s.Output
	case "moved":
		inside = s.Moved
	case "functions":
		inside = s.Functions
	}
	return inside, labels
}

// BlockNames lists what may stand as a block in a body of this shape.
func (s *Shapes) BlockNames(in *Shape) []string {
	var names []string
	for name := range in.Blocks {
		names = append(names, name)
	}
	if in.Parts {
		names = append(names, s.Registry.Names()...)
	}
	slices.Sort(names)
	return names
}

// ValuesShape is that of a file that gives values to variables.
func ValuesShape() *Shape { return &Shape{What: "a file of values"} }
