package conformance

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// runner carries out one case.
type runner struct {
	t     T
	suite Suite
	c     Case
}

func (r *runner) ensure() states.Ensure {
	if r.c.Ensure == "" {
		return states.Present
	}
	return r.c.Ensure
}

func (r *runner) freshHost() host.Host {
	h := r.suite.Host(r.t)
	if r.c.Prepare != nil {
		r.c.Prepare(&prepared{r.t, r}, h)
	}
	return h
}

// refuse expects Decode or Check to refuse the values.
func (r *runner) refuse() {
	_, err := r.decode()
	if err == nil {
		r.t.Fatalf("the values are accepted")
	}
	r.expect(err, r.c.Wrong)
	var wrong *states.AttributeError
	if !errors.As(err, &wrong) {
		r.t.Errorf("the error names no attribute: %v", err)
	} else if wrong.Attribute != r.c.Unknown && r.suite.Module.Attribute(wrong.Attribute) == nil {
		r.t.Errorf("the error names %q, which is no attribute", wrong.Attribute)
	}
}

// fail expects the part to fail, and to leave the host as it was.
func (r *runner) fail() {
	h := r.freshHost()
	before := snapshot(r.t, h)
	planned := r.plan(h)
	if !planned.unforeseen && (planned.err == nil) != r.c.OnlyOnHost {
		r.t.Errorf("the plan foretells the failure %v", planned.err)
	}
	done := r.carryOut(h, r.ensure())
	if done.err == nil {
		r.t.Fatalf("it did not fail")
	}
	r.expect(done.err, r.c.Fails)
	if hint := diag.HintOf(done.err); !strings.Contains(hint, r.c.Hint) {
		r.t.Errorf("the hint is %q, without %q", hint, r.c.Hint)
	}
	if !r.c.Partial {
		compareTrees(r.t, "a failure changed the host", before, snapshot(r.t, h))
	}
}

// expect looks for the text in an error, and for secrets that must not be there.
func (r *runner) expect(err error, text string) {
	r.t.Helper()
	if !strings.Contains(err.Error(), text) {
		r.t.Errorf("the error is %q, without %q", err, text)
	}
	for name, v := range r.c.Values {
		a := r.suite.Module.Attribute(name)
		if secret, ok := v.(string); ok && a != nil && a.Sensitive && secret != "" && strings.Contains(err.Error(), secret) {
			r.t.Errorf("the error shows the secret attribute %s", name)
		}
	}
}

// plan carries the case out on a Shadow, and holds the host to be untouched.
func (r *runner) plan(h host.Host) done {
	r.t.Helper()
	before := snapshot(r.t, h)
	shadow := host.NewShadow(h)
	d := r.carryOut(shadow, r.ensure())
	compareTrees(r.t, "a plan changed the host", before, snapshot(r.t, h))
	if d.err == nil && !d.unforeseen && !d.foreseen {
		d.tree = snapshot(r.t, shadow)
	}
	return d
}

// act carries out an act, as a plan, once and again.
func (r *runner) act() {
	h := r.freshHost()
	planned := r.plan(h)
	if planned.err != nil {
		r.t.Fatalf("plan: %v", planned.err)
	}
	first := r.carryOut(h, states.Present)
	if first.err != nil {
		r.t.Fatalf("%v", first.err)
	}
	if !planned.unforeseen && planned.changed != first.changed {
		r.t.Errorf("the plan foretells changed = %v", planned.changed)
	}
	if !r.c.Any && first.changed != r.c.Acts {
		r.t.Errorf("changed = %v", first.changed)
	}
	if r.c.Check != nil {
		r.c.Check(r.t, h, first.out)
	}
	if again := r.carryOut(h, states.Present); again.err != nil || !r.c.Any && again.changed != r.c.Repeats {
		r.t.Errorf("again: changed = %v, error %v", again.changed, again.err)
	}
	r.roundTrip()
}

// converge carries out a resource as a plan, once, again, and as absent.
func (r *runner) converge() {
	h := r.freshHost()
	before := snapshot(r.t, h)
	planned := r.plan(h)
	if planned.err != nil {
		r.t.Fatalf("plan: %v", planned.err)
	}
	first := r.carryOut(h, r.ensure())
	if first.err != nil {
		r.t.Fatalf("%v", first.err)
	}
	if r.c.Any && first.action == "" {
		r.t.Errorf("there is nothing to do")
	}
	if !r.c.Any && first.action != r.c.Action {
		r.t.Errorf("the action is %q, want %q", first.action, r.c.Action)
	}
	if names := attributes(first.changes); !r.c.Any && !slices.Equal(names, r.c.Changes) {
		r.t.Errorf("the changes are %v, want %v", names, r.c.Changes)
	}
	if r.c.Changing != "" && !slices.Contains(attributes(first.changes), r.c.Changing) {
		r.t.Errorf("%s is not among the changes %v", r.c.Changing, attributes(first.changes))
	}
	if planned.action != first.action || !reflect.DeepEqual(digested(planned.changes), digested(first.changes)) {
		r.t.Errorf("the plan foretells %v, and %v is done", planned.changes, first.changes)
	}
	after := snapshot(r.t, h)
	if planned.tree != nil {
		compareTrees(r.t, "the plan foretells another result", files(planned.tree), files(after))
	}
	if first.action == "" {
		compareTrees(r.t, "without a difference the host changed", before, after)
	}
	if r.c.Check != nil {
		r.c.Check(r.t, h, first.out)
	}
	r.unchanged(h, r.ensure())
	r.roundTrip()
	if r.ensure() == states.Present {
		r.imported(h)
	}
	if r.suite.Module.Remove != nil && r.ensure() == states.Present && r.c.Stays == "" {
		r.remembered(h)
		r.absent(h)
	}
}

// remembered looks for what is there by the values alone that are kept of it once it
// is not declared any more.
func (r *runner) remembered(h host.Host) {
	m := r.suite.Module
	for _, a := range m.Attributes {
		if a.Required && a.Sensitive {
			return // it is not removed then
		}
	}
	values := m.Remembered(r.values())
	want, err := m.Decode(values, nil)
	if err == nil {
		err = m.Check(want)
	}
	var have any
	if err == nil {
		have, err = m.Read(r.t.Context(), h, want)
	}
	if err != nil || have == nil {
		r.t.Errorf("it cannot be found again by %v alone, once it is not declared any more: error %v", values, err)
	}
}

// unchanged carries the case out again, where nothing is to be done.
func (r *runner) unchanged(h host.Host, ensure states.Ensure) {
	r.t.Helper()
	before := snapshot(r.t, h)
	again := r.carryOut(h, ensure)
	if again.err != nil || again.action != "" {
		r.t.Errorf("%s again: changes %v, error %v", ensure, again.changes, again.err)
	}
	compareTrees(r.t, "carried out again, it changed the host", before, snapshot(r.t, h))
	if planned := r.carryOut(host.NewShadow(h), ensure); planned.err != nil || planned.action != "" {
		r.t.Errorf("a second plan foretells %v, error %v", planned.changes, planned.err)
	}
}

func (r *runner) absent(h host.Host) {
	gone := r.carryOut(h, states.Absent)
	if gone.err != nil {
		r.t.Errorf("absent: %v", gone.err)
		return
	}
	if gone.action != states.Remove {
		r.t.Errorf("absent: nothing was there to remove")
	}
	r.unchanged(h, states.Absent)
}

// roundTrip holds Encode to be the inverse of Decode.
func (r *runner) roundTrip() {
	m := r.suite.Module
	first, err := r.decode()
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	values := m.Encode(first)
	for name, v := range r.values() {
		if v != nil && !reflect.DeepEqual(values[name], v) {
			r.t.Errorf("attribute %s: %v is encoded as %v", name, v, values[name])
		}
	}
	second, err := m.Decode(values, r.suite.Site)
	if err != nil {
		r.t.Fatalf("what Encode gives cannot be decoded: %v", err)
	}
	if again := m.Encode(second); !reflect.DeepEqual(values, again) {
		r.t.Errorf("encoded twice: %v and %v", values, again)
	}
}

func attributes(changes []states.Change) []string {
	var names []string
	for _, c := range changes {
		names = append(names, c.Attribute)
	}
	return names
}

// digested gives the changes with digests in the place of contents, whose
// openers cannot be compared.
func digested(changes []states.Change) []states.Change {
	digest := func(v any) any {
		if c, ok := v.(host.Content); ok {
			return c.Sum()
		}
		return v
	}
	out := slices.Clone(changes)
	for i := range out {
		out[i].From, out[i].To = digest(out[i].From), digest(out[i].To)
	}
	return out
}

// files leaves out what a simulated machine keeps in its tree of what runs, which is
// in no file of a real one.
func files(tree map[string]string) map[string]string {
	out := maps.Clone(tree)
	maps.DeleteFunc(out, func(path, _ string) bool { return strings.HasPrefix(path, "/run/simulated/") })
	return out
}

// compareTrees reports each path that differs.
func compareTrees(t T, what string, want, have map[string]string) {
	t.Helper()
	paths := maps.Clone(want)
	maps.Copy(paths, have)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if want[p] != have[p] {
			t.Errorf("%s: %s\n was %q\n  is %q", what, p, want[p], have[p])
		}
	}
}
