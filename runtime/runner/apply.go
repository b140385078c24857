package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// before is what the records tell of earlier runs.
type before struct {
	past    *journal.Ledger
	managed *journal.Managed
	runs    func(id string) (*states.StateRun, error)
	// sensitive is what they have put on the machine that is not to be shown.
	sensitive journal.SensitiveAttributes
}

// Plan tells what Apply would do. Who may not read the records gets a plan without
// what earlier runs have left, and a note.
func (r *Runner) Plan(ctx context.Context, j *Job, events func(states.Event)) (*runtime.Result, error) {
	b, err := r.remember()
	if err != nil {
		return nil, err
	}
	return r.plan(ctx, j, b, events)
}

func (r *Runner) plan(ctx context.Context, j *Job, b before, events func(states.Event)) (*runtime.Result, error) {
	show := events
	if j.Observe {
		show = func(ev states.Event) {
			planfile.Observe(&ev, r.Host)
			events(ev)
		}
	}
	o, done := r.options(ctx, j, b, show)
	result, err := runtime.Plan(ctx, j.Run, o)
	return result, journal.Join(err, done())
}

// remember looks up, for a plan, what earlier runs have left undone.
func (r *Runner) remember() (b before, err error) {
	folder, err := r.existing()
	if errors.Is(err, fs.ErrPermission) {
		r.note(NoteRecords, "what earlier runs have left is not in this plan: "+err.Error())
		return b, nil
	}
	if err != nil || folder == nil {
		return b, err
	}
	b.runs = folder.StateRun
	if b.past, err = folder.Ledger(); err != nil {
		return b, &Error{Err: err, Hint: elsewhere}
	}
	r.lost(b.past)
	if b.sensitive, err = folder.Sensitive(); err != nil {
		return b, &Error{Err: err}
	}
	b.managed, err = holds(folder.Managed)
	return b, err
}

// lost says what of the records could not be read.
func (r *Runner) lost(past *journal.Ledger) {
	for _, text := range past.Damaged {
		r.note(NoteRecords, "the records are damaged: "+text)
	}
}

// holds looks up what sites have created here.
func holds(managed func() (*journal.Managed, error)) (*journal.Managed, error) {
	m, err := managed()
	if err != nil && !errors.Is(err, journal.ErrNewer) {
		return nil, &Error{Err: err, Hint: "without that file nothing is known to have been created by the site, and nothing of it is removed"}
	}
	return m, err
}

// options are the engine's. Done is to be called once it has ended.
func (r *Runner) options(ctx context.Context, j *Job, b before, events func(states.Event)) (o runtime.Options, done func() error) {
	of := become.Options{Host: r.Host, Program: r.Executable, Method: r.BecomeMethod, Password: r.BecomePassword}
	var accounts accounts = &become.Accounts{Options: of}
	if r.accounts != nil {
		accounts = r.accounts(of)
	}
	o = runtime.Options{
		Host: r.Host, Registry: r.registry(j), Site: j.Files, Sources: j.Places, Parallel: j.Parallel,
		Events: events, Past: b.past, Runs: b.runs, Origin: j.Origin, Managed: b.managed,
		Sensitive: b.sensitive,
	}
	if r.Executable != "" && !r.tree() { // nobody acts below a tree but who may go there
		o.Become = accounts.As
	}
	stop := context.AfterFunc(ctx, accounts.Hurry)
	return o, func() error {
		stop()
		return accounts.Close()
	}
}

func (r *Runner) registry(j *Job) *states.Registry {
	if j.Registry != nil {
		return j.Registry
	}
	return r.Registry
}

func (r *Runner) note(kind, text string) {
	if r.Note != nil {
		r.Note(Note{kind, text})
	}
}

// Apply carries a job out, and records it. Started, which may be nil, is called once
// the run is recorded and nothing speaks against it. Failures of parts are events and
// in the Result; the error is for a run that could not be carried out or recorded.
func (r *Runner) Apply(ctx context.Context, j *Job, started func(run string), events func(states.Event)) (*runtime.Result, error) {
	folder, err := r.open()
	if err != nil {
		return nil, err
	}
	record, b, err := r.record(ctx, j, folder)
	if err != nil {
		return nil, err
	}
	if j.Rows != nil {
		if err := r.fits(ctx, j, b); err != nil {
			ended := record.Finish(journal.End{State: journal.Failed, Err: err})
			_, removed := folder.Clean(record.ID()) // nobody must go on with it
			return nil, journal.Join(err, ended, removed)
		}
	}
	if started != nil {
		started(record.ID())
	}
	return r.carry(ctx, j, record, b, events)
}

// fits makes sure that a plan says now what was consented to. The lock is held.
func (r *Runner) fits(ctx context.Context, j *Job, b before) error {
	var now []states.Event
	observed := *j
	observed.Observe = true
	result, err := r.plan(ctx, &observed, b, func(ev states.Event) { now = append(now, ev) })
	if err != nil {
		return err
	}
	if result.Interrupted {
		return interrupted(ctx)
	}
	differences, err := planfile.Compare(j.Rows, now)
	if err != nil || len(differences) == 0 {
		return err
	}
	return &Error{Code: wire.CodeStale, Err: errors.New("the machine is not as it was when the plan was shown, and nothing was applied"),
		Hint: "plan again", Differences: differences}
}

func interrupted(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &Error{Code: wire.CodeInterrupted, Err: err}
}

// record begins the journal of an apply.
func (r *Runner) record(ctx context.Context, j *Job, folder *journal.Folder) (*journal.Run, before, error) {
	meta := r.meta(j)
	if j.Recorded != nil {
		meta.Sources = j.Recorded()
	}
	record, err := folder.Start(ctx, meta)
	if err != nil {
		return nil, before{}, r.refused(ctx, err)
	}
	b := before{past: record.Ledger(), runs: folder.StateRun, sensitive: record.Sensitive()}
	r.lost(b.past)
	if b.managed, err = holds(record.Managed); err == nil {
		err = r.outrun(j, folder)
	}
	if err != nil {
		return nil, b, journal.Join(err, record.Finish(journal.End{State: journal.Failed, Err: err}))
	}
	return record, b, nil
}

// meta says what is applied, and by whom.
func (r *Runner) meta(j *Job) journal.Meta {
	return journal.Meta{
		Run: j.Run, Origin: j.Origin, Plan: j.Plan, Modules: j.Modules, Execution: j.Execution, Root: r.Root,
		User: r.User, From: r.From, Command: r.Command,
		LockTimeout: j.LockTimeout, Waiting: func(holder *journal.LockedError) {
			r.note(NoteWaiting, "waiting for at most "+short(j.LockTimeout)+": "+holder.Error())
		},
	}
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
func (r *Runner) carry(ctx context.Context, j *Job, record *journal.Run, b before, events func(states.Event)) (*runtime.Result, error) {
	o, done := r.options(ctx, j, b, events)
	o.Journal, o.Continue = record, r.continues(record.ID())
	stop := flushing(record)
	result, err := runtime.Apply(ctx, j.Run, o)
	stop()
	err = journal.Join(err, done())
	if err == nil && result.Rebooting {
		return result, r.awaitReboot(ctx, record, result)
	}
	end := ending(result, err)
	if err = journal.Join(err, record.Finish(end)); err == nil && end.State == journal.Done && j.Execution != "" {
		err = r.forgetBundle(j.Execution) // nobody goes on with it
	}
	return result, err
}

// forgetBundle removes what an execution needed of the site.
func (r *Runner) forgetBundle(execution string) error {
	return (&bundle.Store{Dir: r.StateDir}).Forget(execution)
}

// flushEvery is how old events may be for who follows them in another process.
const flushEvery = 200 * time.Millisecond

// flushing lets who follows a run see what it has done lately, until the result is called.
func flushing(record *journal.Run) (stop func()) {
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

// ending tells the journal how a run ended.
func ending(result *runtime.Result, err error) journal.End {
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
	folder, err := journal.OpenWith(r.StateDir, journal.Options{Program: r.Program, Intercept: r.intercept})
	if err != nil {
		return nil, &Error{Err: err, Hint: elsewhere}
	}
	return folder, nil
}

// existing opens the state folder to look at it; nil when there is none.
func (r *Runner) existing() (*journal.Folder, error) {
	if _, err := os.Stat(r.StateDir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	folder, err := r.open()
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return nil, &Error{Err: fmt.Errorf("the state folder cannot be read: %w", path), Hint: "look as the user who applies here"}
	}
	return folder, err
}
