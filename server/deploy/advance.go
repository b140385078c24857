package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
)

// ActKind says what is to be done.
type ActKind string

// The acts.
const (
	Evaluate ActKind = "evaluate" // the site, for a host
	Plan     ActKind = "plan"     // on a host
	Assign   ActKind = "assign"   // what is prepared for a host becomes its target
)

// Act is something that is to be done about a host.
type Act struct {
	Kind ActKind
	Host trust.ID
}

// Advance takes in what is known at one time, and says what is to be done. Acts of the kind Assign are done in the
// transaction that keeps the deployment, and Took is called for each of them; the others are asked for again until they show.
func (d *Deployment) Advance(w World) (acts []Act) {
	for _, h := range d.Hosts { // clocks may have been set back
		h.Why.notAfter(w.Now)
	}
	d.Why.notAfter(w.Now)
	switch d.Phase {
	case Superseded:
		return nil
	case Failed, Aborted:
		d.observe(w)
		return nil
	case Planned:
		return d.prepare(w)
	}
	acts = d.observe(w)
	if d.Phase != Paused || d.Why.Code == CodeAllOut {
		acts = append(acts, d.roll(w)...)
	}
	return acts
}

// awaitStart waits for hosts that are about to connect.
func (d *Deployment) awaitStart(w World) {
	d.Why.become(Reason{Code: CodeStarted, Text: "the server has just started, and hosts are about to connect", Until: w.Settles}, w.Now)
}

// expectsHosts reports whether hosts that have begun may seem to be away, and are not.
func (d *Deployment) expectsHosts(w World) bool {
	return d.Phase == Rolling && slices.ContainsFunc(d.Hosts, func(h *Host) bool {
		return h.Turn > 0 && h.State != rollout.Ready && h.State != rollout.Failed && !w.Look(h.ID).Away.IsZero()
	})
}

// Took notes the target that an Assign has given to a host.
func (d *Deployment) Took(host trust.ID, at trust.Position) {
	if h := d.host(host); h != nil {
		h.Position = at
	}
}

// observe notes how each host stands.
func (d *Deployment) observe(w World) (acts []Act) {
	for _, h := range d.Hosts {
		l := w.Look(h.ID)
		if d.joinsAnew(h, &l, w.Now) || d.lacksSignature(h, &l) {
			h.Turn, h.State, h.Position, h.Identity = 0, rollout.Pending, trust.Position{}, trust.Digest{}
		}
		if h.Turn == 0 {
			acts = append(acts, d.await(h, &l, w.Now)...)
			continue
		}
		if l.Prepared == nil && l.Elsewhere == 0 && l.Locked == "" && !d.Phase.IsOver() && !d.Signed { // what it reads has changed
			acts = append(acts, Act{Evaluate, h.ID})
		}
		state, why := d.judge(h, &l, w.Now)
		if state == rollout.Begun && (h.State != rollout.Begun || h.Active.After(w.Now)) {
			h.Active = w.Now
		}
		h.State = state
		if state == rollout.Ready {
			h.Why = Reason{}
		} else {
			h.Why.become(why, w.Now)
		}
		if state == rollout.Begun && !d.Phase.IsOver() && (d.Signed || !w.Forbidden) && h.Position == l.position() && l.isLapsed(w.Now) && l.Prepared != nil && l.Prepared.Identity == h.Identity {
			acts = append(acts, Act{Assign, h.ID}) // the same anew
		}
	}
	return acts
}

// joinsAnew reports whether a host that has had its turn is to have another one: since its target is not the
// deployment's any more, as after an unpin, since the host takes it up no longer, or since the site makes something else of it than it did.
func (d *Deployment) joinsAnew(h *Host, l *Look, now time.Time) bool {
	if h.Turn == 0 || h.Turn == d.Progress.Turn && d.Progress.Ended.IsZero() && h.Turn <= len(d.Batches) || d.Phase.IsOver() || l.Locked != "" || l.Elsewhere != 0 || l.Pinned != nil || d.unknown(l) != nil {
		return false
	}
	if l.Target != nil && !h.Identity.IsZero() && l.Target.Identity != h.Identity {
		return true
	}
	if h.Position == l.position() && l.isLapsed(now) {
		return true
	}
	isOver := h.State == rollout.Ready || h.State == rollout.Failed
	return isOver && l.Prepared != nil && l.Prepared.Error == "" && len(l.Prepared.Waits) == 0 && l.Prepared.Identity != h.Identity
}

// lacksSignature reports whether a host that is what was signed for it has to be signed for again: it waits for that, and then has another turn.
func (d *Deployment) lacksSignature(h *Host, l *Look) bool {
	return h.State == rollout.Ready && h.Turn > 0 && (h.Turn != d.Progress.Turn || !d.Progress.Ended.IsZero()) && l.Unsigned != "" && !d.Phase.IsOver() && l.Elsewhere == 0 && l.Locked == "" && l.Pinned == nil
}

// await notes how a host stands before its turn.
func (d *Deployment) await(h *Host, l *Look, now time.Time) (acts []Act) {
	if d.Phase.IsOver() {
		h.State = rollout.Out
		h.Why.become(Reason{Code: CodeKept, Text: "the deployment ended before its turn: it keeps what it has", Ask: "deploy again"}, now)
		return nil
	}
	if l.Prepared == nil && l.Elsewhere == 0 && l.Locked == "" && !d.Signed {
		acts = append(acts, Act{Evaluate, h.ID})
	}
	r := d.absence(l, now)
	if r == nil {
		r = d.readiness(l, now)
	}
	if r == nil {
		h.State = rollout.Pending
		h.Why.become(Reason{Code: CodeTurn, Text: "its turn has not come", Ask: "wait, or look at what the deployment waits for"}, now)
		return acts
	}
	if r.Code == CodeUnsteady {
		h.Changes = l.Prepared.Changes
	}
	if r.Code == CodePlanning || r.Code == CodeBeforehand && !now.Before(r.Until) {
		acts = append(acts, Act{Plan, h.ID})
	}
	h.State = rollout.Out
	h.Why.become(*r, now)
	return acts
}

// prepare waits until all hosts that are at hand are evaluated and, where somebody is to consent, have planned.
func (d *Deployment) prepare(w World) (acts []Act) {
	var empty []string
	wrong := mistakes{}
	waits := false
	reads := map[string][]string{}
	for _, h := range d.Hosts {
		l := w.Look(h.ID)
		reads[h.Name] = l.Prepared.givers()
		acts = append(acts, d.await(h, &l, w.Now)...)
		switch p := l.Prepared; {
		case p != nil && p.Error != "":
			wrong.add(h.Name, p.Error)
		case p != nil && p.Empty && !p.Absent && !d.Empty:
			empty = append(empty, h.Name)
		case h.Why.Code == CodeEvaluation || h.Why.Code == CodePlanning:
			waits = true
		}
	}
	switch {
	case len(wrong.order) > 0:
		d.end(Failed, Reason{Code: CodeInvalid, Text: "the site is wrong for " + wrong.String(), Ask: "mend it, and deploy again"}, w)
	case len(cycle(reads)) > 0:
		d.end(Failed, Reason{Code: CodeCycle, Text: "hosts read what they give one another: " + strings.Join(cycle(reads), ", which reads of "), Ask: `break it, or read what was given last: hosts(PATTERN, { outputs = "last" })`}, w)
	case len(empty) > 0:
		d.end(Failed, Reason{Code: CodeEmpty, Text: "nothing would be wanted any more of " + some(empty), Ask: "deploy again with --empty, if this is meant"}, w)
	case waits:
		d.Why.become(Reason{Code: CodeEvaluation, Text: "the site is being evaluated, and planned where somebody is to consent", Until: w.Now.Add(retryLook)}, w.Now)
	case d.Consent == NoConsent:
		d.Phase, d.Why = Rolling, Reason{}
		acts = append(acts, d.observe(w)...)
		acts = append(acts, d.roll(w)...)
	default:
		d.askConsent(w)
	}
	if d.Phase == Failed {
		return nil
	}
	return acts
}

// askConsent shows the plan of all hosts that have planned.
func (d *Deployment) askConsent(w World) {
	plans := map[string]*HostPlan{}
	for _, h := range d.Hosts {
		if l := w.Look(h.ID); l.Plan != nil && l.Prepared != nil && l.Plan.Identity == l.Prepared.Identity && l.Plan.Error == "" {
			plans[h.Name] = l.Plan
		}
	}
	if key := planKey(d, plans); d.Plan == nil || d.Plan.Key != key {
		grouped, err := groupPlans(d, plans)
		if err != nil {
			d.end(Failed, Reason{Code: CodeBeforehand, Text: "the plans cannot be put together: " + err.Error(), Ask: "deploy to fewer hosts at a time, by --hosts, or have nothing planned"}, w)
			return
		}
		d.Plan = grouped
	}
	r := Reason{Code: CodeApproval, Text: "another person than " + d.By + " has to approve the plan", Ask: fmt.Sprintf("tenet deployments approve %d --plan %s", d.ID, d.Plan.Digest)}
	if d.Consent == Start {
		r = Reason{Code: CodeStart, Text: "somebody has to look at the plan, and start it", Ask: fmt.Sprintf("tenet deployments start %d --plan %s", d.ID, d.Plan.Digest)}
	}
	d.Why.become(r, w.Now)
}

// Bounds of how many targets change.
const (
	targetsAtOnce = 500                // in one transaction: each takes some statements, and others wait for the store meanwhile
	targetsInStep = 10 * targetsAtOnce // in a step, which looks at all hosts
)

// roll has turns begin.
func (d *Deployment) roll(w World) (acts []Act) {
	if w.Now.Before(w.Settles) && d.expectsHosts(w) {
		d.awaitStart(w)
		return nil
	}
	if w.Forbidden && !d.Signed {
		d.Why.become(Reason{Code: CodeSign, Text: "the trust document does not let the server say what hosts are to be", Ask: askSign}, w.Now)
		return nil
	}
	assigned := 0
	for range len(d.Batches) + len(d.Hosts) + 3 { // a turn may be over as soon as it begins
		var hosts []rollout.Host
		for _, h := range d.Hosts {
			hosts = append(hosts, rollout.Host{Name: h.Name, State: h.State, Turn: h.Turn})
		}
		s := d.plan().Next(w.Now, d.Progress, hosts)
		if d.Phase == Paused && s.Kind != rollout.Halt && (s.Kind != rollout.Begin || !w.Full) { // hosts are back
			d.Phase, d.Why = Rolling, Reason{}
		}
		switch s.Kind {
		case rollout.Begin:
			if w.Full {
				d.Why.become(Reason{Code: CodeFull, Text: "the server's disk is nearly full", Until: w.Now.Add(retryLook), Ask: "make room there"}, w.Now)
				return acts
			}
			if d.Progress.Turn != s.Turn {
				d.Progress = rollout.Progress{Turn: s.Turn}
			}
			more, isCut := d.begin(s, w, cmp.Or(w.Most, targetsInStep)-assigned)
			if acts, assigned = append(acts, more...), assigned+len(more); isCut {
				return acts
			}
			continue
		case rollout.End:
			d.Progress.Ended = w.Now
			continue
		case rollout.Await:
			d.Why = Reason{}
		case rollout.Pause:
			d.Why.become(Reason{Code: CodePause, Text: "the pause between batches", Until: s.Until, Ask: "wait"}, w.Now)
		case rollout.Halt:
			if d.Phase == Rolling && w.Now.Before(w.Settles) {
				d.awaitStart(w)
				return acts
			}
			d.Phase = Paused
			d.Why.become(Reason{Code: CodeAllOut, Text: fmt.Sprintf("no host of turn %d is at hand", s.Turn), Ask: fmt.Sprintf("tenet deployments continue %d goes on without them", d.ID)}, w.Now)
		case rollout.Stop:
			r := Reason{Code: CodeLimit, Text: s.Err.Error(), Ask: "mend what has failed, and deploy again"}
			if d.Phase == Done {
				d.Why.become(r, w.Now)
			} else {
				d.end(Failed, r, w)
			}
		case rollout.Complete:
			d.Phase, d.Why = Done, Reason{}
		}
		return acts
	}
	return acts
}

// begin begins the turn of hosts, until so many have been given targets: isCut says that others are left.
func (d *Deployment) begin(s rollout.Step, w World, most int) (acts []Act, isCut bool) {
	begins := map[string]bool{}
	for _, name := range s.Hosts {
		begins[name] = true
	}
	for _, h := range d.Hosts {
		if !begins[h.Name] || h.Turn > 0 || h.State != rollout.Pending { // another host had the name before
			continue
		}
		if len(acts) >= most {
			return acts, true
		}
		l := w.Look(h.ID)
		h.Turn, h.Active, h.State = s.Turn, w.Now, rollout.Begun
		switch p := l.Prepared; {
		case p.Error != "":
			h.State = rollout.Failed
			h.Why.become(Reason{Code: CodeInvalid, Text: "the site is wrong for it: " + p.Error, Ask: "mend it, and deploy again"}, w.Now)
			continue
		case l.isCurrent(w.Now): // it is nothing new
			h.Position, h.Identity = l.Target.Position, p.Identity
		default:
			h.Position, h.Identity = trust.Position{}, p.Identity
			acts = append(acts, Act{Assign, h.ID})
		}
		state, why := d.judge(h, &l, w.Now)
		h.State = state
		if state == rollout.Ready {
			h.Why = Reason{}
		} else {
			h.Why.become(why, w.Now)
		}
	}
	return acts, false
}

// end ends it before all hosts have begun.
func (d *Deployment) end(phase Phase, why Reason, w World) {
	d.Phase = phase
	d.Why.become(why, w.Now)
	for _, h := range d.Hosts {
		if h.Turn == 0 {
			d.await(h, &Look{}, w.Now)
		}
	}
}

// some lists the first of many things.
func some(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:3], "; "), len(list)-3)
}
