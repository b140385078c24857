package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// enoughHeap is how large the heap may become before garbage is collected, in bytes. Go begins
// at 4 MiB: a site of a few hundred parts would be collected ten times on its way to 20 MiB,
// which takes a quarter of the time.
const enoughHeap = 32 << 20

// CollectLess has garbage collected once the heap is worth it. It is for programs that end
// soon; a larger heap is collected as ever. Whoever sets GOGC decides.
func CollectLess() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(enoughHeap / (4 << 20) * 100)
	setCollection(new(collection))
}

// collection is garbage as soon as it is made, so that its finalizer runs after each collection.
type collection struct{ _ *byte }

// setCollection says when to collect again, after what is alive.
func setCollection(c *collection) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if n := live[0].Value.Uint64(); n > 0 {
		debug.SetGCPercent(int(max(200, enoughHeap*100/n) - 100))
	}
	runtime.SetFinalizer(c, setCollection)
}
