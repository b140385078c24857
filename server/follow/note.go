package follow

import (
	"context"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/deploy"
)

// report is what became of the revision that counts, or of one that would be the first.
func (r *row) report() source.Report {
	switch {
	case !r.Report.Revision.IsZero():
		return r.Report
	case r.State.Held.IsZero() && r.Problem != "":
		return source.Report{Phase: source.Failed, Code: "rejected", Message: r.Problem, Since: r.At}
	case r.State.Held.IsZero() && r.State.Problem != nil:
		p := r.State.Problem
		return source.Report{Revision: r.State.Seen, Phase: source.Failed, Code: p.Code, Message: "no revision counts yet", Since: p.At}
	case r.State.Held.IsZero():
		return source.Report{Phase: source.Pending, Reason: "nothing was found yet", Since: r.At}
	}
	return source.Report{Revision: r.State.Held, Phase: source.Pending, Reason: "it is about to be deployed", Since: r.State.Held.Seen}
}

// withoutHosts is a report without what hosts say, for who may not read all of them.
func withoutHosts(r source.Report) source.Report {
	r.Components = slices.Clone(r.Components)
	for i := range r.Components {
		c := &r.Components[i]
		*c = source.Component{Name: c.Name, Phase: c.Phase, Code: c.Code}
	}
	r.Reason, r.Source, r.Message = "", "", ""
	return r
}

// restingLook is how often it is looked what became of a deployment that is over: hosts come back, and are mended.
const restingLook = time.Minute

// note notes what became of the revision that counts, and reports whether it stands as it did.
func (f *follower) note(ctx context.Context) (same bool, err error) {
	held := f.row.State.Held
	if held.IsZero() {
		return true, nil
	}
	same = true
	t := &source.Tracker{Now: f.service.Clock, Tell: func(source.Report) { same = false }}
	t.Resume(f.row.Report)
	defer func() { f.row.Report = t.Report() }()
	isDeployed := f.row.Deployment != 0 && f.row.Revision == held.ID
	if before := f.row.Report.Revision; isDeployed && before.ID != "" && !before.Is(held) && f.row.ReportOf == f.row.Deployment {
		t.Advance(held)
	} else if !before.Is(held) {
		f.row.Former, f.row.IsKnown, f.row.ReportOf, f.isAtRest = f.row.names(), false, 0, false
		t.Begin(held, "it is about to be deployed", []string{""}, false)
	}
	now, poked := f.service.Clock(), f.service.pokes.Load()
	switch {
	case f.row.Problem != "" && (!isDeployed || f.rival != ""):
		f.isAtRest = false
		c := source.Component{Phase: source.Failed, Code: "rejected", Message: f.row.Problem}
		if f.row.AwaitsSignature {
			c = source.Component{Phase: source.Pending, Reason: f.row.Problem}
		}
		t.Replace([]source.Component{c})
		return same, nil
	case !isDeployed, f.isAtRest && poked == f.poked && now.Before(f.noted.Add(restingLook)) && !now.Before(f.noted):
		return same, nil
	}
	o, err := f.service.Deployments.Outcome(ctx, f.row.Deployment)
	if err != nil {
		return same, err
	}
	f.noted, f.poked, f.row.ReportOf = now, poked, f.row.Deployment
	if f.isAtRest = o == nil || o.Phase == deploy.Done || o.Phase.IsOver(); o == nil { // it was tidied away, long after
		return same, nil
	}
	var list []source.Component
	list, f.row.IsKnown = componentsOf(o, f.row.Former)
	t.Replace(list)
	return same, nil
}

// names are the components that may be on hosts by this revision and those before it.
func (r *row) names() []string {
	names := slices.Clone(r.Former)
	if r.IsKnown {
		names = nil
		for _, c := range r.Report.Components {
			if c.Phase != source.Removed {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
