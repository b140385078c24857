package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/states"
)

// revisionReport tells what becomes of revisions: the record of the source, who looks at the terminal, and a program.
type revisionReport struct {
	tracker source.Tracker
	dir     string
	kept    source.Record  // what is recorded beside the report of the tracker
	program *reportProgram // nil: there is none
	show    func(source.Report)
	failed  error // of what was told
}

// openRevisionReport takes up what was told before. The schedule is recorded at once: it says why nothing is tried.
func openRevisionReport(dir, address, program string, schedule source.Options, show func(source.Report)) (*revisionReport, error) {
	r := &revisionReport{dir: dir, show: show}
	if program != "" {
		r.program, r.failed = openReportProgram(program, dir)
		r.program.begin()
	}
	r.tracker = source.Tracker{Now: time.Now, Tell: func(report source.Report) {
		show(report)
		if err := r.tell(report); err != nil {
			r.failed = errors.Join(r.failed, err)
		}
	}}
	before, err := source.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	if before != nil {
		r.tracker.Resume(before.Report)
		r.kept = *before
	}
	r.kept.Address, r.kept.Schedule = address, &schedule
	return r, r.record(r.tracker.Report())
}

// tell hands a report of the revision that counts to the program, and records it: whoever dies in between does so again.
func (r *revisionReport) tell(report source.Report) error {
	return errors.Join(r.hand(report), r.record(report))
}

func (r *revisionReport) record(report source.Report) error {
	r.kept.Report = report
	return r.kept.Save(r.dir)
}

// skip notes a revision that never counted.
func (r *revisionReport) skip(e source.Event) {
	r.kept.AddSkipped(e)
	r.failed = errors.Join(r.failed, r.record(r.tracker.Report()))
}

// hand gives a report to the program, if there is one.
func (r *revisionReport) hand(report source.Report) error {
	if r.program == nil {
		return nil
	}
	return r.program.hand(r.kept.Address, report)
}

// close waits until the program has had what waits, if that does not take long, and gives what went wrong.
func (r *revisionReport) close() error {
	err := r.failed
	if r.failed = nil; r.program != nil {
		err = errors.Join(err, r.program.close())
	}
	return err
}

// reject tells of a revision that cannot be used. The one that counts stands as it did.
func (r *revisionReport) reject(e source.Event) {
	failed := source.Report{Revision: e.Revision, Phase: source.Failed, Code: "rejected", Message: diag.Shorten(e.Text), Since: e.Time, Components: []source.Component{}}
	r.kept.Rejected = &failed
	r.show(failed)
	r.failed = errors.Join(r.failed, r.hand(failed), r.record(r.tracker.Report()))
}

// hear takes what an apply says.
func (r *revisionReport) hear(ev states.Event) {
	switch {
	case ev.Type == states.EventRun:
		r.tracker.Each(func(c source.Component) source.Component {
			if c.Phase == source.Pending || c.Phase == source.Failed {
				return source.Component{Name: c.Name, Phase: source.Installing}
			}
			return c
		})
	case ev.Type == states.EventPart && (ev.Outcome == states.Failed || ev.Outcome == states.Unknown):
		c := source.Component{Name: states.ComponentOf(ev.Address), Phase: source.Failed, Source: ev.Address, Message: "it failed"}
		if ev.Error != nil {
			c.Code, c.Message = diag.Shorten(ev.Error.Code), diag.Shorten(diag.Safe(ev.Error.Message))
		}
		r.tracker.Set(c)
	}
}

// round notes how a round has ended: one that has nothing left to do has installed all.
func (r *revisionReport) round(s reconcile.State, end roundEnd, isWell, isAudit bool, differing int) error {
	switch {
	case r.tracker.Report().Revision.IsZero():
	case s.Phase == reconcile.Waiting && isWell && isAudit && differing > 0:
		r.tracker.Each(func(c source.Component) source.Component {
			return source.Component{Name: c.Name, Phase: source.Pending, Reason: fmt.Sprintf("%d is not as declared, and nothing is applied here", differing)}
		})
	case s.Phase == reconcile.Waiting && isWell:
		r.tracker.Each(func(c source.Component) source.Component {
			if c.Phase == source.Removing || c.Phase == source.Removed {
				return source.Component{Name: c.Name, Phase: source.Removed}
			}
			return source.Component{Name: c.Name, Phase: source.Installed}
		})
	case s.Phase == reconcile.Blocked:
		r.tracker.Each(func(c source.Component) source.Component {
			if c.Phase == source.Pending || c.Phase == source.Installing {
				return source.Component{Name: c.Name, Phase: source.Pending, Reason: cmp.Or(s.Reason, end.Reason)}
			}
			return c
		})
	case !isWell && r.tracker.Report().Phase != source.Failed:
		failed := source.Component{Phase: source.Failed, Code: string(s.Cause), Message: diag.Shorten(diag.Safe(cmp.Or(end.Reason, s.Reason, "it failed")))}
		r.tracker.Each(func(c source.Component) source.Component { // nobody can tell in which of them
			if c.Phase == source.Pending || c.Phase == source.Installing {
				failed.Name = c.Name
				return failed
			}
			return c
		})
	}
	err := r.failed
	if r.failed = nil; r.program != nil {
		err = errors.Join(err, r.program.failure())
	}
	return err
}
