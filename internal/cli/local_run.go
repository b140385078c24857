package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
)

// renderer shows a run in the form that the flags ask for.
func (c *console) renderer(j *machine.Job) ui.Renderer {
	r := c.plainRenderer(j)
	if width, tty := terminal(c.Err); tty && !c.globals.Quiet && !c.globals.JSON {
		r = ui.Progress(c.Err, width, j.Run, r)
	}
	return r
}

// plainRenderer is the renderer without what is shown for a moment only.
func (c *console) plainRenderer(j *machine.Job) ui.Renderer {
	if c.globals.JSON {
		return ui.JSON(c.Out)
	}
	return ui.Text(c.Out, ui.TextOptions{
		Color: c.color(c.Out), Verbose: c.globals.Verbose, Quiet: c.globals.Quiet, Run: j.Run, Line: placeLine(j.Line),
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
		Caller: s.caller(), Files: s.filesOf,
	}
	if program, err := os.Executable(); err == nil {
		r.Executable = program
		r.ResumeArgv = func(run string) []string {
			return []string{program, "apply", "--resume", run, "--state-dir", dir, "--no-color"}
		}
	}
	return r, nil
}

// note tells what people should know.
func (c *console) note(n machine.Note) {
	text := ui.Clean(n.Text)
	switch {
	case n.Kind == machine.NoteRecords:
		text = "tenet: " + text
	case n.Kind == machine.NoteWaiting && c.globals.Quiet:
		return
	case n.Kind == machine.NoteObstacle: // it is told beneath the plan: see noteObstacles
		return
	}
	fmt.Fprintln(c.Err, text)
}

// ran gives an error of the runner its exit status.
func (s *client) ran(err error) error {
	code := diag.CodeOf(err)
	if code == machine.CodeInterrupted {
		return &status{code: exitInterrupted, err: errInterrupted}
	}
	if _, ok := errors.AsType[*machine.NothingError](err); ok {
		return s.nothingYet()
	}
	if code == machine.CodeUsage {
		return &status{exitUsage, err}
	}
	return failure(err)
}

// jobHere is what a site is for this machine, or the host that was chosen.
func (s *client) jobHere(ctx context.Context, c *site) (*machine.Job, error) {
	if j := s.evaluation.again(); j != nil {
		return j, s.complete(ctx, j)
	}
	facts, err := s.facts(c.host) // they may have changed with the machine
	if err != nil {
		return nil, err
	}
	c.Target.Facts = s.recording().recordFacts(facts.Fact)
	compiled, err := s.compileFor(ctx, c)
	if err != nil {
		return nil, err
	}
	j := compiled.Job()
	s.evaluation.keep(j)
	return j, s.complete(ctx, j)
}

// complete adds to a job what flags say.
func (s *client) complete(ctx context.Context, j *machine.Job) error {
	password, err := s.becomePassword(ctx)
	j.Parallel, j.LockTimeout, j.Once = s.globals.Parallel, s.lockTimeout, s.once
	j.Become = machine.Become{Method: s.globals.BecomeMethod, Password: password}
	return err
}

const elsewhere = "--state-dir DIR keeps the records of runs elsewhere"

// exitCode is the status for a run that ended.
func exitCode(r *machine.Result, detailed bool) error {
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
