package agent

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
)

// Which version of the protocol was spoken outlasts the process, and none before it is spoken by the next one. Where that cannot be read, it does not begin.
func TestSpokenVersionLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		w.wait(time.Second)
		w.end()
		folder, err := w.disk.open(filepath.Join(w.dir, "agent"))
		if err != nil {
			t.Fatal(err)
		}
		if spoken, err := readSpoken(folder); spoken != control.Version || err != nil {
			t.Errorf("it has spoken %d: %v", spoken, err)
		}

		if err := keepSpoken(folder, control.Version+1); err != nil {
			t.Fatal(err)
		}
		w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Minute)
		w.mu.Lock()
		held, logs := w.durable(), w.logs
		w.mu.Unlock()
		if len(held) > 0 || len(logs) == 0 || !strings.Contains(logs[0].Error(), "not spoken any more") {
			t.Errorf("it holds %v, and says %v", held, logs)
		}
		w.end()

		if err := folder.Replace(protocolName, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := w.start(); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("it starts: %v", err)
			w.end()
		}
	})
}
