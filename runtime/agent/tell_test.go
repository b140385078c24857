package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// stored gives how far the server has the stream of the agent.
func (w *world) stored() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.host.Streams[len(w.host.Streams)-1].Stored
}

// expectWhole demands that the server has all items from one on to the last.
func (w *world) expectWhole(from uint64) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.agent.stream.queue
	for n := from; n <= q.Last(); n++ {
		if _, ok := w.items[q.Stream][n]; !ok {
			w.t.Errorf("the server lacks item %d of %d to %d", n, q.First(), q.Last())
			return
		}
	}
}

// A server that has lost the end of what it had, and begins anew, is told it again.
func TestServerThatLostItsTailIsRefilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Minute)
		w.mu.Lock()
		s := &w.host.Streams[0]
		for n := uint64(3); n <= s.Stored; n++ {
			delete(w.items[s.ID], n)
		}
		s.Stored, w.core.Term = 2, 2
		w.mu.Unlock()
		w.wait(3 * time.Minute) // it is noticed by a sign of life
		w.expectWhole(1)
		w.end()
	})
}

// What a server says falsely of how far it has the stream, in answers and acknowledgements, costs nothing once it says the truth.
func TestFalseAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Minute)
		for _, lie := range []uint64{1 << 62, 0, 1, 1000} {
			batches := 0
			w.mu.Lock()
			w.lose = func(m control.Message) bool {
				switch m := m.(type) {
				case *control.Answer:
					m.Stored = lie
				case *control.Stored:
					m.Through = lie
				case *control.Batch:
					batches++
				}
				return false
			}
			w.mu.Unlock()
			w.reconnect()
			w.wait(time.Second)
			for n := range 2 {
				w.assign("shop", fmt.Sprint(2+n))
				w.wait(3 * time.Minute)
			}
			w.mu.Lock()
			w.lose = nil
			w.mu.Unlock()
			if batches < 2 { // what is new is told all the same
				t.Errorf("a server that has all to %d is told %d batches", lie, batches)
			}
			w.reconnect()
			w.wait(3 * time.Minute)
			w.expectWhole(1)
		}
		w.end()
	})
}

// Whatever single message is lost, all gets through, since it is said again.
func TestLostMessages(t *testing.T) {
	for _, kind := range []control.Message{&control.Hello{}, &control.Answer{}, &control.Batch{}, &control.Stored{}, &control.Wake{}, &control.Claim{}, &control.Turn{}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			lost := 0
			w.lose = func(m control.Message) bool {
				if fmt.Sprintf("%T", m) == fmt.Sprintf("%T", kind) && lost < 2 {
					lost++
					return true
				}
				return false
			}
			w.mustStart()
			w.wait(time.Second)
			at := w.assign("shop", "1")
			w.wait(5 * time.Minute)
			w.expectConverged("shop", "1", at)
			w.expectWhole(1)
			if w.end(); lost == 0 || t.Failed() {
				t.Errorf("%T was lost %d times", kind, lost)
			}
		})
	}
}

// A host that was away for so long that it has let go of what it had to tell says so, and tells again how things stand: its facts, its newest
// report, and its loops.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limits = streamLimits{kept: 6 << 10, segment: 1 << 10}
		at := w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Minute)
		w.setCut(true)
		stored := w.stored()
		w.agent.keeper.tellOutputs("shop", map[string]json.RawMessage{"port": json.RawMessage("80")})
		w.assign("shop", "2")
		w.machine.mu.Lock()
		w.machine.facts["kernel"] = "6.12"
		w.machine.mu.Unlock()
		for range 40 { // what is told goes, and then the loop says nothing new
			w.machine.drift("shop")
			w.wait(40 * time.Minute)
		}
		for n := range 100 {
			w.agent.teller.tell(control.Item{Event: &control.Event{Site: "shop", Run: "x", Event: json.RawMessage(fmt.Sprint(n))}})
			w.wait(time.Second)
		}
		if first := w.agent.stream.queue.First(); first <= stored+1 {
			t.Fatalf("the agent has all from %d on, and the server to %d", first, stored)
		}
		w.host.Targets["shop"] = control.Target{Position: at, Signed: w.agent.core.Held["shop"].Signed}
		w.setCut(false)
		w.wait(5 * time.Minute)
		q := w.agent.stream.queue
		if w.stored() != q.Last() {
			t.Errorf("the server has %d of %d", w.stored(), q.Last())
		}
		w.expectWhole(q.First())
		var facts, report, loop, outputs bool
		for _, i := range w.told() {
			facts = facts || i.Facts != nil && strings.Contains(string(i.Facts.Signed.Content), "6.12")
			report = report || i.Run != nil && i.Run.Report != nil && i.At.Sub(i.Run.Ended) > time.Minute
			outputs = outputs || i.Outputs != nil && string(i.Outputs.Values["port"]) == "80"
			loop = loop || i.Loop != nil && i.Loop.Phase == control.PhaseWaiting
		}
		if !facts || !report || !loop || !outputs {
			t.Errorf("after the gap the server knows facts: %v, report: %v, loop: %v, outputs: %v", facts, report, loop, outputs)
		}
		w.end()
	})
}

// Facts are told when they change, each time with a higher number, whatever the clock says.
func TestFactsAreNumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		clock := time.Now()
		w.clock = func() time.Time { return clock }
		var numbers []uint64
		for n, at := range []time.Time{clock, clock.AddDate(-30, 0, 0), time.Unix(0, 0), clock.AddDate(60, 0, 0), clock} {
			clock = at
			w.mustStart()
			w.machine.mu.Lock()
			w.machine.facts["n"] = n
			w.machine.mu.Unlock()
			w.wait(25 * time.Minute)
			w.end()
			w.disk = w.disk.restart(nil)
		}
		for _, i := range w.told() {
			if i.Facts == nil {
				continue
			}
			r, err := trust.Open[control.FactsReport](i.Facts.Signed, trust.KindReport, w.identity.Public())
			if err != nil {
				t.Fatal(err)
			}
			if len(numbers) > 0 && r.Number <= numbers[len(numbers)-1] {
				t.Errorf("%d comes after %v", r.Number, numbers)
			}
			numbers = append(numbers, r.Number)
		}
		if len(numbers) < 5 || len(numbers) > 10 {
			t.Errorf("facts were told %d times", len(numbers))
		}
	})
}

// What is not signed for this host by a key that may assign, or comes before what it has, changes nothing, and is told.
func TestForeignAssignments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.assign("shop", "2")
		w.mustStart()
		w.wait(time.Minute)
		good := w.agent.core.Held["shop"].Assignment
		for name, change := range map[string]func(a *trust.Assignment) trust.PrivateKey{
			"another host":    func(a *trust.Assignment) trust.PrivateKey { a.Host = newKey(t).ID(); return w.server },
			"another signer":  func(a *trust.Assignment) trust.PrivateKey { return newKey(t) },
			"the host itself": func(a *trust.Assignment) trust.PrivateKey { return w.identity },
			"an old number":   func(a *trust.Assignment) trust.PrivateKey { a.Position = at; return w.server },
			"an old epoch":    func(a *trust.Assignment) trust.PrivateKey { a.Epoch = 0; return w.server },
			"too late":        func(a *trust.Assignment) trust.PrivateKey { a.Until = time.Now().Add(-time.Hour); return w.server },
			"another key":     func(a *trust.Assignment) trust.PrivateKey { a.Recipient = "age1x"; return w.server },
		} {
			a := good
			a.Position.N += 10
			a.Revision = "3"
			key := change(&a)
			signed, err := trust.Sign(trust.KindAssignment, a, key)
			if err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			before := len(w.logs)
			sent := false
			w.lose = func(m control.Message) bool {
				if answer, ok := m.(*control.Answer); ok && !sent {
					answer.Assignments, sent = []*trust.Signed{signed}, true
				}
				return false
			}
			w.mu.Unlock()
			w.reconnect()
			w.wait(time.Minute)
			if held := w.agent.core.Held["shop"]; held.Position != at || len(w.logs) == before || w.machine.version("shop") != "2" {
				t.Errorf("%s: it holds %s, and has said %v", name, held.Position, w.logs[before:])
			}
		}
		w.end()
	})
}
