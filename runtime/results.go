package runtime

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
		for _, g := range inv.Guards {
			add(g.Results)
		}
		for k := range inv.Parts {
			if within {
				r.ownParts[inv.Parts[k].Address] = true
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
	l := &partResult{module: s.module, sensitive: s.hides}
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
	if j := e.options.Journal; j != nil {
		e.recorder.fail(l.record(j, s.part.Address))
	}
	e.results.mu.Lock()
	defer e.results.mu.Unlock()
	e.results.byPart[s.part.Address] = l
}

func isNone(resource any) bool { return resource == nil }

// hides reports whether an attribute of the part is never shown.
func (d declaration) hides(attribute string) bool {
	a := d.module.Attribute(attribute)
	return d.part.Options.Sensitive || slices.Contains(d.part.Sensitive, attribute) || a != nil && a.Sensitive
}

func (r *results) find(address string) *partResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byPart[address]
}

// resultOf gives the value that a reference names: of the last of its parts that
// has one. In a plan it may be unknown.
func (e *engine) resultOf(ref *states.Expr) (cty.Value, error) {
	candidates, why := referencedParts(ref), "it is left out of this run"
	for k, address := range slices.Backward(candidates) {
		l := e.results.find(address)
		if l == nil && e.options.outer != nil && !e.results.ownParts[address] {
			if l = e.options.outer.find(address); l == nil {
				return cty.DynamicVal, nil // it runs later, and before what is planned here
			}
		}
		switch {
		case l == nil:
			if k == len(candidates)-1 {
				why = "it has not run"
			}
		case l.missingReason != "":
			if k == len(candidates)-1 {
				why = l.missingReason
			}
		default:
			v, err := l.value(ref)
			if err != nil {
				return v, err
			}
			return e.recorder.mask.watch(v), nil
		}
	}
	return cty.DynamicVal, &diag.HintError{
		Message: fmt.Sprintf("%s has no result: %s", ref.Ref.Address, why),
		Hint:    fmt.Sprintf("give another value for that case: try(%s.%s, null)", ref.Ref.Address, ref.Name)}
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

// evaluate gives the value of an expression of a part or guard, by its address
// and its name there.
func (e *engine) evaluate(x *states.Expr, address, name string, own cty.Value) (cty.Value, error) {
	v, list := expr.Evaluate(x, expr.Evaluation{Result: e.resultOf, OwnResult: own, Places: e.places(x, address, name)})
	if !list.HasErrors() {
		return v, nil
	}
	d := list[0]
	text := d.Summary
	if d.Detail != "" {
		text += "; " + d.Detail
	}
	err := &diag.HintError{Code: "invalid", Message: name + ": " + text, Hint: d.Hint}
	return cty.DynamicVal, &placedError{d.Range.String(), err}
}

// places finds where the nodes of an expression stand. Nil: in the expression
// itself, if anywhere.
func (e *engine) places(x *states.Expr, address, name string) map[int]diag.Range {
	for _, a := range []string{address, states.WithoutWave(address)} {
		key := a + "." + name
		whole, ok := e.options.Sources[key]
		if !ok {
			continue
		}
		places := map[int]diag.Range{0: whole}
		for n := 1; n < x.Count(); n++ {
			if at, ok := e.options.Sources[key+"@"+strconv.Itoa(n)]; ok {
				places[n] = at
			}
		}
		return places
	}
	return nil
}

// compute gives the part the values that depend on results. In a plan some may
// not be known; they are noted.
func (s *step) compute() error {
	if len(s.part.Results) == 0 {
		return nil
	}
	part := *s.part
	part.Values, part.Sensitive = maps.Clone(part.Values), slices.Clone(part.Sensitive)
	if part.Values == nil {
		part.Values = map[string]any{}
	}
	s.part, s.unknownUntilApply = &part, nil
	for _, name := range slices.Sorted(maps.Keys(part.Results)) {
		a := s.module.Attribute(name)
		if a == nil {
			return fmt.Errorf("a %s has no attribute %q", part.Type, name)
		}
		if a.Kind == states.KindCondition {
			part.Values[name] = true // decided after the act
			continue
		}
		if err := s.computeOne(a, part.Results[name]); err != nil {
			return err
		}
	}
	s.restrictMode()
	if s.hasUnknownKey(s.unknownUntilApply) {
		return nil
	}
	part.Key = s.module.Key(part.Values)
	return nil
}

// restrictMode gives a file whose content turned out to be sensitive a mode that lets
// nobody but its owner read it, unless one is given, as lang/expr does for what is
// known to be.
func (s *step) restrictMode() {
	mode := s.module.Attribute("mode")
	if mode == nil || mode.Kind != states.KindMode || s.part.Values["mode"] != nil || s.part.Results["mode"] != nil {
		return
	}
	for name := range s.part.Results {
		if a := s.module.Attribute(name); a.Kind == states.KindContent && s.hides(name) {
			s.part.Values["mode"] = expr.PrivateMode
		}
	}
}

func (s *step) computeOne(a *states.Attribute, x *states.Expr) error {
	v, err := s.engine.evaluate(x, s.part.Address, a.Name, cty.NilVal)
	if err != nil {
		return err
	}
	plain, sensitive := expr.Split(v)
	secret := sensitive || s.hides(a.Name)
	if (sensitive || expr.IsSecretFound(v) && !a.Key) && !slices.Contains(s.part.Sensitive, a.Name) {
		s.part.Sensitive = append(s.part.Sensitive, a.Name)
		slices.Sort(s.part.Sensitive)
	}
	hidden := s.hides(a.Name)
	if sensitive && a.Key {
		return s.locateError(a.Name, states.InvalidAttribute(a.Name, "a sensitive value cannot name a resource",
			"the key of a part is shown everywhere; use a value that may be"))
	}
	if !plain.IsWhollyKnown() {
		s.unknownUntilApply = append(s.unknownUntilApply, a.Name)
		return nil
	}
	value, err := expr.Plain(plain)
	if err == nil && secret { // of others only what was found in them is one
		s.engine.recorder.mask.add(value)
	}
	if err == nil {
		value, err = a.Normalize(value)
	}
	if err != nil && hidden {
		err = errHidden(a.Name)
	}
	if err != nil {
		return s.locateError(a.Name, err)
	}
	if value != nil { // null is not given
		s.part.Values[a.Name] = value
	}
	return nil
}

// locateError gives an error about a computed attribute the place of its
// expression.
func (s *step) locateError(name string, err error) error {
	hint := cmp.Or(diag.HintOf(err), "the value is computed on the host, of what parts before have left there")
	if !strings.HasPrefix(err.Error(), name+": ") {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return &placedError{s.conditionSource(name), &diag.HintError{Code: "invalid", Err: err, Hint: hint}}
}

// hasUnknownKey reports whether a plan does not know which resource it is.
func (d declaration) hasUnknownKey(unknown []string) bool {
	return slices.ContainsFunc(unknown, func(name string) bool { return d.module.Attribute(name).Key })
}
