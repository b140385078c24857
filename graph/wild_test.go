package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// wildSite draws everything at once: states over a few nested paths, absent
// ones, guards, top-level parts, handlers, and blocks in blocks with rescue and
// always lists. Requirements go to what is declared before, members too.
func wildSite(t *rapid.T) *site {
	s := newSite()
	n := rapid.IntRange(2, 10).Draw(t, "declarations")
	paths := []string{"/d", "/d/e", "/d/e/f", "/d/e/g", "/x"}
	var names, handlers, free []string
	pick := func(label string, from []string, of int) []string {
		return slices.DeleteFunc(slices.Clone(from), func(string) bool { return rapid.IntRange(0, of).Draw(t, label) > 0 })
	}
	for i := range n {
		o := []option{require(pick("require", names, 4)...), notify(pick("notify", handlers, 3)...), follows(pick("follows", names, 6)...)}
		part := resource("file", rapid.SampledFrom(paths).Draw(t, "path"), "")
		if rapid.IntRange(0, 3).Draw(t, "absent") == 0 {
			o = append(o, absent)
		}
		if rapid.IntRange(0, 4).Draw(t, "guard") == 0 {
			o = append(o, unless(rapid.SampledFrom(paths).Draw(t, "guarded")))
		}
		if rapid.IntRange(0, 7).Draw(t, "out") == 0 {
			o = append(o, leftOut)
		}
		name := fmt.Sprintf("state.s%d", i)
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			s.state(fmt.Sprintf("s%d", i), append(o, lazy, parts(part))...)
			handlers = append(handlers, name)
		case 1, 2:
			name = fmt.Sprintf("file.s%d", i)
			part.Address, part.Base = name, name
			s.top(part, o...)
			free = append(free, name)
		case 3:
			name = fmt.Sprintf("block.s%d", i)
			if rapid.Bool().Draw(t, "ordered") {
				o = append(o, ordered)
			}
			if rapid.Bool().Draw(t, "confirm") {
				o = append(o, confirm, notifyFailure(pick("notify failure", handlers, 3)...))
			}
			// What is in a block is required by way of it from here on.
			members := pick("member", free, 1)
			o = append(o, rescue(pick("rescue", handlers, 3)...), always(pick("always", handlers, 3)...))
			s.block(fmt.Sprintf("s%d", i), members, append(o, func(d *states.Declaration) { d.Options.Require = nil })...)
			free = slices.DeleteFunc(free, func(f string) bool { return slices.Contains(members, f) })
			free = append(free, name)
		default:
			s.state(fmt.Sprintf("s%d", i), append(o, parts(part))...)
			free = append(free, name)
		}
		names = append(names, name)
	}
	return s
}

// TestWild checks the shape of runs of wild sites, and that what touches the
// same or nested paths is never free to run at the same time.
func TestWild(t *testing.T) {
	good := 0
	rapid.Check(t, func(t *rapid.T) {
		s := wildSite(t)
		r, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
		if diags.HasErrors() {
			return // a cycle through a block
		}
		good++
		run := r.Run
		c := graphOf(run)
		for a := range c.direct {
			if c.before[a][a] {
				t.Errorf("%s is before itself", a)
			}
		}
		position := map[string]int{}
		for k, i := range run.Invocations {
			position[i.Address] = k
		}
		for _, i := range run.Invocations {
			for b := range c.before[i.Address] {
				if k, is := position[b]; is && k >= position[i.Address] {
					t.Errorf("%s stands before %s", i.Address, b)
				}
			}
		}
		for _, b := range run.Blocks {
			for _, x := range append(slices.Clone(b.Rescue), b.Always...) {
				for _, m := range b.Members {
					if !c.before[x][m] {
						t.Errorf("%s does not wait for member %s", x, m)
					}
				}
			}
		}
		checkConfirms(t, run, c)
		for k, a := range run.Invocations {
			for _, b := range run.Invocations[k+1:] {
				if overlap(a, b) && !c.before[b.Address][a.Address] {
					t.Errorf("%s and %s may run at the same time:\n%s", a.Address, b.Address, outline(run))
				}
			}
		}
	})
	if good < 20 {
		t.Errorf("only %d sites compiled", good)
	}
}

// outline lists a run for the reader of a failure.
func outline(run *states.StateRun) string {
	var b strings.Builder
	for _, i := range run.Invocations {
		ensure := states.Ensure("check")
		if len(i.Parts) > 0 {
			ensure = i.Parts[0].Ensure
		}
		fmt.Fprintf(&b, "%s %s %v requires %v after %v by %v\n", i.Address, ensure, touched(i), i.Requires, i.After, i.NotifiedBy)
	}
	fmt.Fprintf(&b, "%+v", run.Blocks)
	return b.String()
}

// overlap reports whether two invocations name the same or nested paths.
func overlap(a, b states.Invocation) bool {
	for _, x := range touched(a) {
		for _, y := range touched(b) {
			if x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/") {
				return true
			}
		}
	}
	return false
}

func touched(i states.Invocation) []string {
	var out []string
	for _, p := range i.Parts {
		out = append(out, p.Key)
	}
	for _, g := range i.Guards {
		if !strings.HasPrefix(g.Scope, "block.") {
			out = append(out, g.Exists)
		}
	}
	return out
}

// graphOf gives what is before each invocation, blocks included.
func graphOf(run *states.StateRun) *checked {
	c := check(run, nil)
	for _, b := range run.Blocks {
		c.direct[b.Address] = slices.Concat(b.Requires, b.After, b.Members, b.Rescue, b.Always)
	}
	for a := range c.direct {
		c.before[a] = c.walk(a, "", "")
	}
	return c
}

// TestWildSelections checks that a selection names nothing that it lacks, and
// keeps the order of what it keeps.
func TestWildSelections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := wildSite(t)
		r, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
		if diags.HasErrors() || len(r.Run.Invocations) == 0 {
			return
		}
		var addresses []string
		for _, i := range r.Run.Invocations {
			addresses = append(addresses, i.Address)
		}
		for _, b := range r.Run.Blocks {
			addresses = append(addresses, b.Address)
		}
		by := graph.Selection{
			Targets: rapid.SliceOfN(rapid.SampledFrom(addresses), 0, 3).Draw(t, "targets"),
			Exclude: rapid.SliceOfN(rapid.SampledFrom(addresses), 0, 2).Draw(t, "exclude"),
		}
		run, diags := r.Select(by)
		if err := diags.Err(); err != nil {
			t.Fatalf("%v", err)
		}
		whole, part := graphOf(r.Run), graphOf(run)
		kept := map[string]bool{}
		for a := range part.direct {
			kept[a] = true
		}
		for k, i := range run.Invocations {
			for _, a := range part.direct[i.Address] {
				if !kept[a] {
					t.Errorf("%s names %s", i.Address, a)
				}
			}
			for _, earlier := range run.Invocations[:k] {
				if whole.before[i.Address][earlier.Address] && !part.before[i.Address][earlier.Address] {
					t.Errorf("%s no longer comes after %s:\n%s\n%s", i.Address, earlier.Address, outline(r.Run), outline(run))
				}
				if part.before[earlier.Address][i.Address] {
					t.Errorf("%s stands before %s, with %v:\n%s\n%s", earlier.Address, i.Address, by, outline(r.Run), outline(run))
				}
			}
		}
		checkConfirms(t, run, part)
		for _, b := range run.Blocks {
			for _, a := range part.direct[b.Address] {
				if !kept[a] {
					t.Errorf("%s names %s", b.Address, a)
				}
			}
		}
	})
}
