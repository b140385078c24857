package control

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// exchange has the server answer a Hello and whatever Hello follows, and gives the last one, and how many there were.
func (p *pair) exchange(out Output) (last *Hello, n int) {
	p.Helper()
	for {
		i := slices.IndexFunc(out.Send, func(m Message) bool { _, is := m.(*Hello); return is })
		if i < 0 {
			return last, n
		}
		if n++; n > 10 {
			p.Fatal("the agent says Hello again and again")
		}
		data, err := Encode(out.Send[i])
		if err != nil {
			p.Fatal(err)
		}
		m, err := Decode(data)
		if err != nil {
			p.Fatal(err)
		}
		last = m.(*Hello)
		out = p.agent.Receive(0, p.answer(last))
	}
}

// An agent tells, by one Hello more, why it does not take up what it is given, and no longer than that is so.
func TestObjections(t *testing.T) {
	p := newPair(t)
	now := time.Unix(100, 0) // what sign gives is not accepted any more then
	p.agent.Clock = func() time.Time { return now }
	at := p.assign()
	last, n := p.exchange(p.agent.Connect(0))
	if list := last.Objections(); n != 2 || len(list) != 1 || list[0].Site != "a" || list[0].Position != at || list[0].Code != ObjectionClock || !strings.Contains(list[0].Why, "the clock here says") || list[0].Cure() == "" {
		t.Fatalf("after %d Hellos it objects %+v", n, list)
	}
	now = time.Unix(200, 0)
	if last, n := p.exchange(p.agent.Connect(0)); n != 1 || len(last.Objections()) != 1 {
		t.Errorf("%d Hellos say the same", n)
	}
	now, p.agent.Sealing = time.Unix(0, 0), "age2"
	if last, n := p.exchange(p.agent.Connect(0)); n != 2 || last.Objections()[0].Code != ObjectionSealing {
		t.Errorf("%d Hellos, and it objects %+v", n, last.Objections())
	}
	target := p.row.Targets["a"]
	p.row.Targets["a"] = Target{Position: at, Signed: p.sign(p.row.ID, at, newKey(t))}
	if last, n := p.exchange(p.agent.Connect(0)); n != 2 || last.Objections()[0].Code != ObjectionTrust {
		t.Errorf("%d Hellos, and it objects %+v", n, last.Objections())
	}
	p.row.Targets["a"], p.agent.Sealing = target, "age1"
	if last, _ := p.exchange(p.agent.Connect(0)); len(last.Refused) != 0 || p.row.Held["a"].Position != at {
		t.Errorf("it holds %+v, and objects %+v", p.row.Held, last.Refused)
	}
}

// What the disk does not take is told, and that nothing more can be told; both until it does.
func TestStorageObjections(t *testing.T) {
	p := newPair(t)
	full := errors.New("no space left on device")
	at := p.assign()
	out := p.agent.Receive(0, p.answer(p.hello(p.agent.Connect(0))))
	p.agent.CannotKeep(&out, full)
	delete(p.agent.Held, "a")
	p.agent.Disconnect()
	hello := p.hello(p.agent.Connect(0))
	if list := hello.Objections(); len(list) != 1 || list[0].Code != ObjectionStorage || list[0].Position != at || list[0].Site != "a" {
		t.Errorf("it objects %+v", list)
	}
	if last, _ := p.exchange(p.agent.Receive(0, p.answer(hello))); len(last.Refused) != 0 {
		t.Errorf("it is kept, and it objects %+v", last.Refused)
	}
	if last, n := p.exchange(p.agent.Untold(0, full)); n != 1 || last.Objections()[0].Site != "" {
		t.Errorf("after %d Hellos it objects %+v", n, last)
	}
	if out := p.agent.Untold(0, full); len(out.Send) != 0 {
		t.Error("it is told twice")
	}
	if last, n := p.exchange(p.agent.Untold(0, nil)); n != 1 || len(last.Refused) != 0 {
		t.Errorf("after %d Hellos it objects %+v", n, last)
	}
}

// A server takes in so much of it and no more.
func TestObjectionsAreBounded(t *testing.T) {
	m := &Hello{Refused: []Objection{{Site: strings.Repeat("s", 201)}, {Site: "a", Code: "x"}, {Site: "a", Code: "x"}}}
	for n := range 1000 {
		m.Refused = append(m.Refused, Objection{Site: "b", Position: trust.Position{Epoch: 1, N: uint64(n + 1)}, Why: strings.Repeat("é", 5000)})
	}
	list := m.Objections()
	if len(list) != maxObjections || list[0].Site != "a" || list[1].Site != "b" {
		t.Fatalf("%d: %+v", len(list), list[:2])
	}
	if why := list[1].Why; len(why) > maxObjectionWhy+10 || strings.ContainsRune(why, '\uFFFD') {
		t.Errorf("%q", why)
	}
}
