package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// decision is what guards say.
type decision struct {
	skip   bool
	reason string // why it is skipped
	doubt  string // why a plan cannot know
	cause  string // the part for which that is so, in the end; empty: none is known
	err    error
}

func (d decision) uncertain() bool { return d.doubt != "" }

// guards remembers decisions by scope, so that a block's guard holds for all of
// its members alike.
type guards struct {
	mu        sync.Mutex
	decisions map[string]*scopedDecision
}

type scopedDecision struct {
	once sync.Once
	decision
}

// decide asks the guards of an invocation or of one of its parts, as an account. Every only_if must
// hold, and any unless skips.
func (e *engine) decide(ctx context.Context, n *node, part, user string, list []states.Guard) decision {
	var unsure decision
	for k := range list {
		g := &list[k]
		d := e.scoped(ctx, n, part, user, g)
		switch {
		case fault.In(d.err) != nil:
			return d // which no plan may hide
		case d.err != nil && unsure.skip:
			return unsure // an apply likely never comes to this guard
		case d.err != nil:
			d.doubt, d.cause = unsure.doubt, unsure.cause // or perhaps never does
			return d
		case d.skip && !d.uncertain():
			return d
		case d.uncertain() && (!unsure.uncertain() || d.skip && !unsure.skip):
			unsure = d
		}
	}
	return unsure
}

// scoped decides a guard once a run for its scope. Guards of a handler's waves
// and of a part are decided anew for each invocation: the scope is theirs.
func (e *engine) scoped(ctx context.Context, n *node, part, user string, g *states.Guard) decision {
	if !isShared(g) {
		return e.ask(ctx, n, part, user, g)
	}
	e.guards.mu.Lock()
	if e.guards.decisions == nil {
		e.guards.decisions = map[string]*scopedDecision{}
	}
	key := guardKey(g)
	d := e.guards.decisions[key]
	if d == nil {
		d = &scopedDecision{}
		e.guards.decisions[key] = d
	}
	e.guards.mu.Unlock()
	d.once.Do(func() { d.decision = e.ask(ctx, n, "", user, g) })
	return d.decision
}

// isShared reports whether a guard's decision holds for several invocations.
func isShared(g *states.Guard) bool { return strings.HasPrefix(g.Scope, "block.") }

// guardKey tells guards apart; the scope is a part of it.
func guardKey(g *states.Guard) string {
	text, err := json.Marshal(g)
	if err != nil {
		panic("runtime: a guard is no JSON: " + err.Error())
	}
	return string(text)
}

// ask decides one guard on the host. A panic is its error: what several wait for, it must not seem
// to have let through.
func (e *engine) ask(ctx context.Context, n *node, part, user string, g *states.Guard) (d decision) {
	defer fault.Catch(&d.err)
	name := "only_if"
	if g.Unless {
		name = "unless"
	}
	if g.Results["when"] != nil {
		name = "when"
	}
	c, unknown, err := e.computeGuard(g)
	if unknown != "" {
		if output := e.expressions.lateOutput(g.Results); output != "" {
			unknown += ": it depends on " + output
		}
		return decision{skip: false, doubt: unknown, cause: e.lateCause(g.Results)}
	}
	if err != nil {
		return decision{err: err}
	}
	q, trace := question{node: n, part: part}, &host.Trace{}
	if isShared(g) {
		q.scope = g.Scope
	}
	holds, what, maybe, err := e.holds(ctx, q, user, c, trace)
	q.see(trace)
	if errors.Is(err, host.ErrUnforeseeable) && e.planning() {
		return decision{doubt: "its guard " + dependsOnEarlierGuard}
	}
	if errors.Is(err, fs.ErrPermission) && e.planning() {
		return decision{doubt: "its guard: " + unreadable}
	}
	if err != nil {
		return decision{err: fmt.Errorf("%s cannot be decided: %w", name, err)}
	}
	d = decision{skip: holds == g.Unless}
	d.doubt, d.cause = e.effects.whyUnsure(q, c.Command, maybe)
	if d.skip {
		d.reason = name + ": " + what
		if name == "when" {
			d.reason = "when is false"
		}
	}
	return d
}

// holds reports whether all conditions of a guard hold, in a plan with the
// reason why that is not certain. what names the condition that decided.
func (e *engine) holds(ctx context.Context, q question, user string, g *computedGuard, trace *host.Trace) (holds bool, what, maybe string, err error) {
	a := e.actors.of(ctx, user)
	if a.err != nil {
		return false, "", "", a.err
	}
	uncertain := e.effects.uncertainLook(q, func() {})
	h := a.view(uncertain, trace)
	var names []string
	if g.When != nil {
		return *g.When, "", "", nil
	}
	for _, c := range []struct {
		path string
		want bool
		verb string
	}{{g.Exists, true, "exists"}, {g.Missing, false, "is missing"}} {
		if c.path == "" {
			continue
		}
		there, err := pathExists(h, c.path)
		if err != nil {
			return false, "", "", err
		}
		if there != c.want {
			return false, c.path + map[bool]string{true: " exists", false: " is missing"}[there], "", nil
		}
		names = append(names, c.path+" "+c.verb)
	}
	if len(g.Command) > 0 {
		// A plan cannot know what the command looks at: it stands only while
		// nothing at all differs from the host.
		q := host.Query{Command: host.Command{Argv: g.Command}, Reads: []string{"/"}}
		result, err := h.Query(ctx, q)
		switch {
		case errors.Is(err, host.ErrUnforeseeable):
			// Either answer may come; the plan goes on as if it ran.
			return !g.Unless, g.Command[0], "after earlier changes", nil
		case err != nil:
			return false, "", "", err
		case result.ExitCode != 0:
			return false, fmt.Sprintf("%s ended with %d", g.Command[0], result.ExitCode), maybe, nil
		}
		names = append(names, g.Command[0]+" ended with 0")
	}
	if len(g.WouldChange) > 0 {
		changes, perhaps, err := e.wouldChange(ctx, uncertain, g.WouldChange, trace)
		if err != nil {
			return false, "", "", err
		}
		if e.planning() {
			maybe = perhaps
		}
		if !changes {
			return false, strings.Join(g.WouldChange, ", ") + " would not change", maybe, nil
		}
		names = append(names, strings.Join(g.WouldChange, ", ")+" would change")
	}
	return true, strings.Join(names, ", "), maybe, nil
}

// pathExists follows no link at the path itself: a dangling one exists.
func pathExists(h host.Host, path string) (bool, error) {
	_, err := h.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// wouldChange plans some invocations and blocks on the host as it is now. A
// maybe counts as a change; perhaps says so.
func (e *engine) wouldChange(ctx context.Context, uncertain func(host.Look) bool, addresses []string, trace *host.Trace) (changes bool, perhaps string, err error) {
	run := partOf(e.run, e.nodes, addresses)
	o := Options{Host: e.actors.of(ctx, "").view(uncertain, trace), Registry: e.options.Registry, Site: e.options.Site, Sources: e.options.Sources, outer: &e.results}
	if e.options.Become != nil {
		o.Become = func(ctx context.Context, user string) (host.Host, error) {
			a := e.actors.of(ctx, user)
			return a.view(uncertain, trace), a.err
		}
	}
	certain := false
	o.Events = func(ev states.Event) {
		if ev.Type != states.EventPart || ev.Action == "" || ev.Action == states.NoChange {
			return
		}
		changes = true
		if ev.Certain != nil && *ev.Certain {
			certain = true
		} else if perhaps == "" {
			perhaps = "if " + ev.Address + " changes"
		}
	}
	result, err := Plan(ctx, run, o)
	if err == nil && result.Failed && !changes {
		err = fmt.Errorf("a plan of %s fails", strings.Join(addresses, ", "))
	}
	if certain {
		perhaps = ""
	}
	return changes, perhaps, err
}

// partOf is the run of these invocations and blocks' members alone. Guards that
// plan in their turn are left out, so that two cannot ask each other for ever.
func partOf(run *states.StateRun, nodes dag, addresses []string) *states.StateRun {
	keep := map[string]bool{}
	var add func(address string)
	add = func(address string) {
		if n := nodes[address]; n != nil && n.block != nil {
			for _, m := range n.block.Members {
				add(m)
			}
			return
		}
		keep[address] = true
	}
	for _, a := range addresses {
		add(a)
	}
	among := func(list []string) (out []string) {
		for _, a := range list {
			if keep[a] {
				out = append(out, a)
			}
		}
		return out
	}
	out := *run
	out.Invocations, out.Blocks, out.Joins, out.Handlers = nil, nil, nil, nil
	for _, inv := range run.Invocations {
		if !keep[inv.Address] && !keep[states.WithoutWave(inv.Address)] {
			continue
		}
		inv.Requires, inv.After, inv.NotifiedBy, inv.Handler = among(inv.Requires), among(inv.After), nil, false
		inv.Guards = plainGuards(inv.Guards)
		out.Invocations = append(out.Invocations, inv)
	}
	return &out
}

func plainGuards(list []states.Guard) (out []states.Guard) {
	for _, g := range list {
		if g.WouldChange = nil; g.Exists != "" || g.Missing != "" || len(g.Command) > 0 || len(g.Results) > 0 {
			out = append(out, g)
		}
	}
	return out
}
