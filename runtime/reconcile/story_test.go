package reconcile

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
)

// teller plays a loop by words.
type teller struct {
	testing.TB
	core   Core
	state  State
	now    time.Time
	action Action
	taken  map[Edge]bool
}

func newTeller(t testing.TB, o Options) *teller {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &teller{TB: t, core: Core{Options: o, Random: func() float64 { return 0.5 }}, state: NewState("shop", now), now: now, taken: map[Edge]bool{}}
}

func (p *teller) step(m Message) {
	s, a, taken := p.core.Step(p.state, p.now, m)
	for _, one := range taken {
		p.taken[Edge{one.From, one.On, one.State.Phase}] = true
	}
	p.state = s
	if len(taken) > 0 {
		p.action = a
	}
}

// say plays one word: see message.
func (p *teller) say(word string) {
	p.Helper()
	if word == "tick" {
		if p.state.Next.IsZero() {
			p.Fatalf("a %s waits for no time", p.state.Phase)
		}
		p.now = p.state.Next
	}
	if after, ok := strings.CutPrefix(word, "sleep:"); ok {
		d, err := time.ParseDuration(after)
		if err != nil {
			p.Fatal(err)
		}
		p.now = p.now.Add(d)
		return
	}
	p.step(p.message(word))
}

// message reads a word: want:X is another StateRun, want:X.2 of another revision, want:absent, want:X' the same by a newer name.
func (p *teller) message(word string) Message {
	name, arg, _ := strings.Cut(word, ":")
	failure := Failure{Cause: Cause(arg)}
	switch name {
	case "want":
		digest, revision, _ := strings.Cut(strings.TrimSuffix(arg, "'"), ".")
		return Want{Target{Digest: digest, Revision: revision, Name: arg, Absent: digest == "absent"}}
	case "look":
		return Look{}
	case "again":
		return Again{}
	case "tick", "early":
		return Tick{}
	case "start":
		return Start{}
	case "some":
		return Found{Something: true, Maybe: true}
	case "maybe":
		return Found{Maybe: true}
	case "none":
		return Found{}
	case "ok", "fail":
		switch p.state.Phase {
		case Discovering:
			return Found{Failure: failure}
		case Validating:
			return Checked{Kept: true, Failure: failure}
		}
		return Ended{failure}
	}
	p.Fatalf("what is %q?", word)
	return nil
}

// play plays a text: words, and after > the phase and perhaps the condition that they lead to. N* repeats what stands behind it.
func (p *teller) play(text string) {
	p.Helper()
	for line := range strings.Lines(strings.TrimSpace(text)) {
		times, rest := 1, strings.TrimSpace(line)
		if n, body, ok := strings.Cut(rest, "* "); ok {
			times, _ = strconv.Atoi(n)
			rest = body
		}
		words, want, _ := strings.Cut(rest, ">")
		for range times {
			for word := range strings.FieldsSeq(words) {
				p.say(word)
			}
		}
		if is := strings.TrimSpace(string(p.state.Phase) + " " + string(p.state.Condition)); want != "" && is != strings.TrimSpace(want) {
			p.Fatalf("after %q it is %q, not %q (%+v)", strings.TrimSpace(line), is, strings.TrimSpace(want), p.state)
		}
	}
}

// stories are what loops go through, and together take every edge of the table.
func stories() map[string]struct {
	options Options
	text    string
} {
	type story = struct {
		options Options
		text    string
	}
	revert := Options{OnFailure: Revert, Attempts: 2}
	converged := "want:A some ok none ok > waiting converged\n"
	return map[string]story{
		"all is as wanted": {Options{}, `
			want:A > discovering
			none > validating
			ok > waiting converged
			early > waiting converged
			tick > discovering converged
			some > applying converged
			ok > discovering converged
			none > validating converged
			ok look > discovering converged
			none ok again > discovering`},
		"acts run once a revision or poll": {Options{}, `
			want:A maybe > applying
			ok maybe > validating
			ok > waiting converged
			look maybe > validating converged
			ok tick maybe > applying converged
			fail:apply > retrying failed
			tick maybe > applying failed
			ok maybe > validating failed`},
		"an act that fails behind one that did not is tried again": {Options{}, `
			want:A some ok some > applying
			fail:apply tick maybe > applying failed`},
		"it fails until help is wanted": {Options{Attempts: 3}, `
			want:A some fail:apply > retrying failed
			early > retrying failed
			again > discovering
			some fail:apply > retrying failed
			tick some fail:apply > retrying failed
			tick some fail:apply > help failed
			tick some > help failed
			look some > help failed
			want:A' > help failed
			again > discovering
			some > applying`},
		"another StateRun ends the wait for help": {Options{Attempts: 1}, `
			want:A some fail:apply > help failed
			want:B some > applying`},
		"somebody mends it by hand": {Options{Attempts: 1}, `
			want:A some fail:apply > help failed
			tick none ok > waiting converged`},
		"it never settles": {Options{Attempts: 1, Rounds: 2}, `
			want:A some ok some ok some > help failed`},
		"causes are counted each by itself": {Options{Attempts: 2}, `
			want:A fail:plan tick some fail:apply tick some fail:deadline tick none fail:validation > retrying failed
			tick fail:plan > help failed`},
		"what is wanted cannot be had": {Options{Attempts: 1}, `
			want:A
			20* fail:unavailable tick > discovering
			some fail:unavailable > retrying
			tick none ok > waiting converged`},
		"something is in the way": {Options{Attempts: 1}, `
			want:A fail:obstacle > blocked
			want:A' > blocked
			look some fail:obstacle > blocked
			tick fail:obstacle again fail:obstacle want:B > discovering`},
		"only to be looked at": {Options{Mode: Audit}, `
			want:A some > waiting drifted
			tick maybe ok > waiting converged`},
		"a crash at each place": {Options{}, `
			want:A start > discovering
			some start > applying
			ok none start > validating
			ok start > waiting converged`},
		"an apply that ends the process": {Options{Attempts: 1}, `
			want:A some
			5* start > applying
			start > help failed`},
		"meanwhile something else is wanted": {Options{}, `
			want:A want:B > discovering
			some want:A none > discovering
			none > validating
			want:B ok > discovering
			some want:A fail:apply > discovering
			fail:plan want:B > discovering`},
		"back to what was before": {revert, converged + `
			want:B
			some fail:apply tick some > applying failed
			fail:apply > reverting failed
			start > reverting failed
			ok > waiting reverted
			tick some ok none ok > waiting reverted
			want:C none ok > waiting converged`},
		"back, by a person's word forward again": {revert, converged + `
			want:B some fail:apply tick some fail:apply ok > waiting reverted
			again some ok none ok > waiting converged`},
		"back, with obstacles": {revert, converged + `
			want:B some fail:apply tick some fail:apply fail:obstacle > blocked
			tick > reverting
			fail:unavailable > retrying
			tick fail:apply > help failed`},
		"back, for which something is missing": {revert, converged + `
			want:B some fail:apply tick some fail:unavailable > retrying
			tick some fail:apply > reverting failed
			fail:unavailable > retrying
			tick fail:unavailable > help failed
			tick > discovering failed
			none ok > waiting converged`},
		"back, for which something is missing for a while": {revert, converged + `
			want:B some fail:apply tick some fail:apply fail:unavailable > retrying
			tick ok > waiting reverted
			tick some fail:unavailable > retrying
			tick fail:unavailable > help failed`},
		"back takes too long": {revert, converged + `
			want:B some fail:apply tick some fail:apply fail:deadline > help failed`},
		"back, while something else comes": {revert, converged + `
			want:B some fail:apply tick some fail:apply want:C > reverting failed
			ok > discovering`},
		"back, while all is to go": {revert, converged + `
			want:B some fail:apply tick some fail:apply want:absent ok > removing`},
		"nothing to go back to": {revert, `
			want:A some fail:apply tick some fail:apply > help failed`},
		"gone": {Options{Attempts: 2}, converged + `
			want:absent > removing
			start fail:obstacle > blocked
			tick fail:unavailable > retrying
			tick fail:apply tick fail:deadline tick fail:apply > help failed
			look > help failed
			again ok > gone
			look again want:absent > gone
			want:A > discovering`},
		"gone, from wherever it is": {Options{Attempts: 1}, `
			want:A want:absent some > removing
			want:A ok > discovering
			none want:absent ok > removing
			want:A ok some want:absent ok > removing
			want:A ok fail:unavailable want:absent > removing
			want:A ok fail:obstacle want:absent > removing
			want:A ok some fail:apply want:absent > removing`},
	}
}

// Each story leads where it says, and together they take every edge.
func TestStories(t *testing.T) {
	taken := map[Edge]bool{}
	for name, story := range stories() {
		t.Run(name, func(t *testing.T) {
			p := newTeller(t, story.options)
			p.play(story.text)
			for e := range p.taken {
				taken[e] = true
			}
		})
	}
	for _, e := range Edges() {
		if !taken[e] {
			t.Errorf("no story takes %v", e)
		}
		delete(taken, e)
	}
	for e := range taken {
		t.Errorf("%v is not in the table", e)
	}
}

// Outside of its windows a machine is looked at and not changed, until the next one opens; what is under way ends.
func TestWindows(t *testing.T) {
	night, err := site.ParseWindow(nil, "22:00-04:00", "")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Windows: site.Schedule{{night}}, Poll: 100 * time.Hour, Jitter: -1}
	p := newTeller(t, o) // at noon
	p.play(`want:A some > blocked`)
	if p.state.Cause != Closed || !strings.Contains(p.state.Reason, "2026-03-01T22:00:00Z") {
		t.Errorf("it says %q, %q", p.state.Cause, p.state.Reason)
	}
	p.play(`sleep:9h tick some > applying`)
	if at := p.now.Format("15:04"); at != "22:00" {
		t.Errorf("it goes on at %s", at)
	}
	p.play(`
		sleep:7h ok > discovering
		some > blocked
		look none > validating
		ok > waiting converged
		tick maybe > validating converged
		ok > waiting converged
		want:absent > removing`)

	// Neither is it gone back outside of them; and nowhere where it is only looked at.
	p = newTeller(t, Options{Attempts: 1, OnFailure: Revert, Poll: 100 * time.Hour, Jitter: -1})
	p.play(`want:A some ok none ok > waiting converged`)
	p.core.Windows = site.Schedule{{night}}
	p.play(`want:B fail:plan > retrying failed`)
	if at := p.state.Next.Format("15:04"); at != "22:00" {
		t.Errorf("it is tried again at %s", at)
	}
	p.play(`tick > reverting failed`)
	p = newTeller(t, Options{Attempts: 1, OnFailure: Revert})
	p.play(`want:A some ok none ok > waiting converged`)
	p.core.Mode = Audit
	p.play(`want:B fail:plan > help failed`)

	o.Mode = Audit
	p = newTeller(t, o)
	p.play(`want:A some > waiting drifted`)
	o.Mode, o.Poll = Apply, time.Hour
	p = newTeller(t, o)
	p.play(`want:A some > blocked`)
	if left := p.state.Next.Sub(p.now); left != time.Hour {
		t.Errorf("it is looked at after %v, and the poll is one hour", left)
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	never, err := site.ParseWindow([]string{"mon"}, "01:00-02:00", "")
	if err != nil {
		t.Fatal(err)
	}
	p = newTeller(t, Options{Windows: site.Schedule{{night}, {never}}})
	p.now = day.Add(12 * time.Hour)
	p.play(`want:A some > blocked`)
	if !strings.Contains(p.state.Reason, "2026-03-02T01:00:00Z") {
		t.Errorf("all lists have to be open: %q", p.state.Reason)
	}
}

// Facts that make something else of a revision again and again renew its attempts a few times a day, and no more.
func TestRenewals(t *testing.T) {
	p := newTeller(t, Options{Attempts: 1})
	p.play(`
		want:A.1 some fail:apply > help failed
		want:B.1 some fail:apply > help failed
		want:A.1 some fail:apply > help failed
		want:B.1 some fail:apply > help failed
		want:A.1 some > help failed
		sleep:25h early some > applying
		fail:apply > help failed
		want:B.2 some > applying`)
}

// Polls are within their bounds, however long they are.
func TestPoll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Poll: time.Duration(rapid.Int64Range(1, 1<<62).Draw(t, "poll")), Jitter: rapid.Float64Range(0.001, 0.99).Draw(t, "jitter")}
		random := rapid.Float64Range(0, 0.999).Draw(t, "random")
		st := &step{options: o.WithDefaults(), random: func() float64 { return random }}
		low, high := float64(o.Poll)*(1-o.Jitter), float64(o.Poll)*(1+o.Jitter)
		if d := st.poll(); float64(d) < low*0.999999-1 || float64(d) > high*1.000001+1 || d <= 0 { // floats are not exact
			t.Fatalf("%s is not from %f to %f", d, low, high)
		}
		for attempt := range 40 {
			if d := st.backoff(attempt); d <= 0 || d > maxBackoff+maxBackoff/10 {
				t.Fatalf("attempt %d waits for %v", attempt, d)
			}
		}
	})
}
