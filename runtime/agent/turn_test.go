package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
)

// Each assignment that comes begins a session. What a server has answered to a claim before it knew of that counts nevertheless: nobody waits until the answer is taken
// for lost.
func TestTurnOfFormerSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		w.wait(time.Second)
		claimed := 0
		w.turn = func(c *control.Claim) *control.Turn {
			if claimed++; claimed > 1 {
				return nil
			}
			w.lose = func(m control.Message) bool { _, isTurn := m.(*control.Turn); return isTurn }
			go func() {
				w.assign("shop", "1")
				time.Sleep(time.Second) // by now the agent has said that it holds it
				w.mu.Lock()
				defer w.mu.Unlock()
				w.lose = nil
				w.send(w.answerClaim(c))
			}()
			return nil
		}
		w.assign("db", "1")
		w.wait(turnWait / 2)
		for _, site := range []string{"db", "shop"} {
			if l := w.loop(site); l.Phase != control.PhaseWaiting {
				t.Errorf("%s is %+v after %d claims", site, l, claimed)
			}
		}
		w.end()
	})
}
