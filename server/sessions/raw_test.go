package sessions_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/sessions"
)

// rawAgent speaks for a host as it likes.
type rawAgent struct {
	t    *testing.T
	link link.Link
	got  chan control.Message
}

// raw makes a host whose agent the test speaks for.
func (f *fleet) raw(name string) (*subject, *rawAgent) {
	f.t.Helper()
	h := f.enroll(name)
	return h, f.speak(h)
}

// speak connects for a host.
func (f *fleet) speak(h *subject) *rawAgent {
	f.t.Helper()
	a := &rawAgent{t: f.t, got: make(chan control.Message, 100)}
	connected := make(chan struct{}, 1)
	a.link = f.broker.Dial(link.Address{Host: h.key.Public().ID(), Instance: rand.Text()}, link.Handler{
		Connected: func() { connected <- struct{}{} }, Disconnected: func(error) {},
		Receive: func(p link.Packet) {
			if m, err := control.Decode(p.Data); err == nil {
				a.got <- m
			}
		},
	})
	f.t.Cleanup(func() { a.link.Close() })
	<-connected
	return a
}

func (a *rawAgent) send(m control.Message) {
	a.t.Helper()
	data, err := control.Encode(m)
	if err == nil {
		err = a.link.Send(link.Packet{Data: data})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// answer waits for a message of a type.
func answer[M control.Message](a *rawAgent) M {
	a.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case m := <-a.got:
			if one, ok := m.(M); ok {
				return one
			}
		case <-limit:
			a.t.Fatalf("there is no %T", *new(M))
		}
	}
}

func (a *rawAgent) hello(last uint64) string {
	session := rand.Text()
	a.send(&control.Hello{Versions: []int{control.Version}, Session: session, Stream: "raw", First: 1, Last: last})
	answer[*control.Answer](a)
	return session
}

func item(t *testing.T, i control.Item) []byte {
	t.Helper()
	i.At = time.Now()
	data, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func aLoop(t *testing.T) []byte {
	return item(t, control.Item{Loop: &control.Loop{Site: "shop", Phase: control.PhaseWaiting, Condition: control.ConditionConverged}})
}

// What a host tells is stored once, in its order, and what makes no sense keeps nothing else from being taken in.
func TestBatches(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	id := h.key.Public().ID()
	session := a.hello(9)
	run := func(n string) []byte {
		return item(t, control.Item{Run: &control.Run{Site: "shop", Run: n, Started: time.Now()}})
	}
	event := func(text string) []byte {
		return item(t, control.Item{Event: &control.Event{Site: "shop", Run: "r1", Event: json.RawMessage(`{"text":"` + text + `"}`)}})
	}
	send := func(first uint64, items ...[]byte) uint64 {
		t.Helper()
		a.send(&control.Batch{Session: session, Stream: "raw", First: first, Last: first + uint64(len(items)) - 1, Items: items})
		return answer[*control.Stored](a).Through
	}
	for _, step := range []struct {
		first uint64
		items [][]byte
		want  uint64
	}{
		{1, [][]byte{run("r1"), event("one")}, 2},
		{1, [][]byte{run("r1"), event("one")}, 2}, // again: its answer was lost
		{4, [][]byte{event("four")}, 2},           // one lacks before it
		{3, [][]byte{[]byte("{"), []byte("null"), []byte(`{"run":{}}`), event("two")}, 6},
		// What no store keeps, and what is too long, holds nothing up.
		{7, [][]byte{item(t, control.Item{Run: &control.Run{Site: "shop", Run: "r1", Started: time.Now(), Error: "a\x00b"}}), run("r\x00"),
			item(t, control.Item{Run: &control.Run{Site: "sh\x00p", Run: "r3", Started: time.Now()}}),
			item(t, control.Item{Loop: &control.Loop{Site: "shop", Phase: control.PhaseWaiting, Reason: "c\x00d"}}),
			item(t, control.Item{Event: &control.Event{Site: strings.Repeat("x", 5000), Run: "r1", Event: json.RawMessage(`{"text":"long"}`)}}),
			item(t, control.Item{Event: &control.Event{Site: "s\x00", Run: "r1", Event: json.RawMessage(`{"text":"nul"}`)}}),
			item(t, control.Item{Update: &control.Update{Version: "1\x00"}})}, 13},
	} {
		if got := send(step.first, step.items...); got != step.want {
			t.Errorf("from %d on it is stored through %d, not %d", step.first, got, step.want)
		}
	}
	a.send(&control.Batch{Session: "another", Stream: "raw", First: 14, Last: 14, Items: [][]byte{run("r2")}})
	if got := send(14, event("three")); got != 14 {
		t.Errorf("it is stored through %d", got)
	}
	part, err := f.sessions.Runs(t.Context(), sessions.RunFilter{Hosts: []trust.ID{id}})
	runs := part.Runs
	if err != nil || len(runs) != 1 || runs[0].Error != "a\uFFFDb" {
		t.Errorf("the runs are %+v: %v", runs, err)
	}
	events, err := f.sessions.Events(t.Context(), id, "r1")
	if want := "{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}\n"; err != nil || string(events) != want {
		t.Errorf("the events are %q: %v", events, err)
	}
}

// A host gets contents that are wanted of it, and no others, whoever else may have them.
func TestClaims(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	a.hello(0)
	f.want(h, greeting, map[string]string{"page.html": "<p>"})
	answer[*control.Wake](a)
	session := a.hello(0)
	var own []trust.Digest
	for d := range f.contents {
		own = append(own, d)
	}
	for name, c := range map[string]*control.Claim{
		"another's": {Session: session, Site: "shop", Contents: append([]trust.Digest{trust.DigestOf([]byte("secret"))}, own...)},
		"of a site": {Session: session, Site: "other", Contents: own},
		"too many":  {Session: session, Site: "shop", Contents: make([]trust.Digest, control.MaxClaim+1)},
	} {
		a.send(c)
		if turn := answer[*control.Turn](a); len(turn.Tickets) > 0 || turn.RetryAfter > 0 || !strings.Contains(turn.Why, "not wanted") {
			t.Errorf("%s: it gets %+v", name, turn)
		}
	}
	a.send(&control.Claim{Session: "another", Site: "shop", Contents: own})
	a.send(&control.Claim{Session: session, Site: "shop", Contents: own})
	if turn := answer[*control.Turn](a); len(turn.Tickets) != len(own) || len(own) == 0 {
		t.Errorf("it gets %+v for %d contents", turn, len(own))
	}
	if n := len(a.got); n != 0 {
		t.Errorf("%d more answers came", n)
	}
}

// Where too many hosts fetch, others wait: who came first gets the next turn as soon as it is free, also in a session that has begun meanwhile.
func TestClaimsWait(t *testing.T) {
	f := newFleet(t)
	f.starts = 1
	type waiting struct {
		*rawAgent
		session string
	}
	var agents []*waiting
	var contents []trust.Digest
	known := map[trust.Digest]bool{}
	for _, name := range []string{"web1", "web2", "web3"} {
		h, a := f.raw(name)
		a.hello(0)
		f.want(h, greeting, map[string]string{"page.html": "<p>"})
		answer[*control.Wake](a)
		agents = append(agents, &waiting{a, a.hello(0)})
		for d := range f.contents {
			if !known[d] && len(contents) < len(agents) {
				contents = append(contents, d)
			}
			known[d] = true
		}
	}
	claim := func(n int) {
		agents[n].send(&control.Claim{Session: agents[n].session, Site: "shop", Contents: contents[n : n+1]})
	}
	takeTurn := func(n int) {
		if turn := answer[*control.Turn](agents[n].rawAgent); len(turn.Tickets) != 1 || turn.Session != agents[n].session {
			t.Fatalf("host %d gets %+v", n, turn)
		}
	}
	claim(0)
	takeTurn(0)
	for n, a := range agents[1:] {
		claim(n + 1)
		a.session = a.hello(0) // which is answered after the claim was taken in
	}
	for n := range agents {
		if n > 0 {
			takeTurn(n)
		}
		for _, later := range agents[n+1:] {
			if len(later.got) > 0 {
				t.Errorf("a host that came after host %d has its turn with it", n)
			}
		}
		agents[n].send(&control.Claim{Session: agents[n].session, Site: "shop"})
	}
}

// Facts count only as the host itself has signed them.
func TestForgedFacts(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	id, other := h.key.Public().ID(), newKey(t)
	session := a.hello(3)
	sign := func(r control.FactsReport, key trust.PrivateKey) []byte {
		r.Facts = map[string]json.RawMessage{"hostname": json.RawMessage(`"evil"`)}
		signed, err := trust.Sign(trust.KindReport, r, key)
		if err != nil {
			t.Fatal(err)
		}
		return item(t, control.Item{Facts: &control.Facts{Signed: signed}})
	}
	items := [][]byte{
		sign(control.FactsReport{Host: id, Number: 1 << 60}, other),
		sign(control.FactsReport{Host: other.ID(), Number: 1 << 60}, h.key),
		item(t, control.Item{Facts: &control.Facts{}}),
	}
	a.send(&control.Batch{Session: session, Stream: "raw", First: 1, Last: 3, Items: items})
	answer[*control.Stored](a)
	facts, _, err := f.sessions.Facts(t.Context(), id)
	if err != nil || facts != nil && string(facts.Facts["hostname"]) == `"evil"` {
		t.Errorf("the facts are %+v: %v", facts, err)
	}
}

// Of the facts of a host those with the highest number count, in whatever order they come.
func TestOlderFacts(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	id := h.key.Public().ID()
	session := a.hello(4)
	var items [][]byte
	for _, number := range []uint64{7, 5, 9, 8} {
		signed, err := trust.Sign(trust.KindReport, control.FactsReport{Host: id, Number: number, Facts: map[string]json.RawMessage{"number": json.RawMessage(fmt.Sprint(number))}}, h.key)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item(t, control.Item{Facts: &control.Facts{Signed: signed}}))
	}
	for n, batch := range [][][]byte{items[:2], items[2:3], items[3:]} {
		first := uint64([]int{1, 3, 4}[n])
		a.send(&control.Batch{Session: session, Stream: "raw", First: first, Last: first + uint64(len(batch)) - 1, Items: batch})
		answer[*control.Stored](a)
		want := []string{"7", "9", "9"}[n]
		if facts, _, err := f.sessions.Facts(t.Context(), id); err != nil || facts == nil || string(facts.Facts["number"]) != want {
			t.Errorf("after batch %d the facts are %+v, and not %s: %v", n, facts, want, err)
		}
	}
}

// A host that is not, or no longer, one of the server is heard by nobody, and has to go, whichever broker let it in.
func TestStranger(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	a.hello(0)
	f.mu.Lock()
	delete(f.hosts, h.key.Public().ID())
	f.mu.Unlock()
	gone := make(chan struct{}, 1)
	stranger := f.broker.Dial(link.Address{Host: h.key.Public().ID(), Instance: rand.Text()}, link.Handler{
		Connected: func() {}, Disconnected: func(error) {
			select {
			case gone <- struct{}{}:
			default:
			}
		},
		Receive: func(p link.Packet) { t.Errorf("it gets %s", p.Data) },
	})
	defer stranger.Close()
	data, err := control.Encode(&control.Hello{Versions: []int{control.Version}, Session: "s", Stream: "x", First: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Send(link.Packet{Data: data}); err != nil {
		t.Fatal(err)
	}
	<-gone
}

// Only the process that was dialled answers on a connection: another one of the same host, such as a copy of it, does not.
func TestPacketsOfAnotherInstance(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	a.hello(0)
	way, session, err := f.sessions.Relay(t.Context(), h.key.Public().ID(), f.sessions.SignAs("alice"))
	if err != nil {
		t.Fatal(err)
	}
	defer way.Close()
	connected := make(chan struct{}, 1)
	twin := f.broker.Dial(link.Address{Host: h.key.Public().ID(), Instance: rand.Text()}, link.Handler{
		Connected: func() { connected <- struct{}{} }, Disconnected: func(error) {}, Receive: func(link.Packet) {},
	})
	defer twin.Close()
	<-connected
	if err := twin.Send(link.Packet{Session: session, Data: []byte("the twin's")}); err != nil {
		t.Fatal(err)
	}
	// What the twin says next is heard: so that was taken in before.
	data, err := control.Encode(&control.Hello{Versions: []int{control.Version}, Session: "s", Stream: "x", First: 1})
	if err == nil {
		err = twin.Send(link.Packet{Data: data})
	}
	if err != nil {
		t.Fatal(err)
	}
	answer[*control.Wake](a) // it is asked whether it is alive
	if err := a.link.Send(link.Packet{Session: session, Data: []byte("its own")}); err != nil {
		t.Fatal(err)
	}
	if data, err := way.Receive(); string(data) == "the twin's" {
		t.Errorf("%s comes over the connection: %v", data, err)
	}
}

func (f *fleet) Ticket(id trust.ID, list ...trust.Digest) (map[trust.Digest]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.starts > 0 && len(f.begun) >= f.starts && !f.begun[id] {
		return nil, &diag.HintError{Code: "busy", Message: "too many hosts fetch"}
	}
	if f.begun == nil {
		f.begun = map[trust.ID]bool{}
	}
	f.begun[id] = true
	tickets := map[trust.Digest]string{}
	for _, d := range list {
		tickets[d] = string(id) + d.String()
	}
	return tickets, nil
}

func (f *fleet) Done(id trust.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.begun, id)
}

// A host that sends nothing but garbage fills no log.
func TestGarbageFillsNoLog(t *testing.T) {
	f := newFleet(t)
	_, a := f.raw("web1")
	session := a.hello(100)
	garbage := make([][]byte, 100)
	for i := range garbage {
		garbage[i] = []byte("{")
	}
	for range 100 {
		if err := a.link.Send(link.Packet{Data: []byte("garbage")}); err != nil {
			t.Fatal(err)
		}
	}
	a.send(&control.Batch{Session: session, Stream: "raw", First: 1, Last: 100, Items: garbage})
	answer[*control.Stored](a)
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.failed); n < 1 || n > 10 { // one each 10 seconds, however slow this machine is
		t.Errorf("%d errors are told: %v", n, f.failed[:min(n, 3)])
	}
}
