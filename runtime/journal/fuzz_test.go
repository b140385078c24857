package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
)

// FuzzFolder reads, and applies on, a folder in which anything may stand: what is
// damaged is an error or left out, never a crash.
func FuzzFolder(f *testing.F) {
	f.Add([]byte("tenet.state/3\n"), []byte(`{"pid":1,"run":"00000001-abcdef","settled":"00000001-abcdef"}`),
		[]byte(`{"format":"tenet.owed/1","through":"00000001-abcdef","debts":[{"site":"/srv/site","handler":"h"}]}`),
		[]byte(`{"run":"00000002-abcdef","state":"running","report":{}}`),
		[]byte(`{"seq":1,"type":"run","format":"tenet.events/2"}`+"\n"+`{"seq":2,"type":"owed","address":"h"}`+"\n"+`{"seq":3,"type":"begin","handlers":["h"]}`+"\n{"),
		[]byte(`{"reason":"x"}`))
	f.Add([]byte("tenet.state/1\n"), []byte(`{`), []byte(``), []byte(`{"started":"x"}`),
		[]byte(`{"seq":1,"type":"run","format":"tenet.events/1"}`+"\n"+`{"seq":2,"type":"begin","address":"a","handlers":["h"]}`+"\n"+`{"seq":3,"type":"part","address":"a","outcome":"changed"}`+"\n"),
		[]byte(`{"reason":"x","until":"2020-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, format, lock, owed, status, events, hold []byte) {
		dir := inMemory(t)
		run := filepath.Join(dir, "runs", "00000002-abcdef")
		if err := os.MkdirAll(run, 0o700); err != nil {
			t.Fatal(err)
		}
		for path, data := range map[string][]byte{
			filepath.Join(dir, "format"): format, filepath.Join(dir, "lock"): lock, filepath.Join(dir, "owed.json"): owed,
			filepath.Join(run, "status.json"): status, filepath.Join(run, "events.jsonl"): events, filepath.Join(dir, "hold"): hold,
		} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		folder, err := journal.Open(dir)
		if err != nil {
			return
		}
		if folder.Holder() != nil {
			t.Error("nobody holds the lock")
		}
		if list, err := folder.List(); err != nil || len(list) != 1 {
			t.Errorf("list %+v, %v", list, err)
		}
		before, err := folder.Ledger()
		r, started := folder.Start(t.Context(), meta())
		if started != nil {
			return
		}
		if err != nil {
			t.Errorf("started, though %v", err)
		}
		if len(r.Ledger().Debts) != len(before.Debts) || len(r.Ledger().Unknown) != len(before.Unknown) {
			t.Errorf("left before %+v, at the start %+v", before, r.Ledger())
		}
		if err := r.Finish(journal.End{State: journal.Done}); err != nil {
			t.Error(err)
		}
	})
}
