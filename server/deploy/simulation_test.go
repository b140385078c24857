package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// simHost is a host as it is, beside what is kept of it.
type simHost struct {
	id       trust.ID
	look     Look
	behaves  string // what becomes of a target that it gets
	facts    int
	prepared bool
}

// sim is a deployment among hosts that do what they like.
type sim struct {
	*rapid.T
	now   time.Time
	kept  []byte // as the store has it
	hosts []*simHost
	n     uint64 // of positions
	full  bool
	most  int
	until time.Time        // the server has just started
	begun map[trust.ID]int // how often each was assigned
}

// text is a deployment with its hosts, as it is kept.
type text struct {
	*Deployment
	Kept []*Host
}

func (s *sim) load() *Deployment {
	t := text{Deployment: &Deployment{}}
	if err := json.Unmarshal(s.kept, &t); err != nil {
		s.Fatal(err)
	}
	t.Deployment.Hosts = t.Kept
	return t.Deployment
}

func (s *sim) keep(d *Deployment) {
	var err error
	if s.kept, err = json.Marshal(text{d, d.Hosts}); err != nil {
		s.Fatal(err)
	}
}

func (s *sim) host(id trust.ID) *simHost {
	return s.hosts[slices.IndexFunc(s.hosts, func(h *simHost) bool { return h.id == id })]
}

func (s *sim) identity(h *simHost) trust.Digest {
	return trust.DigestOf(fmt.Append(nil, h.id, h.facts))
}

func (s *sim) world() World {
	return World{Now: s.now, Full: s.full, Settles: s.until, Most: s.most, Look: func(id trust.ID) Look { return s.host(id).look }}
}

// row is what a host would do; those of hosts with other facts are of another part.
func row(part string) states.Event { return states.Event{Type: "part", Address: part} }

// transaction advances the deployment, and is cut off before its commit now and then.
func (s *sim) transaction(crash bool) {
	d := s.load()
	former := s.load()
	acts := d.Advance(s.world())
	if crash {
		return
	}
	s.check(former, d, acts)
	for _, a := range acts {
		h := s.host(a.Host)
		switch a.Kind {
		case Evaluate:
			h.prepared = true
		case Plan:
			if rapid.Bool().Draw(s.T, "plans") {
				h.look.Plan = &HostPlan{Identity: h.look.Prepared.Identity, Rows: []states.Event{row(fmt.Sprint("part", h.facts%2))}, At: s.now}
			}
		case Assign:
			s.n++
			h.look.Target = &Target{Position: trust.Position{Epoch: 1, N: s.n}, Identity: h.look.Prepared.Identity}
			d.Took(a.Host, h.look.Target.Position)
			s.begun[a.Host]++
		}
	}
	s.keep(d)
}

// check holds one step to what must be so in each.
func (s *sim) check(former, d *Deployment, acts []Act) {
	if n := len(slices.DeleteFunc(slices.Clone(acts), func(a Act) bool { return a.Kind != Assign })); s.most > 0 && n > s.most {
		s.Fatalf("%d targets change at once, and %d may", n, s.most)
	}
	for _, a := range acts {
		if a.Kind != Assign {
			continue
		}
		h := s.host(a.Host)
		l := h.look
		switch {
		case d.Phase == Planned || d.Phase == Paused || d.Phase.IsOver() && former.Phase.IsOver():
			s.Fatalf("a target changes while it is %s", d.Phase)
		case l.Locked != "" || !l.Away.IsZero() || l.Pinned != nil || l.Elsewhere != 0 || s.full:
			s.Fatalf("%s gets a target, and is not to: %+v", a.Host, l)
		case l.Loop != nil && l.Loop.Phase == control.PhaseBlocked:
			s.Fatalf("%s gets a target, and is held", a.Host)
		case !l.Prepared.Schedule.IsOpen(s.now):
			s.Fatalf("%s gets a target outside of its windows", a.Host)
		case d.Consent != NoConsent && (d.Approved == nil || !d.Plan.Covers(l.Plan.Rows) || l.Plan.Identity != l.Prepared.Identity):
			s.Fatalf("%s gets a target that nobody has consented to", a.Host)
		}
		if stillTooMany(former, d) {
			s.Fatalf("%s gets a target after too much has failed", a.Host)
		}
	}
	if d.Phase == Failed && former.Phase != Failed && d.Why.Code == CodeLimit && !tooMany(d) {
		s.Fatalf("it fails, and nothing else has: %+v", d.Why)
	}
	s.checkReasons(d)
}

// tooMany reports whether more had failed than may.
func tooMany(d *Deployment) bool {
	failed := 0
	for _, h := range d.Hosts {
		if h.State == rollout.Failed && h.Turn > 0 {
			failed++
		}
	}
	return len(d.Batches) > 0 && d.Batches[0].Allowed.IsExceeded(failed, d.Batches[0].Total)
}

// stillTooMany is tooMany of hosts that had failed before a step, and have not been mended in it.
func stillTooMany(former, d *Deployment) bool {
	failed := 0
	for i, h := range d.Hosts {
		if h.State == rollout.Failed && h.Turn > 0 && former.Hosts[i].State == rollout.Failed {
			failed++
		}
	}
	return d.Batches[0].Allowed.IsExceeded(failed, d.Batches[0].Total)
}

// checkReasons: every wait has a reason, a since, and an edge that time or a person takes.
func (s *sim) checkReasons(d *Deployment) {
	one := func(who string, r Reason) {
		if r.Code == "" || r.Text == "" || r.Since.IsZero() || r.Since.After(s.now) || r.Until.IsZero() && r.Ask == "" {
			s.Fatalf("%s waits without a reason: %+v", who, r)
		}
	}
	underWay := false
	for _, h := range d.Hosts {
		if h.State != rollout.Ready && d.Phase != Superseded {
			one(h.Name, h.Why)
		}
		underWay = underWay || h.State == rollout.Begun
	}
	if d.Phase != Done && (d.Phase != Rolling || !underWay) {
		one(string(d.Phase), d.Why)
	}
}

// live has hosts do what they do.
func (s *sim) live() {
	for _, h := range s.hosts {
		l := &h.look
		if h.prepared && rapid.Bool().Draw(s.T, "evaluated") {
			p := &Prepared{Host: h.id, Identity: s.identity(h), At: s.now, Error: ""}
			if h.behaves == "invalid" {
				p.Error = "no such role"
			}
			if h.behaves == "windows" {
				p.Schedule = site.Schedule{{{Start: 2 * time.Hour, End: 4 * time.Hour}}}
			}
			l.Prepared, h.prepared = p, false
		}
		if l.Target == nil || !l.Away.IsZero() || l.Loop != nil && l.Loop.Phase == control.PhaseBlocked {
			continue
		}
		loop := control.Loop{Position: l.Target.Position, Phase: control.PhaseApplying}
		switch rapid.IntRange(0, 3).Draw(s.T, "does") {
		case 0:
			continue
		case 1, 2:
			loop.Phase, loop.Condition = control.PhaseWaiting, control.ConditionConverged
			switch h.behaves {
			case "fails":
				loop.Phase, loop.Condition = control.PhaseHelp, control.ConditionFailed
			case "reverts":
				loop.Condition = control.ConditionReverted
			case "audits":
				loop.Condition = control.ConditionDrifted
			case "hangs":
				loop.Phase = control.PhaseApplying
			}
		}
		l.Loop = &loop
	}
}

// disturb has something happen, or time pass.
func (s *sim) disturb() {
	h := rapid.SampledFrom(s.hosts).Draw(s.T, "host")
	switch rapid.IntRange(0, 13).Draw(s.T, "what") {
	case 13:
		s.until = s.now.Add(3 * time.Minute)
	case 0:
		h.look.Away = s.now
	case 1:
		h.look.Away = time.Time{}
	case 2:
		h.look.Loop = &control.Loop{Phase: control.PhaseBlocked}
	case 3:
		h.look.Loop = nil
	case 4: // a person pins it to something else
		s.n++
		h.look.Pinned = &Pin{Host: h.id, By: "eve"}
		h.look.Target = &Target{Position: trust.Position{Epoch: 1, N: s.n}, Identity: trust.DigestOf([]byte("pinned"))}
	case 5:
		h.look.Pinned = nil
	case 6:
		h.facts++
		h.look.Prepared = nil
	case 7:
		h.look.Locked = rapid.SampledFrom([]string{"", "it was locked"}).Draw(s.T, "locked")
	case 8:
		s.now = s.now.Add(time.Duration(rapid.IntRange(-5000, 5000).Draw(s.T, "jump")) * time.Hour)
	case 9:
		s.full = rapid.Bool().Draw(s.T, "full")
	case 10:
		s.order(rapid.IntRange(0, 9).Draw(s.T, "order"))
	default:
		s.now = s.now.Add(time.Duration(rapid.IntRange(1, 200).Draw(s.T, "minutes")) * time.Minute)
	}
}

// order has a person do something; what cannot be done changes nothing.
func (s *sim) order(n int) {
	d := s.load()
	before := string(s.kept)
	var err error
	switch {
	case n < 4:
		plan := trust.Digest{}
		if d.Plan != nil {
			plan = d.Plan.Digest
		}
		err = d.Approve("bob", "", plan, s.now)
	case n < 8:
		err = d.Continue()
	case n == 8:
		err = d.Hold("bob", "lunch", s.now)
	}
	if err == nil {
		s.keep(d)
	} else if s.keep(d); before != string(s.kept) {
		s.Fatalf("%v, and something has changed", err)
	}
}

// settle brings all hosts back, has people do what is asked of them, and expects that it ends.
func (s *sim) settle() {
	s.full, s.until = false, time.Time{}
	for _, h := range s.hosts {
		h.look.Away, h.look.Pinned, h.look.Locked, h.look.Loop = time.Time{}, nil, "", nil
		if h.behaves == "windows" {
			h.behaves = ""
			h.look.Prepared = nil
		}
	}
	for range 400 {
		s.live()
		s.transaction(false)
		s.now = s.now.Add(10 * time.Minute)
		d := s.load()
		if d.Phase.IsOver() || d.Phase == Done && !slices.ContainsFunc(d.Hosts, func(h *Host) bool {
			l := s.host(h.ID).look
			return h.Turn == 0 || h.State == rollout.Begun || l.Prepared == nil || h.State == rollout.Ready && (l.Prepared.Identity != h.Identity || l.Target.Identity != h.Identity)
		}) {
			s.checkEnd(d)
			return
		}
		if d.Phase == Done && tooMany(d) { // late hosts have failed
			return
		}
		if d.Consent != NoConsent && slices.ContainsFunc(d.Hosts, func(h *Host) bool { return h.Why.Code == CodeDiffers }) && d.Phase == Done {
			return // a new deployment is asked for
		}
		s.order(0)
		s.order(5)
	}
	d := s.load()
	for _, h := range d.Hosts {
		s.Logf("%+v", *h)
	}
	s.Fatalf("it does not end: %s, %+v, %+v", d.Phase, d.Why, d.Progress)
}

// checkEnd: it failed for a reason, or each host has what is wanted of it.
func (s *sim) checkEnd(d *Deployment) {
	if d.Phase == Failed && d.Why.Code != CodeInvalid && d.Why.Code != CodeLimit {
		s.Fatalf("it has failed, and nothing else has: %+v", d.Why)
	}
	for _, h := range d.Hosts {
		if l := s.host(h.ID).look; h.State == rollout.Ready && d.Phase == Done && (l.Target == nil || l.Target.Identity != l.Prepared.Identity) {
			s.Fatalf("%s is ready, and has not what is wanted of it: %+v", h.Name, l.Target)
		}
	}
}

func TestSimulation(t *testing.T) {
	phases := map[Phase]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := &sim{T: t, now: time.Unix(1.7e9, 0).UTC(), begun: map[trust.ID]int{}, most: rapid.IntRange(0, 3).Draw(t, "most")}
		amount := func(name string, most int) site.Amount { return site.Amount{N: rapid.IntRange(1, most).Draw(t, name)} }
		var names []string
		d := &Deployment{ID: 1, Site: "shop", By: "ann", Phase: Planned, Selector: "*", Consent: rapid.SampledFrom([]Consent{NoConsent, NoConsent, Approval}).Draw(t, "consent")}
		for i := range rapid.IntRange(1, 6).Draw(t, "hosts") {
			h := &simHost{id: trust.ID(string(rune('b'+i)) + strings.Repeat("a", 51)), behaves: rapid.SampledFrom([]string{"", "", "", "", "fails", "reverts", "audits", "hangs", "windows", "invalid"}).Draw(t, "behaves")}
			if h.behaves == "invalid" && rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
				h.behaves = ""
			}
			s.hosts = append(s.hosts, h)
			names = append(names, fmt.Sprint("h", i))
			d.Hosts = append(d.Hosts, &Host{ID: h.id, Name: names[i], State: rollout.Pending})
		}
		failures := site.Amount{N: rapid.IntRange(0, 3).Draw(t, "failures")}
		r := &site.Rollout{Batch: []site.Amount{amount("batch", 3)}, MaxFailures: &failures, Pause: time.Duration(rapid.IntRange(0, 20).Draw(t, "pause")) * time.Minute}
		d.Pause = r.Pause
		var err error
		if d.Batches, err = rollout.Batches(r, 0, names); err != nil {
			t.Fatal(err)
		}
		s.keep(d)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			s.live()
			s.disturb()
			s.transaction(rapid.IntRange(0, 3).Draw(t, "crash") == 0)
		}
		s.settle()
		phases[s.load().Phase]++
	})
	if phases[Done] == 0 || phases[Failed] == 0 {
		t.Errorf("the simulation does not see much: %v", phases)
	}
	t.Log(phases)
}
