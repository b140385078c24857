package sessions_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/broker/memory"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// A host that makes up names of sites fills neither tables nor memory with them, whatever it tells of them, and after the server was started anew either.
func TestMadeUpSites(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	const n = 150 // of each kind
	sequence := uint64(0)
	tell := func(round string) {
		t.Helper()
		session := a.hello(sequence + 1)
		var items [][]byte
		for i := range n {
			site := fmt.Sprint(round, i)
			items = append(items,
				item(t, control.Item{Run: &control.Run{Run: "r" + site, Site: "run" + site, Started: time.Now(), Ended: time.Now(), Report: &states.Report{}}}),
				item(t, control.Item{Outputs: &control.Outputs{Site: "output" + site, Values: map[string]json.RawMessage{"port": []byte("1")}}}),
				item(t, control.Item{Loop: &control.Loop{Site: "loop" + site}}))
		}
		a.send(&control.Batch{Session: session, Stream: "raw", First: sequence + 1, Last: sequence + uint64(len(items)), Items: items})
		sequence += uint64(len(items))
		if got := answer[*control.Stored](a).Through; got != sequence {
			t.Fatalf("it is stored through %d", got)
		}
	}
	count := func() (names int) {
		t.Helper()
		err := f.store.Read(t.Context(), func(r store.Reader) error {
			_, err := store.One(r, `SELECT COUNT(*) FROM (SELECT site FROM sessions_runs UNION SELECT site FROM sessions_reports UNION SELECT site FROM sessions_outputs UNION SELECT site FROM sessions_loops) AS names`, nil, &names)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	tell("a")
	if got := count(); got != 256 {
		t.Errorf("%d names are kept", got)
	}
	f.broker.Close()
	f.broker = memory.New()
	f.open(2)
	a = f.speak(h)
	tell("b")
	if got := count(); got != 256 {
		t.Errorf("%d names are kept after the server was started anew", got)
	}
}
