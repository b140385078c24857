package agent

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Wherever the process is killed or the power is cut, between any two writes: the agent acts on nothing that it has not durably, says so of nothing,
// and ends up with what is wanted last, of which the server knows without a hole.
func TestDeathBetweenAnyTwoWrites(t *testing.T) {
	for _, power := range []bool{false, true} {
		cut := 0
		for dead := true; dead && !t.Failed(); {
			cut++
			synctest.Test(t, func(t *testing.T) {
				dead = surviveCut(t, cut, power)
				if t.Failed() {
					t.Logf("the disk has failed at its change %d (power: %v)", cut, power)
				}
			})
		}
		if cut < 25 {
			t.Errorf("the agent has changed the disk only %d times", cut)
		}
	}
}

// surviveCut has an agent live until its disk fails, and another one after it. It tells whether the first one has come so far.
func surviveCut(t *testing.T, cut int, power bool) (dead bool) {
	w := newWorld(t)
	w.disk.cutAt = cut
	first := w.live()
	dead = w.disk.isDead()
	if power {
		w.disk = w.disk.restart(rand.New(rand.NewPCG(uint64(cut), 1)))
	} else {
		w.disk = w.disk.kill()
	}
	w.mustStart()
	second := w.assign("db", "2")
	w.wait(5 * time.Minute)
	w.expectConverged("shop", "2", first)
	w.expectConverged("db", "2", second)
	if s := w.host.Streams[len(w.host.Streams)-1]; s.Stored != w.agent.stream.queue.Last() {
		t.Errorf("the server has %d of %d items", s.Stored, w.agent.stream.queue.Last())
	}
	w.end()
	return dead
}

// live runs an agent that gets some work, until its disk fails or there is nothing more to do.
func (w *world) live() (at trust.Position) {
	if err := w.start(); err != nil {
		if !errors.Is(err, errDead) {
			w.t.Error(err)
		}
		w.assign("shop", "1")
		return w.assign("shop", "2")
	}
	w.assign("shop", "1")
	w.assign("db", "1")
	w.wait(time.Minute)
	w.machine.drift("db")
	at = w.assign("shop", "2")
	w.wait(34 * time.Minute)
	w.end()
	return at
}
