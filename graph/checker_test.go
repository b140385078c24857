package graph_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// checked is a StateRun as the checker sees it: nodes and what is before each.
type checked struct {
	*states.StateRun
	before map[string]map[string]bool // of each address, all that comes earlier
	wishes map[string]wish
	direct map[string][]string
	settle map[string][]states.Invocation

	byFollows [][2]string                // each before the other, since that follows it
	declared  map[string]map[string]bool // of each invocation, all that comes earlier whatever waits for what
}

func check(run *states.StateRun, list []wish) *checked {
	c := &checked{StateRun: run, before: map[string]map[string]bool{}, wishes: map[string]wish{}, direct: map[string][]string{}, settle: map[string][]states.Invocation{}}
	for _, w := range list {
		c.wishes[w.name] = w
	}
	for _, j := range run.Joins {
		c.direct[j.Address] = j.After
	}
	for _, i := range run.Invocations {
		d := slices.Concat(i.Requires, i.After)
		for _, n := range i.NotifiedBy {
			d = append(d, n.Address)
		}
		c.direct[i.Address] = d
	}
	for a := range c.direct {
		c.before[a] = c.walk(a, "", "")
	}
	c.findDeclared()
	return c
}

// walk gives all that comes before an address, with x and y taken for one.
func (c *checked) walk(address, x, y string) map[string]bool {
	seen := map[string]bool{}
	var visit func(a string)
	visit = func(a string) {
		for _, b := range c.direct[a] {
			if (a == x || a == y) && (b == x || b == y) {
				continue
			}
			if !seen[b] {
				seen[b] = true
				visit(b)
				if b == x {
					visit(y)
				} else if b == y {
					visit(x)
				}
			}
		}
	}
	visit(address)
	return seen
}

// of gives the invocations of a declaration.
func (c *checked) of(name string) []states.Invocation {
	var out []states.Invocation
	for _, i := range c.Invocations {
		if states.WithoutWave(i.Address) == name {
			out = append(out, i)
		}
	}
	return out
}

// wavesFor gives the invocations of h that n notifies.
func (c *checked) wavesFor(n, h string) []states.Invocation {
	var out []states.Invocation
	for _, w := range c.of(h) {
		if slices.ContainsFunc(w.NotifiedBy, func(x states.Notification) bool { return x.Address == n }) {
			out = append(out, w)
		}
	}
	return out
}

// inherited gives the names that a wish requires or notifies, with those of the
// state that it runs.
func (c *checked) inherited(w wish, list func(wish) []string) []string {
	out := slices.Clone(list(w))
	if w.runOf != "" {
		out = append(out, list(c.wishes[w.runOf])...)
	}
	return out
}

func requiresOf(w wish) []string { return w.requires }
func followsOf(w wish) []string  { return w.follows }
func notifiesOf(w wish) []string { return w.notifies }

// left reports whether a wish is left out.
func (c *checked) left(w wish) bool { return w.out || w.runOf != "" && c.wishes[w.runOf].out }

// required gives the declarations that w waits for: through what is left out,
// and a state that runs invoke is its runs.
func (c *checked) required(w wish) []string {
	var out []string
	var add func(name string)
	seen := map[string]bool{}
	add = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		var runs []string
		for _, r := range c.wishes {
			if r.runOf == name {
				runs = append(runs, r.name)
			}
		}
		switch {
		case len(runs) > 0:
			slices.Sort(runs)
			for _, r := range runs {
				add(r)
			}
		case c.left(c.wishes[name]):
			for _, r := range c.inherited(c.wishes[name], requiresOf) {
				add(r)
			}
		default:
			out = append(out, name)
		}
	}
	for _, r := range c.inherited(w, requiresOf) {
		add(r)
	}
	return out
}

// settled gives what settling of invocation n means: the waves that it
// notifies, and those that they notify; deferred ones are not waited for.
func (c *checked) settled(n states.Invocation) []states.Invocation {
	if known, ok := c.settle[n.Address]; ok {
		return known
	}
	var out []states.Invocation
	for _, h := range c.inherited(c.wishes[states.WithoutWave(n.Address)], notifiesOf) {
		if w := c.wishes[h]; w.defers || c.left(w) {
			continue
		}
		for _, w := range c.wavesFor(n.Address, h) {
			out = append(append(out, w), c.settled(w)...)
		}
	}
	slices.SortFunc(out, func(a, b states.Invocation) int { return strings.Compare(a.Address, b.Address) })
	out = slices.CompactFunc(out, func(a, b states.Invocation) bool { return a.Address == b.Address })
	c.settle[n.Address] = out
	return out
}

type failer interface {
	Errorf(string, ...any)
	Helper()
}

// properties checks what the language promises of a run, in its words: nothing
// here is shared with the planner.
func (c *checked) properties(t failer, warnings diag.List) {
	t.Helper()
	position := map[string]int{}
	for k, i := range c.Invocations {
		position[i.Address] = k
	}
	for _, i := range c.Invocations {
		for b := range c.before[i.Address] {
			if p, is := position[b]; is && p >= position[i.Address] {
				t.Errorf("3: %s is not behind %s", i.Address, b)
			}
		}
		c.notifies(t, i)
		c.waits(t, i, warnings)
		c.follow(t, i)
	}
	for _, w := range c.wishes {
		if w.runOf == "" {
			c.merges(t, w)
		}
		c.counts(t, w)
	}
}

// notifies checks 1.
func (c *checked) notifies(t failer, n states.Invocation) {
	for _, h := range c.inherited(c.wishes[states.WithoutWave(n.Address)], notifiesOf) {
		if c.left(c.wishes[h]) {
			continue
		}
		waves := c.wavesFor(n.Address, h)
		if len(waves) == 0 {
			t.Errorf("1: no invocation of %s after %s", h, n.Address)
		}
		for _, w := range waves {
			if !c.before[w.Address][n.Address] {
				t.Errorf("1: %s is not after %s", w.Address, n.Address)
			}
		}
	}
}

// waits checks 2.
func (c *checked) waits(t failer, d states.Invocation, warnings diag.List) {
	for _, name := range c.required(c.wishes[states.WithoutWave(d.Address)]) {
		done := 0
		for _, n := range c.of(name) {
			if n.Handler {
				continue // requiring a handler is requiring the wave that always runs
			}
			done++
			if !c.before[d.Address][n.Address] {
				t.Errorf("2: %s requires %s, and is not after it", d.Address, n.Address)
			}
			for _, w := range c.settled(n) {
				if w.State == d.State && c.wishes[states.WithoutWave(d.Address)].runOf == "" || c.before[d.Address][w.Address] {
					continue
				}
				if !c.before[w.Address][d.Address] {
					t.Errorf("2: %s requires %s, and could wait for %s, but does not", d.Address, n.Address, w.Address)
				}
				if len(warnings) == 0 && !c.isAfterByFollows(w.Address, d.Address) {
					t.Errorf("2: %s gives way on %s without a warning", d.Address, w.Address)
				}
			}
		}
		if done != 1 {
			t.Errorf("2: %s requires %s, which has %d invocations that always run", d.Address, name, done)
		}
	}
}

// merges checks 4: taking two waves for one closes a cycle.
func (c *checked) merges(t failer, h wish) {
	waves := c.of(h.name)
	for i, a := range waves {
		for _, b := range waves[i+1:] {
			one := c.walk(a.Address, a.Address, b.Address)
			maps.Copy(one, c.walk(b.Address, a.Address, b.Address))
			if !one[a.Address] && !one[b.Address] {
				t.Errorf("4: %s and %s could be one", a.Address, b.Address)
			}
		}
	}
}

// counts checks how often things are invoked, and the tail.
func (c *checked) counts(t failer, w wish) {
	n := len(c.of(w.name))
	switch {
	case c.left(w) && n > 0:
		t.Errorf("%s is left out, and invoked", w.name)
	case w.runOf != "" && !c.left(w) && n != 1:
		t.Errorf("%s is invoked %d times", w.name, n)
	case w.defers && n > 1:
		t.Errorf("deferred %s is invoked %d times", w.name, n)
	}
	if !w.defers || n == 0 {
		return
	}
	tail := c.tail()
	for _, i := range c.Invocations {
		if !tail[i.Address] && !c.before[w.name][i.Address] {
			t.Errorf("deferred %s does not wait for %s", w.name, i.Address)
		}
	}
}

// tail gives the deferred handlers and what they notify, onwards.
func (c *checked) tail() map[string]bool {
	tail := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, i := range c.Invocations {
			in := c.wishes[states.WithoutWave(i.Address)].defers ||
				i.Handler && slices.ContainsFunc(i.NotifiedBy, func(n states.Notification) bool { return tail[n.Address] })
			if in && !tail[i.Address] {
				tail[i.Address], grown = true, true
			}
		}
	}
	return tail
}
