package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// fleetRun is a plan or an apply on machines: of a site on its hosts, or on this machine.
type fleetRun struct {
	*client
	hasNames bool  // machines are told apart by their names; else it is this one
	site     *site // loaded, and evaluated for each host with what it says of itself
	hosts    []lang.Host
	members  []*fleet.Member
	name     string                               // of the site; empty: it has none
	origin   string                               // as hosts are told
	place    string                               // the same as this machine knows it
	line     func(file string, number int) string // of what is applied; nil: none is known
	// jobOf makes what a host is to do, of what it knows of itself; nil: nothing.
	jobOf fleet.Prepare
	// interpretOutcome tells what an outcome means here; nil: what it says.
	interpretOutcome func(fleet.Outcome) fleet.Outcome
	facts            []string
	view             display                        // of what goes on; nil: nothing does
	newRenderer      func(*machine.Job) ui.Renderer // of this machine
	// untouchedHosts is how it ended with hosts that belong to what goes on, and are left alone.
	untouchedHosts []fleet.Outcome
	// execution is what all hosts know it by; rows is what each was shown to do.
	execution string
	record    *fleet.Execution // nil: nothing is recorded
	clusters  []*clusterLatch  // of its hosts
	resumes   *fleet.Record    // the execution that goes on; nil: none, or hosts' last runs
	rollout   *lang.Rollout    // that an apply follows; nil: all hosts at once
	answers   *bufio.Reader    // of who is asked for leave; nil: it was given
	// brokenHooks are those of the rollout that did not end well.
	brokenHooks []brokenHook
	// earlierNotes are those of what came before anything was shown.
	earlierNotes []string
	// failedBefore are hosts of a plan that the last after_each was told had failed.
	failedBefore map[string]bool
	exchange     *exchange        // what the hosts give one another; nil: nothing
	inventory    inventoryProgram // that says which hosts a saved plan is carried out on; nil: it is no saved plan
	hookSite     *site            // whose hooks run around what a saved plan does; nil: none do, or site's own
	rows         map[string][]states.Event
	shownJob     *machine.Job // of this machine; nil: none yet

	// convergers is how hosts fare that are applied until nothing changes; nil: none are.
	convergers map[string]*converger

	tracing tracing

	mu           sync.Mutex
	notedOutputs map[string]bool // of which it was told that they are recorded ones
	findings     findings
	unknown      unknownSelection          // what hosts do not have of what is selected
	isPlan       bool                      // nothing is changed
	isResumption bool                      // runs go on
	isSavedPlan  bool                      // it is a saved plan that is carried out
	keepEvents   bool                      // their events
	isHidden     bool                      // nothing of what goes on is shown
	events       map[string][]states.Event // of each host, where they are kept
}

// fleetRun makes ready for hosts of a site.
func (s *client) fleetRun(ctx context.Context, c *site, hosts []lang.Host) (*fleetRun, error) {
	if hosts == nil {
		return s.siteRunHere(ctx, c)
	}
	if found := c.Diagnostics(); found.HasErrors() { // whatever the hosts say of themselves
		return nil, s.diagnose(c, found)
	}
	if s.globals.Facts != "" && len(hosts) > 1 {
		return nil, usage("name one with --limit", "--facts are those of one machine, and these are %d hosts", len(hosts))
	}
	origin, err := toldOrigin(c.Origin)
	if err != nil {
		return nil, failure(err)
	}
	v := &fleetRun{client: s, hasNames: true, site: c, hosts: hosts, name: c.Name(), origin: origin, place: c.Origin, line: c.siteLine(), facts: c.FactNames()}
	v.jobOf = v.jobOfSite
	c.Selection.Elsewhere = true
	s.forMany = len(hosts) > 1
	return v, v.reach(ctx)
}

// siteRunHere makes ready for a site on this machine, whose host is chosen where it declares any.
func (s *client) siteRunHere(ctx context.Context, c *site) (*fleetRun, error) {
	t, err := s.thisMachine()
	if err != nil {
		return nil, err
	}
	v := &fleetRun{client: s, newRenderer: s.renderer, site: c, hosts: t.hosts, members: t.members, origin: c.Origin, place: c.Origin}
	v.jobOf = v.jobOfSite
	_, err = s.becomePassword(ctx)
	return v, err
}

// reach makes machines of the hosts.
func (v *fleetRun) reach(ctx context.Context) (err error) {
	v.members, err = v.client.members(ctx, v.hosts, journal.Identity(v.name, v.origin), func(host, text string) {
		v.mu.Lock()
		view := v.view
		v.mu.Unlock()
		if view != nil {
			view.Note(host, machine.Note{Text: text})
		}
	})
	return err
}

// plan shows what an apply would do on the hosts.
func (v *fleetRun) plan(ctx context.Context) ([]fleet.Outcome, error) {
	v.isPlan = true
	defer func() { v.isPlan = false }()
	v.site.renewFacts()
	if err := v.survey(ctx); err != nil {
		return nil, err
	}
	return v.run(ctx, fleet.Plan(v.facts, v.prepare), v.members, fleet.Options{})
}

// run does something on the hosts, and shows it; keep keeps what each says.
func (v *fleetRun) run(ctx context.Context, task fleet.Task, members []*fleet.Member, o fleet.Options) ([]fleet.Outcome, error) {
	v.mu.Lock()
	v.findings = findings{}
	v.events = map[string][]states.Event{}
	names := memberNames(members)
	for i := range v.untouchedHosts {
		names = append(names, v.untouchedHosts[i].Machine)
	}
	v.view = v.newView(names)
	v.mu.Unlock()
	v.pauseDisplay = v.view.Aside // secrets are opened as hosts are evaluated
	v.showNote = func(text string) { v.view.Note("", machine.Note{Text: text}) }
	defer func() { v.showNote = nil }()
	for _, text := range v.earlierNotes {
		v.showNote(text)
	}
	v.earlierNotes = nil
	var cancelled <-chan struct{}
	if v.hasNames {
		var done func()
		ctx, cancelled, done = v.interruptible(ctx)
		defer done()
	}
	o.Forks, o.Patience, o.Cancelled, o.Listener = v.globals.Forks, v.globals.patience(), cancelled, &eventKeeper{v.view, v}
	if v.exchange != nil {
		o.Needs = v.exchange.needs
	}
	outcomes, err := fleet.Run(ctx, members, task, o)
	if err != nil {
		v.view.Settle()
		return nil, failure(err)
	}
	for i := range outcomes {
		outcomes[i] = v.interpret(outcomes[i])
	}
	outcomes = append(outcomes, v.untouchedHosts...)
	v.view.Settle() // the table goes, and diagnostics come before the sum
	v.tellCollectorWarnings()
	if err := v.showFindings(); err != nil {
		return nil, err
	}
	var hooks []fleet.RecordHook
	if v.isPlan && v.hasNames && !v.isHidden {
		if hooks, err = v.plannedHooks(outcomes); err != nil {
			return outcomes, err
		}
	}
	if v.globals.JSON { // the sum is the last line
		if err := v.showPlannedHooks(hooks); err != nil {
			return outcomes, err
		}
	}
	if err := unread(v.view.Close(outcomes)); err != nil {
		return outcomes, failure(fmt.Errorf("what was done could not be shown: %w", err))
	}
	if !v.globals.JSON {
		if err := v.showPlannedHooks(hooks); err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}

// newView shows what goes on in the form that the flags ask for.
func (v *fleetRun) newView(names []string) display {
	g := v.globals
	switch {
	case v.isHidden:
		return hiddenDisplay{}
	case !v.hasNames:
		return &hereDisplay{client: v.client, planning: v.isPlan, show: v.newRenderer}
	}
	o := ui.FleetOptions{
		Out: v.Out, Err: v.Err, Hosts: names, Plan: v.isPlan, Execution: v.execution,
		JSON: g.JSON, Quiet: g.Quiet, Summary: v.summary, Verbose: g.Verbose, Color: v.color(v.Out), ColorErr: v.color(v.Err),
		Line: placeLine(v.line), Trouble: siteFailure,
	}
	if _, tty := terminal(v.Err); tty {
		o.Screen = func() (int, int) { return screen(v.Err) }
	}
	return ui.NewFleet(o)
}

// eventKeeper keeps events beside showing them.
type eventKeeper struct {
	display
	v *fleetRun
}

// Event keeps an event, where that is asked for, and shows it.
func (k *eventKeeper) Event(machine string, ev states.Event) {
	if k.v.keepEvents {
		row := ev
		if row.Type != states.EventRun { // others have no host there
			row.Host = ""
		}
		k.v.mu.Lock()
		k.v.events[machine] = append(k.v.events[machine], row)
		k.v.mu.Unlock()
	}
	if c := k.v.convergers[machine]; c != nil {
		c.note(&ev)
	}
	k.v.traceEvent(machine, ev)
	k.display.Event(machine, ev)
}

// Ended shows how it ended with a host, and how that differs from what was shown of it.
func (k *eventKeeper) Ended(name string, o fleet.Outcome) {
	if e, ok := o.Err.(*machine.Error); ok && len(e.Differences) > 0 && (k.v.hasNames || k.v.isSavedPlan || k.v.lockTimeout > 0 || k.v.convergers != nil) {
		var text strings.Builder
		var rows []any
		for _, d := range e.Differences {
			shown, row := k.v.stale(d)
			row.Host = name
			text.WriteString(shown)
			rows = append(rows, row)
		}
		k.Differs(name, text.String(), rows)
	}
	k.v.takeOutputs(name, &o)
	k.v.traceEnd(name, &o)
	k.display.Ended(name, k.v.interpret(o))
}

// interpret tells what an outcome means for what is done here.
func (v *fleetRun) interpret(o fleet.Outcome) fleet.Outcome {
	if v.interpretOutcome != nil {
		return v.interpretOutcome(o)
	}
	return o
}

// prepare evaluates the site for a host that was reached, and makes its job. The host gets
// its own run, and nothing of others.
func (v *fleetRun) prepare(ctx context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
	j, err := v.jobFor(ctx, m, facts)
	if err != nil || j == nil {
		return nil, err
	}
	if err := v.give(j, m.Name, ownTurn); err != nil {
		return nil, err
	}
	v.view.Prepared(m.Name, j)
	if known := v.convergers[m.Name]; known != nil {
		known.handlers = handlersOf(j.Run)
	}
	j.Execution, j.Origin, j.Rows, j.Observe = v.execution, v.origin, nil, v.hasNames || v.keepEvents
	if !m.InProcess { // the file is of another machine
		j.Plan = ""
	}
	j.Parallel, j.LockTimeout, j.Once = v.globals.Parallel, v.lockTimeout, v.once
	if !v.isPlan {
		j.Rows = v.rows[m.Name]
	}
	j.Become = v.become(m.Name, !v.hasNames || becomes(j.Run))
	v.trace(m.Name, j)
	return j, nil
}

// jobFor makes the job of a machine. That of this machine stays what was shown of it: a site
// that is evaluated again may say something else.
func (v *fleetRun) jobFor(ctx context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
	if v.hasNames {
		return v.jobOf(ctx, m, facts)
	}
	if v.shownJob == nil {
		var err error
		if v.shownJob, err = v.jobOf(ctx, m, facts); err != nil || v.shownJob == nil {
			return nil, err
		}
	}
	j := *v.shownJob
	return &j, nil
}

// become is how parts act as other accounts on a host. The password goes along only where
// they do: no other host learns it.
func (v *fleetRun) become(host string, needed bool) machine.Become {
	b := machine.Become{Method: cmp.Or(v.globals.BecomeMethod, v.hostOf(host).BecomeMethod)}
	if needed {
		v.record.Becomes(host)
		b.Password = v.becomePass
	}
	return b
}

// becomes reports whether parts act as other accounts.
func becomes(run *states.StateRun) bool {
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			if slices.ContainsFunc(list[i].Parts, func(p states.Part) bool { return p.Options.Become != "" }) {
				return true
			}
		}
	}
	return false
}

// jobOfSite evaluates the site for one host. It gives nil where nothing of it is selected.
func (v *fleetRun) jobOfSite(ctx context.Context, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
	if !v.hasNames {
		return v.jobHere(ctx, v.site)
	}
	facts, err := v.factsFrom(known)
	if err != nil {
		return nil, err
	}
	compiled, diags, wrong := v.compileHost(ctx, v.site, m.Name, facts)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	v.find(m.Name, diags)
	if compiled != nil {
		v.mu.Lock()
		v.unknown.add(m.Name, compiled.Unknown)
		v.mu.Unlock()
	}
	switch {
	case diags.HasErrors():
		return nil, diags
	case wrong != nil: // nothing of what is selected is this host's
		return nil, nil
	}
	return compiled.Job(), nil
}

func (v *fleetRun) hostOf(name string) *lang.Host {
	i := slices.IndexFunc(v.hosts, func(h lang.Host) bool { return h.Name == name })
	return &v.hosts[i]
}
