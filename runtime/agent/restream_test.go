package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// A host that is put back from a snapshot tells what happens from then on, though the server has more of its stream than it knows of.
func TestHostTakenBackTellsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		w.assign("shop", "1")
		w.wait(time.Minute)
		snapshot := w.disk.durableCopy()
		w.assign("shop", "2")
		w.wait(time.Minute)
		at := w.assign("shop", "3")
		w.wait(time.Minute)
		w.end()
		before := len(w.host.Streams)
		w.disk, w.held = snapshot, map[string]trust.Position{}
		w.mustStart()
		w.wait(5 * time.Minute)
		w.expectConverged("shop", "3", at)
		newest := w.host.Streams[len(w.host.Streams)-1]
		if len(w.host.Streams) != before+1 || newest.ID != w.agent.stream.queue.Stream || newest.Stored == 0 || newest.Stored != w.agent.stream.queue.Last() {
			t.Errorf("the server has %+v, and the host tells %d items of %s", w.host.Streams, w.agent.stream.queue.Last(), w.agent.stream.queue.Stream)
		}
		last := w.assign("shop", "4")
		w.wait(time.Minute)
		w.expectConverged("shop", "4", last)
		w.end()
	})
}
