package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// What a renewal has brought counts for the agent without a new connection, and it tells the server.
func TestAgentTakesTrustOfARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		w.wait(time.Minute)
		chain, err := w.chain()
		if err != nil {
			t.Fatal(err)
		}
		next := *chain.Newest()
		next.Number++
		signed, err := trust.Sign(trust.KindDocument, next, w.server)
		if err != nil {
			t.Fatal(err)
		}
		w.later = append(w.later, signed)
		w.agent.TakeTrust()
		w.wait(time.Second)
		w.mu.Lock()
		known, session := w.host.Trust.Number, w.host.Session
		w.mu.Unlock()
		if now := w.agent.chain().Newest().Number; now != 2 || known != 2 {
			t.Errorf("the agent judges by document %d, and the server knows of %d", now, known)
		}
		w.agent.TakeTrust() // nothing is new
		w.wait(time.Second)
		w.mu.Lock()
		if w.host.Session != session {
			t.Error("it says Hello for nothing")
		}
		w.mu.Unlock()
		w.end()
	})
}
