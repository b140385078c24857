package deploy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Look is what is known of a host at one time, as far as a deployment goes.
type Look struct {
	// Locked is why the host may not be changed, such as "it was revoked"; empty: it may be.
	Locked    string
	Away      time.Time // since when it has not been connected; zero: it is
	Pinned    *Pin
	Elsewhere int64          // the later deployment that has the host; 0: none
	Silent    bool           // it has never told facts, without which nothing is evaluated for it
	Loop      *control.Loop  // the last that it told of the site; nil: it has told nothing
	Held      trust.Position // the newest that it has shown to have of the site
	Target    *Target        // nil: it has none
	Void      bool           // the target was signed by a key that may not any more
	Prepared  *Prepared      // of this revision; nil: it is not evaluated
	Cluster   string         // for whom its cluster waits, so that it gets nothing new; empty: for nobody
	Demand    string         // what the policy of the site demands that the deployment does not have; empty: nothing
	Unsigned  string         // why somebody has to sign for it first; empty: nobody has to
	Plan      *HostPlan      // nil: it has not planned
	Objection *Objection     // of the host, to what it was given last; nil: it has told of none
}

// position is that of the target of a host; zero: it has none.
func (l *Look) position() trust.Position {
	if l.Target == nil {
		return trust.Position{}
	}
	return l.Target.Position
}

// isCurrent reports whether the target of a host is what the revision makes of it, and what the host has or takes up.
func (l *Look) isCurrent(now time.Time) bool {
	return l.Target != nil && l.Prepared != nil && l.Target.Identity == l.Prepared.Identity && !l.isLapsed(now) && !l.isBeyond()
}

// isLapsed reports whether a host has not taken up its target, and will not any more: its time is over, the key that has signed it may not any more, or it is sealed to a key that the host
// has replaced.
func (l *Look) isLapsed(now time.Time) bool {
	t := l.Target
	if t == nil || l.Loop != nil && l.Loop.Position.Compare(t.Position) >= 0 {
		return false
	}
	isOver := l.Void || !t.Until.IsZero() && now.After(t.Until)
	return isOver || !t.Absent && t.Recipient != "" && l.Prepared != nil && l.Prepared.Recipient != "" && l.Prepared.Recipient != t.Recipient
}

// isBeyond reports whether a host has something that came after its target: the server was put back from a backup, and a person has left it
// to the host. That is so until somebody deploys to it.
func (l *Look) isBeyond() bool {
	at := l.Held
	if l.Loop != nil && l.Loop.Position.Compare(at) > 0 {
		at = l.Loop.Position
	}
	return at.Compare(l.position()) > 0
}

// unknown says why a deployment that comes from a backup leaves a host alone: it has something that came after that; nil: it has not.
func (d *Deployment) unknown(l *Look) *Reason {
	if !d.Restored || !l.isBeyond() {
		return nil
	}
	return &Reason{Code: CodeKept, Text: "it has something that came after the backup from which the server was restored, and keeps it", Ask: "deploy again"}
}

// World is what is known at one time.
type World struct {
	Now  time.Time
	Full bool // there is no room to begin anything
	// Forbidden says that the server may not sign what hosts are to be.
	Forbidden bool
	// Most is how many targets may change by a step; 0: targetsInStep. Hosts beyond that begin late.
	Most int
	// Settles is until when hosts may seem to be away because the server was; zero: none is expected any more.
	Settles time.Time
	Look    func(trust.ID) Look
}

// Pin is a person's word that a host stays as it is, whatever is deployed.
type Pin struct {
	Host     trust.ID  `json:"host"`
	Name     string    `json:"name"` // of the host
	Site     string    `json:"site"`
	Revision string    `json:"revision"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Why      string    `json:"why,omitempty"`
}

// retryLook is when what is expected to come by itself is looked at again, should nobody tell of it.
const retryLook = time.Minute

// absence says why a host is not at hand, whatever its turn; nil: it is.
func (d *Deployment) absence(l *Look, now time.Time) *Reason {
	switch {
	case l.Locked != "":
		return &Reason{Code: CodeLocked, Text: l.Locked, Ask: "tenet host unlock NAME, or leave it out of the next deployment"}
	case l.Elsewhere != 0:
		return &Reason{Code: CodeElsewhere, Text: fmt.Sprintf("deployment %d is newer, and has the host", l.Elsewhere), Ask: "look there"}
	case d.unknown(l) != nil:
		return d.unknown(l)
	case l.Pinned != nil:
		return &Reason{Code: CodePinned, Text: "pinned by " + l.Pinned.By, Ask: fmt.Sprintf("tenet unpin %s NAME", d.Site)}
	case !l.Away.IsZero():
		since := " since " + l.Away.UTC().Format(time.RFC3339)
		if l.Away.Unix() <= 0 {
			since = ", and never was"
		}
		return &Reason{Code: CodeAway, Text: "not connected" + since, Ask: "start the host and its agent; it then joins by itself"}
	}
	if l.Prepared != nil && !l.Prepared.Schedule.IsOpen(now) {
		r := &Reason{Code: CodeWindow, Text: "outside of its windows", Until: l.Prepared.Schedule.Next(now)}
		if r.Until.IsZero() {
			r.Ask = "its windows never are open at the same time: change them in the site"
		}
		return r
	}
	if l.Loop != nil && l.Loop.Phase == control.PhaseBlocked && l.Loop.Cause != string(reconcile.Closed) { // its windows may be others now
		return &Reason{Code: CodeHeld, Text: "blocked there: " + cmp.Or(l.Loop.Reason, "a hold or a lock"), Until: l.Loop.Next, Ask: "tenet unhold NAME, if it is a hold"}
	}
	return nil
}

// readiness says why a host that is at hand cannot begin yet; nil: it can.
func (d *Deployment) readiness(l *Look, now time.Time) *Reason {
	switch {
	case l.Unsigned != "":
		return &Reason{Code: CodeSign, Text: "somebody has to sign for it: " + l.Unsigned, Ask: askSign}
	case l.Cluster != "" && !l.isCurrent(now):
		return &Reason{Code: CodeCluster, Text: l.Cluster, Ask: "start that host and its agent, or take it out of the cluster"}
	case l.Prepared == nil && l.Silent:
		return &Reason{Code: CodeSilent, Text: "it has told no facts yet", Ask: "look at its agent: tenet-agent says why in its log"}
	case l.Prepared == nil:
		return &Reason{Code: CodeEvaluation, Text: "the site is being evaluated for it", Until: now.Add(retryLook)}
	case l.Prepared.Error != "":
		return nil // it fails in its turn
	case len(l.Prepared.Waits) > 0:
		return &Reason{Code: CodeOutput, Text: "it reads what others have not given yet: " + some(l.Prepared.Waits), Until: now.Add(retryLook), Ask: "look at the hosts that give it; what is sensitive no server hands on"}
	case l.Prepared.Changes > max(maxChanges, d.Tolerated) && (l.Target == nil || l.Target.Identity != l.Prepared.Identity):
		return &Reason{Code: CodeUnsteady, Text: fmt.Sprintf("what others give has made something else of it %d times in this revision", l.Prepared.Changes), Ask: fmt.Sprintf("see why, then tenet deployments continue %d", d.ID)}
	case (l.Prepared.Empty || l.Prepared.Absent) && !d.Empty:
		return &Reason{Code: CodeEmpty, Text: "nothing would be wanted of it any more", Ask: "deploy again with --empty, if this is meant"}
	case l.Demand != "" && (l.Target == nil || l.Target.Identity != l.Prepared.Identity):
		return &Reason{Code: CodePolicy, Text: l.Demand + ", and this one is without it", Ask: "deploy again"}
	case d.Consent == NoConsent || l.isCurrent(now):
		return nil
	case l.Plan == nil || l.Plan.Identity != l.Prepared.Identity:
		return &Reason{Code: CodePlanning, Text: "it was asked what it would do", Until: now.Add(retryLook)}
	case l.Plan.Error != "":
		return &Reason{Code: CodeBeforehand, Text: "it cannot plan: " + l.Plan.Error, Until: l.Plan.At.Add(replan), Ask: "mend what it says"}
	case d.Approved != nil && !d.Plan.Covers(l.Plan.Rows):
		return &Reason{Code: CodeDiffers, Text: "its plan differs from the one that was approved", Ask: "deploy again, and approve the new plan"}
	}
	return nil
}

// replan is when a host that could not plan is asked again.
const replan = 5 * time.Minute

// judge says how a host that has begun stands now.
func (d *Deployment) judge(h *Host, l *Look, now time.Time) (rollout.State, Reason) {
	if r := d.unknown(l); r != nil && l.Locked == "" && l.Elsewhere == 0 {
		return rollout.Out, *r
	}
	if h.State == rollout.Ready {
		return rollout.Ready, Reason{}
	}
	if loop := l.Loop; loop != nil && h.Position != (trust.Position{}) && loop.Position.Compare(h.Position) >= 0 {
		switch {
		case loop.Phase == control.PhaseWaiting && loop.Condition == control.ConditionConverged, loop.Phase == control.PhaseGone:
			return rollout.Ready, Reason{}
		case loop.Condition == control.ConditionReverted:
			return rollout.Failed, Reason{Code: CodeReverted, Text: "it went back to what it was: " + cmp.Or(loop.Reason, "the new state failed"), Ask: "mend the site, and deploy again"}
		case loop.Phase == control.PhaseHelp || loop.Phase == control.PhaseWaiting && loop.Condition == control.ConditionFailed:
			return rollout.Failed, Reason{Code: CodeGaveUp, Text: "it has given up: " + cmp.Or(loop.Reason, "the new state failed"), Ask: "mend it, then tenet retry NAME"}
		}
	}
	if h.State == rollout.Failed { // and was not mended since
		return rollout.Failed, h.Why
	}
	if r := d.absence(l, now); r != nil {
		return rollout.Out, *r
	}
	if loop := l.Loop; loop != nil && h.Position != (trust.Position{}) && loop.Position.Compare(h.Position) >= 0 && loop.Phase == control.PhaseWaiting && loop.Condition == control.ConditionDrifted {
		return rollout.Out, Reason{Code: CodeAudit, Text: "it only tells of differences: " + cmp.Or(loop.Reason, "its mode is audit"), Ask: "set mode = \"apply\" in the site, or apply by hand"}
	}
	if l.Unsigned != "" && h.Position != (trust.Position{}) && h.Position == l.position() && l.isLapsed(now) { // the server cannot sign it anew
		return rollout.Out, Reason{Code: CodeSign, Text: "somebody has to sign for it: " + l.Unsigned, Ask: askSign}
	}
	until := h.Active.Add(cmp.Or(d.Deadline, DefaultDeadline))
	if h.State == rollout.Out || h.Active.After(now) || h.Active.IsZero() { // it is back, or clocks were set back
		until = now.Add(cmp.Or(d.Deadline, DefaultDeadline))
	}
	if !now.Before(until) {
		return rollout.Failed, Reason{Code: CodeDeadline, Text: "it was not ready in " + cmp.Or(d.Deadline, DefaultDeadline).String(), Ask: "look at it: tenet status, tenet logs"}
	}
	if o := l.Objection; o != nil && h.Position == o.Position && (l.Loop == nil || l.Loop.Position.Compare(h.Position) < 0) {
		return rollout.Begun, Reason{Code: CodeRefused, Text: o.Why, Until: until, Ask: cmp.Or(o.Cure, "look at the log of its agent")}
	}
	return rollout.Begun, Reason{Code: CodeProgress, Text: progressText(h, l.Loop), Until: until}
}

// progressText says what a host does that has begun.
func progressText(h *Host, loop *control.Loop) string {
	switch {
	case h.Position == (trust.Position{}) || loop == nil || loop.Position.Compare(h.Position) < 0:
		return "it has not taken it up yet"
	case loop.Phase == control.PhaseRetrying:
		text := "it tries again"
		if loop.Attempt > 0 {
			text += fmt.Sprintf(", attempt %d of %d", loop.Attempt, loop.Attempts)
		}
		return text + ": " + cmp.Or(loop.Reason, "the last attempt failed")
	}
	return "it is " + string(loop.Phase)
}
