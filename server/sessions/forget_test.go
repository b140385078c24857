package sessions_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/broker/memory"
	"github.com/tenetcm/tenet/server/store"
)

// A host that is dropped is neither in memory, nor comes back with when it was seen last, and what it has told is removed bit by bit.
func TestDropHost(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	_, b := f.raw("web2")
	id := h.key.Public().ID()
	const n = 300
	session := a.hello(n)
	for k := uint64(1); k <= n; k++ {
		event := item(t, control.Item{Event: &control.Event{Site: "shop", Run: fmt.Sprint("r", k), Event: json.RawMessage(`{}`)}})
		a.send(&control.Batch{Session: session, Stream: "raw", First: k, Last: k, Items: [][]byte{event}})
		answer[*control.Stored](a)
	}
	b.send(&control.Batch{Session: b.hello(1), Stream: "raw", First: 1, Last: 1, Items: [][]byte{item(t, control.Item{Event: &control.Event{Site: "shop", Run: "other", Event: json.RawMessage(`{}`)}})}})
	answer[*control.Stored](b)
	if err := f.sessions.SaveSeen(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := f.store.Stats().Writes
	if err := f.sessions.RemoveHistory(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if writes := f.store.Stats().Writes - before; writes < 5 {
		t.Errorf("it was %d writes", writes)
	}
	err := f.store.Write(t.Context(), func(tx store.Tx) error { return f.sessions.RemoveHost(tx, id) })
	if err == nil {
		err = f.sessions.DropHost(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !f.sessions.Status(id).Reachability.Seen.IsZero() {
		t.Error("it is still in memory")
	}
	f.broker.Close()
	f.broker = memory.New()
	f.open(2)
	if !f.sessions.Status(id).Reachability.Seen.IsZero() {
		t.Error("it comes back when the server is started anew")
	}
	var runs int
	err = f.store.Read(t.Context(), func(r store.Reader) error {
		_, err := store.One(r, `SELECT COUNT(*) FROM sessions_events`, nil, &runs)
		return err
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs have events: %v", runs, err)
	}
}
