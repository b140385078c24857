package runtime

import (
	"context"
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// results keeps what parts have left, for expressions of those that come after.
type results struct {
	referenced map[string]bool // the parts that something names; all others are not kept
	ownParts   map[string]bool // the parts of this run, if it is planned within another
	mu         sync.Mutex
	byPart     map[string]*partResult
}

// collect finds out which parts' results are named at all; within says that the
// run is planned within another.
func (r *results) collect(run *states.StateRun, within bool) {
	r.referenced, r.ownParts, r.byPart = map[string]bool{}, map[string]bool{}, map[string]*partResult{}
	add := func(list map[string]*states.Expr) {
		if len(list) == 0 {
			return
		}
		for _, ref := range states.ResultRefs(list) {
			for _, address := range referencedParts(ref) {
				r.referenced[address] = true
			}
		}
	}
	for i := range run.Invocations {
		inv := &run.Invocations[i]
		if inv.Node != nil {
			r.referenced[inv.Node.Comparison] = true
		}
		for _, g := range inv.Guards {
			add(g.Results)
		}
		for k := range inv.Parts {
			if within {
				r.ownParts[inv.Parts[k].Address] = true
			}
			if inv.Parts[k].Type == states.OutputType {
				r.referenced[inv.Parts[k].Address] = true
			}
			add(inv.Parts[k].Results)
			for _, g := range inv.Parts[k].Guards {
				add(g.Results)
			}
		}
	}
}

// referencedParts lists the parts in the run of which a reference may mean one.
func referencedParts(ref *states.Expr) []string {
	if ref.Resolved {
		return ref.From
	}
	return []string{ref.Ref.Address}
}

// partResult is what a part has left.
type partResult struct {
	module        *states.Module
	values        map[string]any // nil: nothing
	missingReason string         // why there is nothing
	isUnknown     bool           // of a plan: only an apply will know it, but for the keys
	cause         string         // of a plan: the part for which that is so, in the end
	sensitive     func(attribute string) bool
}

// readResult looks at a resource that was changed as a run does that finds it so:
// what Fill has added to the wanted one is not looked at there, and must not
// make a difference to what a result is.
func (s *step) readResult(ctx context.Context) {
	defer s.catchPanic()
	if !s.engine.results.referenced[s.part.Address] || s.outcome != states.Changed || s.isUnforeseeable || s.want == nil || s.readRequest == nil {
		return
	}
	if have, err := s.module.Read(context.WithoutCancel(ctx), s.host, s.readRequest); err == nil {
		s.resultSource = have
	}
}

// keepResult remembers what a part has left, now that it has ended.
func (e *engine) keepResult(s *step) {
	if !e.results.referenced[s.part.Address] {
		return
	}
	l := &partResult{module: s.module, sensitive: s.hides, cause: s.rootCause()}
	resource := s.have
	switch {
	case s.module == nil:
	case s.module.IsAct():
		resource = s.actOutput
	case s.resultSource != nil:
		resource = s.resultSource
	}
	switch {
	case e.planning() && s.outcome == states.Skipped && s.doubt != "":
		l.isUnknown = true
	case s.outcome == states.Skipped:
		l.missingReason = "it was skipped (" + s.reason + ")"
	case s.outcome == states.Idle:
		l.missingReason = "nobody has notified it"
	case s.outcome == states.Blocked:
		l.missingReason = "it was blocked"
	case e.planning() && (s.doubt != "" || s.isUnforeseeable):
		l.isUnknown = true
		if s.doubt == "" { // it will be there, and be what its keys say
			l.values = s.part.Values
		}
	case s.module == nil || s.outcome == states.Unknown:
		l.missingReason = "nobody knows how it ended"
	case isNone(resource) && s.outcome == states.Failed:
		l.missingReason = "it failed"
	case isNone(resource) && s.module.IsAct():
		l.missingReason = "it has observed nothing"
	case isNone(resource):
		l.missingReason = "it is absent"
	default:
		l.values = s.module.Encode(resource)
	}
	if s.part.Type == states.ComparisonType && l.values != nil {
		l.values = map[string]any{states.NodesResult: l.values[states.NodesResult]}
		hasSecret := len(secretsOf(l.values)) > 0
		l.sensitive = func(string) bool { return hasSecret }
	}
	if j := e.options.Journal; j != nil {
		e.recorder.fail(l.record(j, s.part.Address))
	}
	e.results.mu.Lock()
	defer e.results.mu.Unlock()
	e.results.byPart[s.part.Address] = l
}

func isNone(resource any) bool { return resource == nil }

func (r *results) find(address string) *partResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byPart[address]
}

func (l *partResult) value(ref *states.Expr) (cty.Value, error) {
	if l.module == nil {
		return cty.DynamicVal, nil
	}
	a := l.module.Attribute(ref.Name)
	if a == nil {
		return cty.DynamicVal, fmt.Errorf("a %s has no attribute %q", l.module.Name, ref.Name)
	}
	if l.isUnknown && (!a.Key || l.values == nil || l.values[ref.Name] == nil) {
		v := cty.UnknownVal(expr.ResultType(a.Kind))
		if l.sensitive(ref.Name) {
			v = v.Mark(expr.Sensitive)
		}
		return v, nil
	}
	if l.module.Name == states.ComparisonType && !l.isUnknown {
		return nodesValue(l.values[ref.Name])
	}
	v, err := expr.Result(a.Kind, l.values[ref.Name])
	if err != nil {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("%s.%s cannot be used as a value: %v", ref.Ref.Address, ref.Name, err),
			Hint: "values are text in UTF-8 (normal form C) of at most a few MiB, numbers, booleans and collections of them"}
	}
	if l.sensitive(ref.Name) {
		v = v.Mark(expr.Sensitive)
	}
	return v, nil
}
