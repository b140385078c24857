package runner

import (
	"errors"
	"io/fs"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// clusterParts tells of what a cluster has declared here how it stands: as the newest report of its site says that tells of any, and
// as the events of the runs since then do. What no run has looked at is in none of them.
func clusterParts(folder *journal.Folder, runs []journal.Status, m *journal.Membership) ([]states.PartReport, error) {
	parts := partList{index: map[string]int{}, cluster: m.Name}
	var since []journal.Status // newest first
	for i := len(runs) - 1; i >= 0 && len(parts.list) == 0; i-- {
		run := runs[i]
		if run.Site != m.Site || run.Revision == "" || run.State == journal.Damaged || run.Started.Before(m.Since) {
			continue
		}
		full, err := folder.Status(run.Run)
		if err != nil {
			return nil, err
		}
		if full.Report != nil {
			parts.report(full.Report)
		}
		if len(parts.list) == 0 {
			since = append(since, full)
		}
	}
	for i := len(since) - 1; i >= 0; i-- {
		if err := parts.run(folder, &since[i]); err != nil {
			return nil, err
		}
	}
	return parts.list, nil
}

// partList is the parts of a cluster, in their order.
type partList struct {
	cluster string
	list    []states.PartReport
	index   map[string]int // by address
}

func (l *partList) report(r *states.Report) {
	for _, p := range r.Parts {
		if p.Cluster == l.cluster {
			l.add(p)
		}
	}
}

func (l *partList) add(p states.PartReport) {
	if _, known := l.index[p.Address]; !known {
		l.index[p.Address] = len(l.list)
		l.list = append(l.list, p)
	}
}

// run takes note of what a run has done that has no report of the cluster's parts: it goes on, was interrupted, or takes them away.
func (l *partList) run(folder *journal.Folder, run *journal.Status) error {
	begun := map[string]bool{}
	for ev, err := range folder.Events(run.Run) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has only just begun
		}
		if err != nil {
			return err
		}
		if ev.Type == states.EventWanted && ev.Cluster == l.cluster {
			l.add(states.PartReport{ID: ev.ID, Address: ev.Address, Type: ev.Part, Key: ev.Key, Target: states.Present, State: states.PartPending, Cluster: l.cluster})
		}
		i, known := l.index[states.WithoutWave(ev.Address)]
		if !known {
			continue
		}
		p := &l.list[i]
		switch ev.Type {
		case states.EventBegin:
			begun[p.Address] = true
			p.State, p.Reason, p.Error, p.Timestamp = states.PartCreating, "", nil, ev.Time
			if ev.Action == states.Remove {
				p.Target, p.State = states.Absent, states.PartRemoving
			}
		case states.EventPart:
			delete(begun, p.Address)
			endPart(p, &ev)
		}
	}
	if run.State != journal.Running {
		for address := range begun {
			p := &l.list[l.index[address]]
			p.State, p.Error = states.PartError, &states.Failure{Code: string(states.Unknown), Message: "run " + run.Run + " did not see it end"}
		}
	}
	return nil
}

// endPart tells how a part stands after its end.
func endPart(p *states.PartReport, ev *states.Event) {
	p.Reason, p.Error, p.Timestamp, p.Changed = ev.Reason, ev.Error, ev.Time, ev.Outcome == states.Changed
	switch ev.Outcome {
	case states.Failed, states.Unknown:
		p.State = states.PartError
	case states.Changed, states.Unchanged:
		if p.State = states.PartPresent; ev.Ensure == states.Absent {
			p.State, p.Target = states.PartAbsent, states.Absent
		}
	default:
		p.State = states.PartPending
		if p.Reason == "" {
			p.Reason = string(ev.Outcome)
		}
	}
}
