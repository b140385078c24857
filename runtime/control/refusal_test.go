package control

import (
	"testing"
	"time"
)

// batchesOf gives the batches among what an agent sends.
func batchesOf(out Output) (list []*Batch) {
	for _, m := range out.Send {
		if b, ok := m.(*Batch); ok {
			list = append(list, b)
		}
	}
	return list
}

// An agent whose batch is refused keeps it, gives signs of life meanwhile, and tells it again when the time has come, and not before; nobody has it wait
// for longer than an hour.
func TestBatchRefused(t *testing.T) {
	for _, test := range []struct{ asked, waits time.Duration }{{10 * time.Minute, 10 * time.Minute}, {0, Patience}, {-time.Hour, Patience}, {1 << 62, time.Hour}} {
		p := newPair(t)
		p.agent.Queue.Append(10)
		p.open()
		now := time.Duration(0)
		batch := batchesOf(p.agent.Tick(now)) // open has told it already, or this does
		if len(batch) > 0 {
			t.Fatal("it was not told at once")
		}
		refusal := &Refusal{Session: p.agent.Session(), Why: "full", RetryAfter: test.asked}
		if out := p.agent.Receive(now, refusal); len(batchesOf(out)) > 0 {
			t.Errorf("%v: it is told again at once", test.asked)
		}
		p.agent.Queue.Append(10)
		if len(batchesOf(p.agent.Append(now))) > 0 {
			t.Errorf("%v: what comes meanwhile is told", test.asked)
		}
		pulses := 0
		for ; now < test.waits; now += time.Second {
			out := p.agent.Tick(now)
			if len(batchesOf(out)) > 0 {
				t.Fatalf("%v: it is told again after %v", test.asked, now)
			}
			for _, m := range out.Send {
				if _, ok := m.(*Pulse); ok {
					pulses++
				}
			}
		}
		if want := int((test.waits - 1) / Heartbeat); pulses < want {
			t.Errorf("%v: %d signs of life meanwhile, want %d", test.asked, pulses, want)
		}
		if again := batchesOf(p.agent.Tick(now)); len(again) != 1 || again[0].First != 1 || again[0].Last != 2 {
			t.Errorf("%v: then it tells %+v", test.asked, again)
		}
		p.agent.Receive(now, refusal)
		p.agent.Disconnect()
		p.agent.Connect(now)
		if out := p.agent.Receive(now, &Answer{Session: p.agent.Session(), Version: Version, Term: 5}); len(batchesOf(out)) > 0 {
			t.Errorf("%v: another connection to the same server tells at once", test.asked)
		}
		p.agent.Connect(now)
		if out := p.agent.Receive(now, &Answer{Session: p.agent.Session(), Version: Version, Term: 6}); len(batchesOf(out)) != 1 {
			t.Errorf("%v: a server that has started since is told nothing", test.asked)
		}
	}
}

// A Hello that is refused for a while is said again after that.
func TestHelloRefusedForAWhile(t *testing.T) {
	p := newPair(t)
	p.agent.Connect(0)
	p.agent.Receive(0, &Refusal{Session: p.agent.Session(), Why: "later", RetryAfter: 10 * time.Minute})
	for seconds := range 10 * 60 {
		if out := p.agent.Tick(time.Duration(seconds) * time.Second); len(out.Send) > 0 {
			t.Fatalf("%T is said after %d seconds", out.Send[0], seconds)
		}
	}
	if out := p.agent.Tick(10 * time.Minute); len(out.Send) != 1 {
		t.Error("it is not said again")
	}
}
