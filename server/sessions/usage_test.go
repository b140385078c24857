package sessions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/broker/memory"
)

// flood tells of events without end, until the server answers something else than that they are stored.
func (f *fleet) flood(a *rawAgent, session string) (sent int64, refusal *control.Refusal, last uint64) {
	f.t.Helper()
	text, err := json.Marshal(strings.Repeat("x", control.MaxBatchBytes))
	if err != nil {
		f.t.Fatal(err)
	}
	for n := uint64(1); ; n++ {
		data := item(f.t, control.Item{Event: &control.Event{Site: "shop", Run: fmt.Sprint("run", n), Event: text}})
		a.send(&control.Batch{Session: session, Stream: "raw", First: n, Last: n, Items: [][]byte{data}})
		switch m := (<-a.got).(type) {
		case *control.Stored:
			sent += int64(len(data))
			if sent > 100<<20 {
				f.t.Fatalf("%d MiB were taken in", sent>>20)
			}
		case *control.Refusal:
			return sent, m, n
		default:
			f.t.Fatalf("the batch is answered by %T", m)
		}
	}
}

// A host that tells without end is told to wait, with the cause and for how long; others go on, the operator sees it, a start of the server changes nothing
// about it, and later the host is heard again.
func TestQuota(t *testing.T) {
	var offset atomic.Int64
	f := newFleet(t, func(f *fleet) {
		f.quota, f.burst, f.clock = 24<<20, 8<<20, func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	})
	h, a := f.raw("web1")
	id := h.key.Public().ID()
	sent, refusal, next := f.flood(a, a.hello(1<<20))
	if sent < 6<<20 || sent > 9<<20 {
		t.Errorf("after %d MiB it is refused", sent>>20)
	}
	if !strings.Contains(refusal.Why, "quota of 24 MiB a day") || !strings.Contains(refusal.Why, "--host-quota") || refusal.RetryAfter < time.Minute || refusal.RetryAfter > time.Hour {
		t.Errorf("%+v", refusal)
	}
	if l := f.sessions.Status(id).Limit; l == nil || l.Why != refusal.Why || !l.Until.After(l.Since) || f.sessions.Counts().Limited != 1 || f.sessions.Counts().Refused != 1 {
		t.Errorf("the operator sees %+v, %+v", l, f.sessions.Counts())
	}
	_, other := f.raw("web2")
	other.send(&control.Batch{Session: other.hello(1), Stream: "raw", First: 1, Last: 1, Items: [][]byte{aLoop(t)}})
	if s := answer[*control.Stored](other); s.Through != 1 {
		t.Errorf("of another host it is stored through %d", s.Through)
	}
	f.broker.Close()
	f.broker = memory.New()
	f.open(2)
	a = f.speak(h)
	batch := &control.Batch{Session: a.hello(1 << 20), Stream: "raw", First: next, Last: next, Items: [][]byte{item(t, control.Item{Event: &control.Event{Run: "r", Event: json.RawMessage(`"` + strings.Repeat("y", control.MaxBatchBytes) + `"`)}})}}
	a.send(batch)
	answer[*control.Refusal](a)
	offset.Store(int64(2 * time.Hour))
	a.send(batch)
	if s := answer[*control.Stored](a); s.Through != next || f.sessions.Status(id).Limit != nil {
		t.Errorf("it is stored through %d, and %+v", s.Through, f.sessions.Status(id).Limit)
	}
}

// While there is no room nothing is taken in, and nobody is told that it was.
func TestFull(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	session := a.hello(1)
	f.full.Store(true)
	batch := &control.Batch{Session: session, Stream: "raw", First: 1, Last: 1, Items: [][]byte{aLoop(t)}}
	a.send(batch)
	a.send(&control.Pulse{Session: session, Term: 99}) // it is answered after the batch
	if m := answer[*control.Refusal](a); m.Session != session || m.RetryAfter < time.Minute || !strings.Contains(m.Why, "no room") {
		t.Errorf("the batch is answered by %+v", m)
	}
	if m, ok := (<-a.got).(*control.Wake); !ok {
		t.Errorf("the sign of life is answered by %+v", m)
	}
	id := h.key.Public().ID()
	if l := f.sessions.Status(id).Limit; l == nil || !strings.Contains(l.Why, "no room") {
		t.Errorf("it is limited: %+v", l)
	}
	batch.Session = "former"
	a.send(batch) // who says Hello anyway need not be told
	batch.Session = session
	f.full.Store(false)
	a.send(batch)
	if s := answer[*control.Stored](a); s.Through != 1 {
		t.Errorf("it is stored through %d", s.Through)
	}
	if n := len(a.got); n != 0 {
		t.Errorf("%d more answers came", n)
	}
}
