package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// renderer shows a run in the form that the flags ask for.
func (s *client) renderer(c *site) ui.Renderer {
	r := s.lasting(c)
	if width, tty := terminal(s.Err); tty && !s.globals.Quiet && !s.globals.JSON {
		r = ui.Progress(s.Err, width, c.run, r)
	}
	return r
}

// lasting is the renderer without what is shown for a moment only.
func (s *client) lasting(c *site) ui.Renderer {
	if s.globals.JSON {
		return ui.JSON(s.Out)
	}
	return ui.Text(s.Out, ui.TextOptions{
		Color: s.color(s.Out), Verbose: s.globals.Verbose, Quiet: s.globals.Quiet, Run: c.run, Line: c.line,
	})
}

// runner is this machine.
func (s *client) runner(h *host.Local) (*runner.Runner, error) {
	dir, err := s.stateDir()
	if err != nil {
		return nil, err
	}
	r := &runner.Runner{
		Host: h, StateDir: dir, Root: s.globals.Root, Registry: modules.Standard(), Program: version(),
		User: s.user(), From: s.from(), Command: s.command, Note: s.note,
	}
	if program, err := os.Executable(); err == nil {
		r.Executable = program
		r.ResumeArgv = func(run string) []string {
			return []string{program, "apply", "--resume", run, "--state-dir", dir, "--no-color"}
		}
	}
	return r, nil
}

// acting is this machine for a run, whose parts may act as other accounts.
func (s *client) acting(ctx context.Context, h *host.Local) (*runner.Runner, error) {
	password, err := s.becomePassword(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.runner(h)
	if err == nil {
		r.BecomeMethod, r.BecomePassword = s.globals.BecomeMethod, password
	}
	return r, err
}

// note tells what people should know.
func (s *client) note(n runner.Note) {
	text := ui.Clean(n.Text)
	switch {
	case n.Kind == runner.NoteRecords:
		text = "tenet: " + text
	case n.Kind == runner.NoteWaiting && s.globals.Quiet:
		return
	}
	fmt.Fprintln(s.Err, text)
}

// ran gives an error of the runner its exit status.
func (s *client) ran(err error) error {
	e, ok := errors.AsType[*runner.Error](err)
	if !ok {
		return failed(err)
	}
	if e.Code == wire.CodeInterrupted {
		return &status{code: exitInterrupted, err: errInterrupted}
	}
	if _, ok := errors.AsType[*runner.NothingError](err); ok {
		return s.nothingYet()
	}
	if err == error(e) {
		err = e.Err
	}
	code := exitFailed
	if e.Code == runner.CodeUsage {
		code = exitUsage
	}
	return &status{code: code, err: err, hint: e.Hint}
}

// job is what a site is for the runner.
func (s *client) job(c *site) *runner.Job {
	return &runner.Job{
		Run: c.run, Registry: c.registry(), Files: c.sources, Origin: c.origin, Places: c.places, Recorded: c.recorded,
		Plan: c.plan, Rows: c.rows, Parallel: s.globals.Parallel, LockTimeout: s.lockTimeout,
	}
}

// showPlan plans and shows it.
func (s *client) showPlan(ctx context.Context, c *site) (*runtime.Result, error) {
	local, err := s.acting(ctx, c.host)
	if err != nil {
		return nil, err
	}
	r := s.renderer(c)
	result, err := local.Plan(ctx, s.job(c), r.Event)
	return result, s.ran(errors.Join(err, unread(r.Close())))
}

// apply carries the run out, records it, and shows it by the renderer that show
// gives.
func (s *client) apply(ctx context.Context, c *site, show func(*site) ui.Renderer) (*runtime.Result, error) {
	local, err := s.acting(ctx, c.host)
	if err != nil {
		return nil, err
	}
	j, v := s.job(c), s.view(local)
	if j.Modules, err = c.digests(); err != nil {
		return nil, failed(err)
	}
	result, err := local.Apply(ctx, j, func(string) { v.renderer = show(c) }, v.event)
	if e, ok := errors.AsType[*runner.Error](err); ok && e.Code == wire.CodeStale {
		return nil, c.stale(e.Differences)
	}
	return result, s.ran(v.end(err))
}

// view shows a run of this machine once it has begun, and until the machine starts anew.
type view struct {
	renderer ui.Renderer
	closed   bool
	err      error
}

func (s *client) view(local *runner.Runner) *view {
	v := &view{}
	local.Note = func(n runner.Note) {
		if n.Kind == runner.NoteReboot {
			v.close()
		}
		s.note(n)
	}
	return v
}

func (v *view) event(ev states.Event) { v.renderer.Event(ev) }

func (v *view) close() {
	if v.renderer != nil && !v.closed {
		v.closed, v.err = true, unread(v.renderer.Close())
	}
}

// end adds to how a run ended that it could not be shown.
func (v *view) end(err error) error {
	if v.close(); v.err != nil {
		return errors.Join(err, fmt.Errorf("the run is recorded, but could not be shown: %w", v.err))
	}
	return err
}

// recorded gives the places of declarations for records.
func (c *site) recorded() map[string]journal.Source {
	sources := make(map[string]journal.Source, len(c.places))
	lines := c.lines()
	for address, place := range c.places {
		sources[address] = journal.Source{
			File: place.File, Line: place.Start.Line, Column: place.Start.Column,
			Text: lines(place.File, place.Start.Line),
		}
	}
	return sources
}

// digests tells the site's own modules from others.
func (c *site) digests() ([]journal.Modules, error) {
	var dirs []planfile.Modules
	for _, m := range c.modules {
		dirs = append(dirs, planfile.Modules(m))
	}
	return runner.Digests(c.sources, dirs)
}

const elsewhere = "--state-dir DIR keeps the records of runs elsewhere"

// exitCode is the status for a run that ended.
func exitCode(r *runtime.Result, detailed bool) error {
	switch {
	case r.Rebooting: // which was said
		return &status{code: exitInterrupted}
	case r.Interrupted:
		return &status{code: exitInterrupted, err: errInterrupted}
	case r.Failed:
		return &status{code: exitFailed}
	case detailed && r.Counts.Changed > 0:
		return &status{code: exitChanges}
	}
	return nil
}
