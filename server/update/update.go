// Package update brings the agents of hosts to releases of their program: in batches, and as long as no more hosts fail than may.
package update

import (
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Phase is how far an update is.
type Phase string

// The phases.
const (
	Rolling Phase = "rolling"
	Done    Phase = "done"    // all hosts at hand run it; who comes late follows
	Failed  Phase = "failed"  // more hosts have failed than may: those that had not begun keep their program, and those that do not run it yet, too
	Aborted Phase = "aborted" // a person has ended it, which does the same
)

// Update is a release for some hosts.
type Update struct {
	Number   int64            `json:"number"`
	Version  string           `json:"version"`
	Release  trust.Digest     `json:"release"` // of what was signed
	By       string           `json:"by"`
	At       time.Time        `json:"at"`
	Message  string           `json:"message,omitempty"`
	Selector string           `json:"selector"`
	Deadline time.Duration    `json:"deadline"` // for a host that is at hand, from its turn on
	Pause    time.Duration    `json:"pause,omitempty"`
	Batches  []rollout.Batch  `json:"batches"`
	Progress rollout.Progress `json:"progress"`
	Phase    Phase            `json:"phase"`
	Reason   string           `json:"reason,omitempty"` // why it does not go on
	Hosts    []*Host          `json:"-"`
}

// Host is a host of an update.
type Host struct {
	ID     trust.ID      `json:"id"`
	Name   string        `json:"name"`
	State  rollout.State `json:"state"`
	Turn   int           `json:"turn,omitempty"` // in which it has begun
	Began  time.Time     `json:"began,omitzero"`
	Reason string        `json:"reason,omitempty"`
}

// Look is what is known of a host.
type Look struct {
	Locked  string         // why it gets nothing; empty: it gets what is new
	Away    time.Time      // since when it is not connected; zero: it is
	Program *trust.Running // that it runs; nil: it has not said so
	Update  *control.Update
}

// World is what is known at one time.
type World struct {
	Now     time.Time
	Settles time.Time // until then hosts that seem to be away may be about to connect
	Release *trust.Release
	Look    func(trust.ID) Look
}

// Advance takes in what is known, and gives the hosts whose turn begins: they are to be offered the release.
func (u *Update) Advance(w World) (begun []*Host) {
	if u.isEnded() {
		return nil
	}
	waits := false
	for _, h := range u.Hosts {
		l := w.Look(h.ID)
		h.State, h.Reason = u.judge(h, &l, w)
		waits = waits || !l.Away.IsZero() && w.Now.Before(w.Settles)
	}
	if waits {
		u.Reason = "the server has just started, and hosts are about to connect"
		return nil
	}
	return u.roll(w)
}

// judge says how a host stands.
func (u *Update) judge(h *Host, l *Look, w World) (rollout.State, string) {
	switch {
	case u.isRun(l):
		return rollout.Ready, ""
	case h.Turn > 0 && u.isAbout(l.Update) && (l.Update.Phase == control.UpdateFailed || l.Update.Phase == control.UpdateRefused):
		return rollout.Failed, string(l.Update.Phase) + ": " + l.Update.Reason
	case l.Locked != "":
		return rollout.Out, l.Locked
	case !l.Away.IsZero():
		return rollout.Out, "it is not connected since " + l.Away.UTC().Format(time.RFC3339)
	case l.Program == nil:
		return rollout.Out, "its agent is from before updates, or has not said yet what it runs: if that stays so, replace it by hand"
	}
	if _, err := w.Release.Follow(l.Program); err != nil {
		return rollout.Out, err.Error()
	}
	if h.Turn == 0 {
		return rollout.Pending, ""
	}
	reason, isWaiting := "", false
	if u.isAbout(l.Update) {
		reason, isWaiting = string(l.Update.Phase), l.Update.Phase == control.UpdateWaiting
		if l.Update.Reason != "" {
			reason += ": " + l.Update.Reason
		}
	}
	if w.Now.Before(h.Began.Add(u.Deadline)) {
		return rollout.Begun, reason
	}
	if isWaiting { // as for the end of a hold: that is no failure of the release
		return rollout.Out, reason
	}
	return rollout.Failed, fmt.Sprintf("it does not run within %s: %s", u.Deadline, reason)
}

// isRun tells whether a host runs the release, or a later one.
func (u *Update) isRun(l *Look) bool {
	return l.Program != nil && trust.HasOrder(l.Program.Version) && trust.CompareVersions(l.Program.Version, u.Version) >= 0
}

// isEnded tells whether nobody is to be brought to the release any more.
func (u *Update) isEnded() bool { return u.Phase == Failed || u.Phase == Aborted }

// end ends an update: what hosts were offered is taken back.
func (u *Update) end(phase Phase, reason string) {
	u.Phase, u.Reason = phase, reason
	for _, h := range u.Hosts {
		switch h.State {
		case rollout.Pending:
			h.State, h.Reason = rollout.Out, "the update ended before its turn"
		case rollout.Begun:
			h.State, h.Reason = rollout.Out, "the update ended before it ran the release, which was taken back"
		}
	}
}

// isAbout tells whether what a host has told is about this update.
func (u *Update) isAbout(told *control.Update) bool {
	return told != nil && told.Number == u.Number && told.Release == u.Release
}

// roll has turns begin.
func (u *Update) roll(w World) (begun []*Host) {
	plan := rollout.Plan{Batches: u.Batches, Pause: u.Pause}
	for range len(u.Batches) + len(u.Hosts) + 3 { // a turn may be over as soon as it begins
		var hosts []rollout.Host
		byName := map[string]*Host{}
		for _, h := range u.Hosts {
			// Who runs it already needs no turn.
			hosts, byName[h.Name] = append(hosts, rollout.Host{Name: h.Name, State: h.State, Turn: h.Turn}), h
		}
		s := plan.Next(w.Now, u.Progress, hosts)
		u.Reason = ""
		switch s.Kind {
		case rollout.Begin:
			if u.Progress.Turn != s.Turn {
				u.Progress = rollout.Progress{Turn: s.Turn}
			}
			for _, name := range s.Hosts {
				h := byName[name]
				h.Turn, h.Began, h.State = s.Turn, w.Now, rollout.Begun
				begun = append(begun, h)
			}
			if len(s.Hosts) == 0 && u.isReady(s.Turn) {
				u.Progress.Resumed = true // nobody of the batch needs a turn
			}
			continue
		case rollout.End:
			u.Progress.Ended = w.Now
			continue
		case rollout.Pause:
			u.Reason = "the pause between batches, until " + s.Until.UTC().Format(time.RFC3339)
		case rollout.Halt:
			if u.isReady(s.Turn) {
				u.Progress.Resumed = true
				continue
			}
			u.Reason = fmt.Sprintf("no host of batch %d is at hand: tenet update --continue goes on without them", s.Turn)
		case rollout.Stop:
			if u.Reason = s.Err.Error(); u.Phase == Rolling {
				u.end(Failed, u.Reason)
			}
		case rollout.Complete:
			u.Phase = Done
		case rollout.Await:
		}
		return begun
	}
	return begun
}

// isReady tells whether all hosts of a batch run the release already.
func (u *Update) isReady(turn int) bool {
	if turn < 1 || turn > len(u.Batches) {
		return true
	}
	ready := map[string]bool{}
	for _, h := range u.Hosts {
		ready[h.Name] = h.State == rollout.Ready
	}
	for _, name := range u.Batches[turn-1].Machines {
		if !ready[name] {
			return false
		}
	}
	return true
}
