package sessions_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/broker/memory"
	"github.com/tenetcm/tenet/server/store"
)

// Which version of the protocol a host has spoken outlasts the server: by a program that speaks none so late it is refused.
func TestSpokenVersionLasts(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web")
	a.hello(0)
	f.broker.Close()
	var spoken int64
	if err := f.store.Write(t.Context(), func(tx store.Tx) error {
		id := string(h.key.Public().ID())
		if _, err := store.One(tx, `SELECT spoken FROM sessions_hosts WHERE host = $1`, []any{id}, &spoken); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE sessions_hosts SET spoken = spoken + 1 WHERE host = $1`, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if spoken != control.Version {
		t.Errorf("the host has spoken %d", spoken)
	}
	f.broker = memory.New()
	f.open(2)
	a = f.speak(h)
	a.send(&control.Hello{Versions: []int{control.Version}, Session: rand.Text(), Stream: "raw", First: 1})
	if r := answer[*control.Refusal](a); !strings.Contains(r.Why, "not spoken any more") {
		t.Error(r.Why)
	}
}
