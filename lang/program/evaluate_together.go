package program

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/states"
)

// enoughInstances is how many instances are worth a goroutine of their own.
const enoughInstances = 32

// independent counts the declarations at the begin of a list whose evaluation leaves nothing
// that the one of another looks at: top-level parts, where all locals are known and scripts
// have run.
func (e *evaluator) independent(list []*declaration) int {
	if e.scripts != nil {
		return 0
	}
	for i, d := range list {
		if !d.topLevel || d.kind != states.StateKind || d.component != nil || d.generate != nil {
			return i
		}
	}
	return len(list)
}

// evaluateTogether evaluates independent declarations on all processors, each a stretch of
// them. What they leave, and what is wrong with them, is the same as if they came one by one,
// and in the same order.
func (e *evaluator) evaluateTogether(ctx context.Context, list []*declaration) error {
	units := e.units(list)
	workers := min(runtime.GOMAXPROCS(0), len(units)/enoughInstances)
	if workers < 2 {
		return e.oneByOne(ctx, units)
	}
	var components sync.Mutex
	var group fault.Group
	var forks []*evaluator
	for stretch := range slices.Chunk(units, (len(units)+workers-1)/workers) {
		fork := e.fork(&components)
		forks = append(forks, fork)
		group.Go(func() {
			// Why it stops shows in the context: nothing else does that.
			_ = fork.oneByOne(ctx, stretch)
		})
	}
	group.Wait()
	for _, fork := range forks {
		e.join(fork)
	}
	return ctx.Err()
}

// unit is what is evaluated at a time: an instance, or a declaration that has none.
type unit struct {
	declaration *declaration
	instance    *instance // nil: there is none
}

func (e *evaluator) units(list []*declaration) []unit {
	units := make([]unit, 0, len(list))
	for _, d := range list {
		instances := e.instancesByBase[e.prefix+d.base]
		if len(instances) == 0 {
			units = append(units, unit{d, nil})
		}
		for _, in := range instances {
			units = append(units, unit{d, in})
		}
	}
	return units
}

// fork makes an evaluator for another goroutine, which knows what e knows, and keeps what it
// finds to itself. What both ask is behind locks: files, facts and the vault, and components,
// which e evaluates itself.
func (e *evaluator) fork(components *sync.Mutex) *evaluator {
	of := *e.evaluation
	of.list, of.out, of.empty = nil, nil, nil
	of.doubtful, of.sensitive = map[string]bool{}, map[*syntax.Attribute][]string{}
	x := *e.expressions
	x.evaluation, x.visiting, x.localsSameForAllHosts = &of, nil, nil
	x.begin(e.parts.Files.Fork(), maps.Clone(e.root.Variables))
	x.component = func(name string) cty.Value {
		components.Lock()
		defer components.Unlock()
		return e.expressions.component(name)
	}
	return &evaluator{expressions: &x}
}

// join takes over what a fork has found.
func (e *evaluator) join(fork *evaluator) {
	e.list = append(e.list, fork.list...)
	e.out = append(e.out, fork.out...)
	e.empty = append(e.empty, fork.empty...)
	maps.Copy(e.doubtful, fork.doubtful)
	for name, v := range fork.root.Variables {
		if _, known := e.root.Variables[name]; !known {
			e.root.Variables[name] = v
		}
	}
}
