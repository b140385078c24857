package deploy

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// block has the plans of a host go on until the returned function is called, or their context ends. Begun gets something for each.
func (p *place) block(host trust.ID) (begun chan trust.ID, release func()) {
	begun = make(chan trust.ID, 100)
	end := make(chan struct{})
	p.stuck = func(ctx context.Context, id trust.ID) {
		if id != host {
			return
		}
		begun <- id
		select {
		case <-end:
		case <-ctx.Done():
		}
	}
	return begun, sync.OnceFunc(func() { close(end) })
}

// rounds goes on, without waiting for plans, until something is so.
func (p *place) rounds(what string, isSo func() bool) {
	p.t.Helper()
	for begin := time.Now(); !isSo(); {
		if time.Since(begin) > time.Minute {
			p.t.Fatalf("not so after a minute of rounds: %s", what)
		}
		_, err := p.Service.Round(p.t.Context())
		p.must(err)
		p.live()
	}
}

// A host that does not end its plan holds up neither the deployments of other sites nor other hosts of its own one, and does not plan twice at once.
func TestStuckPlan(t *testing.T) {
	p := newPlace(t, "web1", "web2", "web3")
	begun, release := p.block(p.id("web2"))
	t.Cleanup(func() { release(); p.plans.all.Wait() })
	p.away[p.id("web2")], p.away[p.id("web3")] = p.now, p.now
	s := shop("one", "web1", "web2", "web3")
	s.Rollout = nil
	d := p.deploy(s, Request{Consent: Start})
	p.settle()
	_, err := p.Approve(t.Context(), p.ann, d.ID, p.expect(d.ID, Planned, CodeStart).Plan.Digest, "")
	p.must(err)
	p.away = map[trust.ID]time.Time{}
	p.rounds("web3 has its turn, and web2 plans", func() bool {
		_, isReady := p.loops[p.id("web3")]
		return isReady && len(begun) > 0
	})
	other := p.deploy(toySite{Name: "other", Hosts: []string{"web1"}, Content: "two"}, Request{})
	p.rounds("the other site is deployed", func() bool { return p.get(other.ID).Phase == Done })
	if _, isReady := p.loops[p.id("web2")]; isReady || len(begun) != 1 {
		t.Errorf("web2 has planned %d times, and begun: %v", len(begun), isReady)
	}
	release()
	p.settle()
	if h := p.get(d.ID).host(p.id("web2")); h.Turn == 0 {
		t.Errorf("web2 has planned: %+v", h)
	}
}

// However many hosts plan, so many do at a time, each once; and what is not wanted any more does not begin.
func TestPlansAtOnce(t *testing.T) {
	var names []string
	for i := range plansAtOnce + 4 {
		names = append(names, fmt.Sprint("web", i))
	}
	p := newPlace(t, names...)
	end := make(chan struct{})
	var mu sync.Mutex
	counts := map[trust.ID]int{}
	p.stuck = func(ctx context.Context, id trust.ID) {
		mu.Lock()
		counts[id]++
		mu.Unlock()
		<-end
	}
	release := sync.OnceFunc(func() { close(end) })
	t.Cleanup(func() { release(); p.plans.all.Wait() })
	begun := func() int { mu.Lock(); defer mu.Unlock(); return len(counts) }
	first := p.deploy(shop("one", names...), Request{Consent: Start})
	p.rounds("as many plan as may", func() bool { return begun() == plansAtOnce })
	for range 3 {
		_, err := p.Service.Round(t.Context())
		p.must(err)
	}
	if n := begun(); n != plansAtOnce {
		t.Errorf("%d hosts plan at once", n)
	}
	_, err := p.Abort(t.Context(), p.ann, first.ID, "")
	p.must(err)
	_, err = p.Service.Round(t.Context())
	p.must(err)
	release()
	p.plans.all.Wait()
	if n := begun(); n != plansAtOnce {
		t.Errorf("%d hosts have planned for a deployment that was aborted meanwhile", n)
	}
	second := p.deploy(shop("two", names...), Request{Consent: Start})
	p.settle()
	if plan := p.expect(second.ID, Planned, CodeStart).Plan; len(plan.Hosts) != len(names) {
		t.Errorf("%d hosts are in the plan", len(plan.Hosts))
	}
	for id, n := range counts {
		if n > 2 {
			t.Errorf("%s has planned %d times for two deployments", id, n)
		}
	}
}

// Whoever ends the driver ends the plans with it, and no plan is kept that was cut off by that.
func TestPlansEndWithTheDriver(t *testing.T) {
	p := newPlace(t, "web1")
	begun, release := p.block(p.id("web1"))
	t.Cleanup(release)
	d := p.deploy(shop("one", "web1"), Request{Consent: Start})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx, func(err error) { t.Error(err) }) }()
	<-begun
	cancel()
	<-ended
	p.stuck = nil
	p.settle()
	if plan := p.expect(d.ID, Planned, CodeStart).Plan; len(plan.Hosts) != 1 {
		t.Errorf("%+v", plan)
	}
}
