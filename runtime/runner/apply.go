package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// pastRuns is what the records tell of earlier runs.
type pastRuns struct {
	past    *journal.Ledger
	managed *journal.Managed
	runs    func(id string) (*states.StateRun, error)
	// sensitive is what they have put on the machine that is not to be shown.
	sensitive journal.SensitiveAttributes
}

func (c *call) plan(ctx context.Context, j *machine.Job) (*machine.Result, error) {
	obstacles, err := c.Obstacles(j.Run.Site)
	if err != nil {
		return nil, err
	}
	for _, text := range obstacles {
		c.note(machine.NoteObstacle, text)
	}
	b, err := c.remember()
	if err != nil {
		return nil, err
	}
	return resultOf(c.planFrom(ctx, j, b, c.observer.TellEvent))
}

// planFrom plans, from what the records tell.
func (c *call) planFrom(ctx context.Context, j *machine.Job, b pastRuns, events func(states.Event)) (*runtime.Result, error) {
	show := events
	if j.Observe {
		show = func(ev states.Event) {
			planfile.Observe(&ev, c.Host)
			events(ev)
		}
	}
	o, done := c.options(ctx, j, b, show)
	result, err := runtime.Plan(ctx, j.Run, o)
	return result, journal.Join(err, done())
}

// resultOf is a result of the engine as a machine gives it.
func resultOf(r *runtime.Result, err error) (*machine.Result, error) {
	if r == nil {
		return nil, err
	}
	return &machine.Result{
		Run: r.Report.Run, Counts: r.Counts, Failed: r.Failed, Interrupted: r.Interrupted, Rebooting: r.Rebooting, Report: &r.Report,
		Outputs: r.Outputs,
	}, err
}

// remember looks up, for a plan, what earlier runs have left undone.
func (c *call) remember() (b pastRuns, err error) {
	folder, err := c.existingFolder()
	if errors.Is(err, fs.ErrPermission) {
		c.note(machine.NoteRecords, "what earlier runs have left is not in this plan: "+err.Error())
		return b, nil
	}
	if err != nil || folder == nil {
		return b, err
	}
	b.runs = folder.StateRun
	if b.past, err = folder.Ledger(); err != nil {
		return b, &diag.HintError{Err: err, Hint: elsewhere}
	}
	c.reportDamage(b.past)
	if b.sensitive, err = folder.Sensitive(); err != nil {
		return b, &diag.HintError{Err: err}
	}
	b.managed, err = managedBySites(folder.Managed)
	return b, err
}

// reportDamage says what of the records could not be read.
func (c *call) reportDamage(past *journal.Ledger) {
	for _, text := range past.Damaged {
		c.note(machine.NoteRecords, "the records are damaged: "+text)
	}
}

// managedBySites looks up what sites have created here.
func managedBySites(managed func() (*journal.Managed, error)) (*journal.Managed, error) {
	m, err := managed()
	if err != nil && !errors.Is(err, journal.ErrNewer) {
		return nil, &diag.HintError{Err: err, Hint: "without that file nothing is known to have been created by the site, and nothing of it is removed"}
	}
	return m, err
}

// options are the engine's. Done is to be called once it has ended.
func (c *call) options(ctx context.Context, j *machine.Job, b pastRuns, events func(states.Event)) (o runtime.Options, done func() error) {
	local, isLocal := c.Host.(*host.Local)
	of := become.Options{Host: local, Program: c.Executable, Method: j.Become.Method, Password: j.Become.Password}
	var accounts accounts = &become.Accounts{Options: of}
	if c.accounts != nil {
		accounts = c.accounts(of)
	}
	o = runtime.Options{
		Host: c.Host, Registry: c.registry(j), Site: j.Files, Sources: j.Places, Parallel: j.Parallel,
		Events: events, Past: b.past, Runs: b.runs, Origin: j.Origin, Managed: b.managed,
		Sensitive: b.sensitive,
	}
	if c.Executable != "" && !c.tree() && isLocal { // nobody acts below a tree but who may go there
		o.Become = accounts.As
	}
	stop := context.AfterFunc(ctx, accounts.Hurry)
	return o, func() error {
		stop()
		return accounts.Close()
	}
}

func (r *Runner) registry(j *machine.Job) *states.Registry {
	if j.Registry != nil {
		return j.Registry
	}
	return r.Registry
}

func (c *call) apply(ctx context.Context, j *machine.Job) (*machine.Result, error) {
	folder, err := c.open()
	if err == nil {
		err = c.mayCarry(j, folder)
	}
	if err != nil {
		return nil, err
	}
	record, b, err := c.record(ctx, j, folder)
	if err != nil {
		return nil, err
	}
	if j.Rows != nil {
		if err := c.fits(ctx, j, b); err != nil {
			ended := record.Finish(journal.End{State: journal.Failed, Err: err})
			_, removed := folder.Clean(record.ID()) // nobody must go on with it
			return nil, journal.Join(err, ended, removed)
		}
	}
	if err := c.removeObsoleteUnit(j, folder); err != nil {
		return nil, journal.Join(err, record.Finish(journal.End{State: journal.Failed, Err: err}))
	}
	c.isAbout(subject{run: record.ID(), execution: j.Execution, host: j.Run.Host})
	c.observer.TellStarted(machine.Started{Run: record.ID(), Job: j})
	return resultOf(c.carry(ctx, j, record, b))
}

// fits makes sure that a plan says now what was consented to. The lock is held.
func (c *call) fits(ctx context.Context, j *machine.Job, b pastRuns) error {
	var now []states.Event
	observed := *j
	observed.Observe, observed.Run = true, withoutLate(j.Run)
	result, err := c.planFrom(ctx, &observed, b, func(ev states.Event) { now = append(now, ev) })
	if err != nil {
		return err
	}
	if result.Interrupted {
		return interruption(ctx)
	}
	differences, err := planfile.Compare(j.Rows, now)
	if err != nil || len(differences) == 0 {
		return err
	}
	return &machine.Error{Differences: differences, HintError: diag.HintError{Code: machine.CodeStale, Hint: "plan again",
		Message: "the machine is not as it was when the plan was shown, and nothing was applied"}}
}

// withoutLate gives the run as it was when its plan was shown: what outputs of other hosts were not
// known then is unknown.
func withoutLate(run *states.StateRun) *states.StateRun {
	before := *run
	before.Given = slices.Clone(run.Given)
	for i := range before.Given {
		if g := &before.Given[i]; g.IsLate {
			g.Output.Value, g.Output.IsKnown = nil, false
		}
	}
	return &before
}

// record begins the journal of an apply.
func (c *call) record(ctx context.Context, j *machine.Job, folder *journal.Folder) (*journal.Run, pastRuns, error) {
	meta, err := c.meta(j)
	if err != nil {
		return nil, pastRuns{}, err
	}
	meta.Sources = j.Sources()
	record, err := folder.Start(ctx, meta)
	if err != nil {
		return nil, pastRuns{}, refusal(ctx, err)
	}
	b := pastRuns{past: record.Ledger(), runs: folder.StateRun, sensitive: record.Sensitive()}
	c.reportDamage(b.past)
	if b.managed, err = managedBySites(record.Managed); err != nil {
		return nil, b, journal.Join(err, record.Finish(journal.End{State: journal.Failed, Err: err}))
	}
	return record, b, nil
}

// meta says what is applied, and by whom.
func (c *call) meta(j *machine.Job) (journal.Meta, error) {
	modules, err := digests(j.Files, j.Modules)
	return journal.Meta{
		Run: j.Run, Origin: j.Origin, Plan: j.Plan, Modules: modules, Execution: j.Execution, Once: j.Once, Root: c.Root,
		User: c.caller.User, From: c.caller.From, Command: c.caller.Command,
		LockTimeout: j.LockTimeout, Waiting: func(holder *journal.LockedError) {
			c.note(machine.NoteWaiting, "waiting for at most "+short(j.LockTimeout)+": "+holder.Error())
		},
	}, err
}

// short is a duration without what is zero at its end.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// carry carries out a run that was begun or goes on.
func (c *call) carry(ctx context.Context, j *machine.Job, record *journal.Run, b pastRuns) (*runtime.Result, error) {
	o, done := c.options(ctx, j, b, c.observer.TellEvent)
	o.Journal, o.Continue = record, c.continues(record.ID())
	stop := flushPeriodically(record)
	result, err := runtime.Apply(ctx, j.Run, o)
	stop()
	err = journal.Join(err, done())
	if err == nil && result.Rebooting {
		return result, c.awaitReboot(ctx, record, result)
	}
	if result != nil {
		err = journal.Join(err, record.KeepOutputs(result.Outputs))
	}
	end := journalEnd(result, err)
	if err = journal.Join(err, record.Finish(end)); err == nil && end.State == journal.Done && j.Execution != "" {
		err = c.forgetBundle(j.Execution) // nobody goes on with it
	}
	return result, err
}

// forgetBundle removes what an execution needed of the site.
func (r *Runner) forgetBundle(execution string) error {
	return (&bundle.Store{Dir: r.StateDir}).Forget(execution)
}

// flushEvery is how old events may be for who follows them in another process.
const flushEvery = 200 * time.Millisecond

// flushPeriodically lets who follows a run see what it has done lately, until the result is called.
func flushPeriodically(record *journal.Run) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	fault.Go(func() {
		defer close(done)
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if record.Flush() != nil {
					return // the run finds that out, and ends
				}
			}
		}
	})
	return func() {
		close(ended)
		<-done
	}
}

// journalEnd tells the journal how a run ended.
func journalEnd(result *runtime.Result, err error) journal.End {
	end := journal.End{State: journal.Done, Err: err}
	if result != nil {
		end.Counts, end.Report = result.Counts, &result.Report
		end.Changed = result.Counts.Changed+result.Counts.Failed+result.Counts.Unknown > 0
	}
	switch {
	case result == nil || result.Interrupted:
		end.State = journal.Interrupted
	case result.Failed || err != nil:
		end.State = journal.Failed
	}
	return end
}

const elsewhere = "--state-dir DIR keeps the records of runs elsewhere"

// open opens the state folder, and makes it if there is none.
func (r *Runner) open() (*journal.Folder, error) {
	folder, err := journal.OpenWith(r.StateDir, journal.Options{Program: r.Program, Volatile: r.Volatile, Intercept: r.intercept})
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
	}
	return folder, nil
}

// existingFolder opens the state folder to look at it; nil when there is none.
func (r *Runner) existingFolder() (*journal.Folder, error) {
	if _, err := os.Stat(r.StateDir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	folder, err := r.open()
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return nil, &diag.HintError{Err: fmt.Errorf("the state folder cannot be read: %w", path), Hint: "look as the user who applies here"}
	}
	return folder, err
}
