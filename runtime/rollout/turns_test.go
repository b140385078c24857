package rollout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
)

// drawRollout makes a rollout of hosts.
func drawRollout(t *rapid.T, hosts []string) *rollout.Plan {
	amount := rapid.Custom(func(t *rapid.T) site.Amount {
		return site.Amount{N: rapid.IntRange(1, 60).Draw(t, "n"), Percent: rapid.Bool().Draw(t, "percent")}
	})
	r := site.Rollout{
		Batch:       rapid.SliceOfN(amount, 0, 3).Draw(t, "batch"),
		MaxFailures: rapid.Ptr(amount, true).Draw(t, "failures"),
		Pause:       time.Duration(rapid.IntRange(0, 2).Draw(t, "pause")) * time.Minute,
	}
	if rapid.Bool().Draw(t, "stages") {
		r.Stages = []site.Stage{{Name: "first", Hosts: hosts[:len(hosts)/3], Batch: []site.Amount{{N: 2}}}}
	}
	batches, err := rollout.Batches(&r, 0, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return &rollout.Plan{Batches: batches, Pause: r.Pause}
}

// plain does batch after batch, until more has failed in a stage than may: it gives who has begun.
func plain(p *rollout.Plan, fails map[string]bool) []string {
	var begun []string
	failed := map[string]int{}
	for _, b := range p.Batches {
		begun = append(begun, b.Machines...)
		for _, name := range b.Machines {
			if fails[name] {
				failed[b.Stage]++
			}
		}
		if b.Allowed.IsExceeded(failed[b.Stage], b.Total) {
			break
		}
	}
	return begun
}

// Where no host is out, who begins, and in which order, is what the plain loop gives.
func TestTurnsAreThoseOfBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := names(rapid.IntRange(0, 30).Draw(t, "hosts"))
		p := drawRollout(t, all)
		fails := map[string]bool{}
		hosts := make([]rollout.Host, len(all))
		for i, name := range all {
			fails[name] = rapid.IntRange(0, 4).Draw(t, name) == 0
			hosts[i] = rollout.Host{Name: name, State: rollout.Pending}
		}
		var at rollout.Progress
		var begun []string
		now := time.Unix(1e9, 0)
		for steps := 0; ; steps++ {
			if steps > 500 {
				t.Fatal("it does not end")
			}
			s := p.Next(now, at, hosts)
			switch s.Kind {
			case rollout.Begin:
				begun = append(begun, s.Hosts...)
				at = rollout.Progress{Turn: s.Turn}
				for i := range hosts {
					if slices.Contains(s.Hosts, hosts[i].Name) {
						hosts[i].State, hosts[i].Turn = rollout.Begun, s.Turn
					}
				}
			case rollout.Await:
				for i := range hosts {
					if hosts[i].State == rollout.Begun {
						hosts[i].State = rollout.Ready
						if fails[hosts[i].Name] {
							hosts[i].State = rollout.Failed
						}
					}
				}
			case rollout.End:
				at.Ended = now
			case rollout.Pause:
				if p.Pause == 0 || s.Until != at.Ended.Add(p.Pause) {
					t.Fatalf("a pause until %s", s.Until)
				}
				now = s.Until
			default:
				if want := plain(p, fails); !slices.Equal(begun, want) {
					t.Fatalf("%s: begun %v, want %v", s.Kind, begun, want)
				}
				return
			}
		}
	})
}

// crowd is hosts that come and go while they are rolled out to, and what has to hold then.
type crowd struct {
	*rapid.T
	plan   *rollout.Plan
	at     rollout.Progress
	hosts  []rollout.Host
	now    time.Time
	wasOut map[string]bool // when its batch began
}

// change has something happen to each host.
func (c *crowd) change() {
	for i := range c.hosts {
		h := &c.hosts[i]
		switch {
		case h.Turn == 0:
			h.State = rapid.SampledFrom([]rollout.State{rollout.Pending, rollout.Pending, rollout.Out}).Draw(c.T, h.Name)
		case h.State == rollout.Begun || h.State == rollout.Out:
			h.State = rapid.SampledFrom([]rollout.State{rollout.Begun, rollout.Ready, rollout.Ready, rollout.Failed, rollout.Out}).Draw(c.T, h.Name)
		}
	}
}

// begin checks that hosts may begin, and has them do so.
func (c *crowd) begin(s rollout.Step) {
	last, underWay := len(c.plan.Batches), 0
	if s.Turn != c.at.Turn && s.Turn != c.at.Turn+1 || s.Turn > last+1 {
		c.Fatalf("turn %d after %d", s.Turn, c.at.Turn)
	}
	for i := range c.hosts {
		h := &c.hosts[i]
		if h.State == rollout.Begun && h.Turn > 0 && h.Turn < s.Turn && h.Turn <= last && h.Turn == c.at.Turn && c.at.Ended.IsZero() {
			c.Fatalf("turn %d begins, and %s of the one before is under way", s.Turn, h.Name)
		}
		if h.Turn == last+1 && h.State == rollout.Begun {
			underWay++
		}
	}
	for i := range c.hosts {
		h := &c.hosts[i]
		mine := slices.IndexFunc(c.plan.Batches, func(b rollout.Batch) bool { return slices.Contains(b.Machines, h.Name) }) + 1
		if !slices.Contains(s.Hosts, h.Name) {
			if h.Turn == 0 && h.State == rollout.Pending && mine <= s.Turn && s.Turn <= last {
				c.Fatalf("%s is at hand and late, and is not in turn %d", h.Name, s.Turn)
			}
			c.wasOut[h.Name] = c.wasOut[h.Name] || mine == s.Turn
			continue
		}
		if h.Turn > 0 || h.State != rollout.Pending {
			c.Fatalf("%s begins: %+v", h.Name, h)
		}
		if mine != s.Turn && mine != 0 && !c.wasOut[h.Name] {
			c.Fatalf("%s of turn %d begins in %d", h.Name, mine, s.Turn)
		}
		h.State, h.Turn = rollout.Begun, s.Turn
		if s.Turn == last+1 {
			underWay++
		}
	}
	most := 1
	for _, b := range c.plan.Batches {
		if b.Stage == c.plan.Batches[last-1].Stage {
			most = max(most, len(b.Machines))
		}
	}
	if underWay > most {
		c.Fatalf("%d are under way in the open turn, which has room for %d", underWay, most)
	}
	c.at = rollout.Progress{Turn: s.Turn}
}

// hasFailed reports whether more has failed than may, up to the present turn.
func (c *crowd) hasFailed() bool {
	failed, allowed := map[string]int{}, map[string]rollout.Batch{}
	for _, b := range c.plan.Batches {
		allowed[b.Stage] = b
	}
	for _, h := range c.hosts {
		if h.State == rollout.Failed {
			failed[c.plan.Batches[min(h.Turn, len(c.plan.Batches))-1].Stage]++
		}
	}
	for stage, n := range failed {
		if b := allowed[stage]; b.Allowed.IsExceeded(n, b.Total) {
			return true
		}
	}
	return false
}

// Whatever hosts do: each begins once, in its batch or after it where it was out, none while too much has failed, and
// once all are at hand and well the rollout completes.
func TestHostsThatComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := names(rapid.IntRange(1, 12).Draw(t, "hosts"))
		c := &crowd{T: t, plan: drawRollout(t, all), now: time.Unix(1e9, 0), wasOut: map[string]bool{}}
		for _, name := range append(all, "new") {
			c.hosts = append(c.hosts, rollout.Host{Name: name, State: rollout.Pending})
		}
		for round := 0; ; round++ {
			if round < 20 {
				c.change()
			} else {
				for i := range c.hosts {
					if h := &c.hosts[i]; h.Turn == 0 {
						h.State = rollout.Pending
					} else if h.State != rollout.Failed {
						h.State = rollout.Ready
					}
				}
			}
			s := c.plan.Next(c.now, c.at, c.hosts)
			if (s.Kind == rollout.Stop) != c.hasFailed() {
				t.Fatalf("%s, failed: %t", s.Kind, c.hasFailed())
			}
			switch s.Kind {
			case rollout.Begin:
				c.begin(s)
			case rollout.End:
				c.at.Ended = c.now
			case rollout.Pause:
				c.now = s.Until
			case rollout.Halt:
				if slices.ContainsFunc(c.hosts, func(h rollout.Host) bool { return h.Turn == c.at.Turn && h.State != rollout.Out }) {
					t.Fatal("it halts although a host of the turn is not out")
				}
				c.at.Resumed = true
			case rollout.Stop:
				return
			case rollout.Complete:
				for _, h := range c.hosts {
					if h.Turn == 0 && h.State == rollout.Pending {
						t.Fatalf("complete, and %s has not begun", h.Name)
					}
				}
				if round > 20 {
					return
				}
			}
			if round > 200 {
				t.Fatalf("it does not end: %+v, %+v", s, c.at)
			}
		}
	})
}

// A clock that is set back does not hold the next batch up.
func TestPauseAndTheClock(t *testing.T) {
	p := &rollout.Plan{Pause: time.Minute}
	for i := range 2 {
		p.Batches = append(p.Batches, rollout.Batch{Number: i + 1, Of: 2, Total: 2, Machines: []string{fmt.Sprint("m", i)}})
	}
	ended := time.Unix(1e9, 0)
	at := rollout.Progress{Turn: 1, Ended: ended}
	hosts := []rollout.Host{{Name: "m0", State: rollout.Ready, Turn: 1}, {Name: "m1", State: rollout.Pending}}
	for after, want := range map[time.Duration]rollout.Kind{0: rollout.Pause, 59 * time.Second: rollout.Pause, time.Minute: rollout.Begin, -time.Hour: rollout.Begin} {
		if s := p.Next(ended.Add(after), at, hosts); s.Kind != want {
			t.Errorf("%s after it: %s, want %s", after, s.Kind, want)
		}
	}
}
