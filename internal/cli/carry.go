package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/journal"
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

func (s *client) options(c *site, events func(states.Event)) runtime.Options {
	return runtime.Options{
		Host: c.host, Registry: c.registry(), Site: c.sources, Sources: c.places,
		Parallel: s.globals.Parallel, Events: events, Past: c.past, Runs: c.runs, Origin: c.origin, Managed: c.managed,
	}
}

// showPlan plans and shows it.
func (s *client) showPlan(ctx context.Context, c *site) (*runtime.Result, error) {
	if err := s.remember(c); err != nil {
		return nil, err
	}
	r := s.renderer(c)
	result, err := runtime.Plan(ctx, c.run, s.options(c, r.Event))
	return result, failed(errors.Join(err, unread(r.Close())))
}

// apply carries the run out, records it, and shows it by the renderer that show
// gives.
func (s *client) apply(ctx context.Context, c *site, folder *journal.Folder, show func(*site) ui.Renderer) (*runtime.Result, error) {
	record, err := s.record(ctx, c, folder)
	if err != nil {
		return nil, err
	}
	if c.fits != nil {
		if err := c.fits(ctx); err != nil {
			ended := record.Finish(journal.End{State: journal.Failed, Err: err})
			_, removed := folder.Clean(record.ID()) // nobody must go on with it
			return nil, errors.Join(err, failed(errors.Join(ended, removed)))
		}
	}
	return s.carry(ctx, c, record, show)
}

// carry carries out a run that was begun or goes on.
func (s *client) carry(ctx context.Context, c *site, record *journal.Run, show func(*site) ui.Renderer) (*runtime.Result, error) {
	r := show(c)
	o := s.options(c, r.Event)
	o.Journal, o.Continue = record, s.continues(c, record.ID())
	result, err := runtime.Apply(ctx, c.run, o)
	if err == nil && result.Rebooting {
		err = errors.Join(r.Close(), s.awaitReboot(ctx, record, result))
		return result, failed(err)
	}
	err = errors.Join(err, record.Finish(ending(result, err)))
	if shown := unread(r.Close()); shown != nil {
		err = errors.Join(err, fmt.Errorf("the run is recorded, but could not be shown: %w", shown))
	}
	return result, failed(err)
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

// record begins the journal of an apply.
func (s *client) record(ctx context.Context, c *site, folder *journal.Folder) (*journal.Run, error) {
	meta := s.meta(c)
	meta.Sources = c.recorded()
	var err error
	if meta.Modules, err = c.digests(); err != nil {
		return nil, failed(err)
	}
	record, err := folder.Start(ctx, meta)
	if refusal(err) != "" {
		return nil, refused(err)
	}
	if err != nil && ctx.Err() != nil { // it has waited
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	}
	if err != nil {
		return nil, &status{code: exitFailed, err: err, hint: elsewhere}
	}
	c.past, c.runs = record.Ledger(), folder.StateRun
	s.lost(c.past)
	if err := errors.Join(s.holds(c, record.Managed), s.outrun(c, folder)); err != nil {
		return nil, errors.Join(err, record.Finish(journal.End{State: journal.Failed, Err: err}))
	}
	return record, nil
}

const elsewhere = "--state-dir DIR keeps the records of runs elsewhere"

// journal opens the state folder, and makes it if there is none.
func (s *client) journal() (*journal.Folder, error) {
	dir, err := s.stateDir()
	if err != nil {
		return nil, err
	}
	folder, err := journal.OpenWith(dir, journal.Options{Program: version()})
	if err != nil {
		return nil, &status{code: exitFailed, err: err, hint: elsewhere}
	}
	return folder, nil
}

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
