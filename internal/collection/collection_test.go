package collection

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestAfter(t *testing.T) {
	p := Policy{Enough: 64 << 20, Percent: 40}
	for live, want := range map[uint64]uint64{0: 1500, 4 << 20: 1500, 32 << 20: 100, 45 << 20: 42, 46 << 20: 40, 1 << 30: 40} {
		if got := p.after(live); got != want {
			t.Errorf("of %d bytes it grows by %d %%, not %d", live, got, want)
		}
	}
}

// Who sets GOGC decides. Otherwise a policy is followed after each collection, until another one takes its place.
func TestCollector(t *testing.T) {
	t.Setenv("GOGC", "70")
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	Start(Command()).Use(Server())
	if got := debug.SetGCPercent(100); got != 70 {
		t.Errorf("GOGC=70 has become %d", got)
	}
	t.Setenv("GOGC", "")
	alive := make([]byte, 128<<20)
	c := Start(Command())
	runtime.GC()
	c.Use(Server())
	runtime.GC()
	if got := debug.SetGCPercent(100); got != 40 {
		t.Errorf("with %d bytes alive the heap grows by %d %%", len(alive), got)
	}
	runtime.KeepAlive(alive)
}

// Memory is given back once nothing is collected any more, and again when there is more to give.
func TestSettlerIsDue(t *testing.T) {
	s := settler{}
	for i, step := range []struct {
		now  usage
		want bool
	}{
		{usage{memory: 100, collections: 7}, false}, // at work
		{usage{memory: 200, collections: 9}, false},
		{usage{memory: 200, collections: 9}, true},
	} {
		if got := s.isDue(step.now); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
	s.settle()
	if now := read(); now.collections < 4 || s.settled == 0 {
		t.Errorf("%d collections, and %d bytes are left", now.collections, s.settled)
	}
	if s.isDue(usage{memory: s.settled + s.settled/20, collections: s.last.collections}) {
		t.Error("for next to nothing")
	}
	if !s.isDue(usage{memory: s.settled * 2, collections: s.last.collections}) {
		t.Error("not after another burst")
	}
}

// Stacks that were needed once do not stay.
func TestSettleShrinksStacks(t *testing.T) {
	const n = 200
	deep, end := make(chan struct{}), make(chan struct{})
	for range n {
		go func() {
			descend(200)
			deep <- struct{}{}
			<-end
		}()
	}
	for range n {
		<-deep
	}
	defer close(end)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	(&settler{}).settle()
	runtime.ReadMemStats(&after)
	if before.StackInuse < n*(32<<10) || after.StackInuse > before.StackInuse/2 {
		t.Errorf("%d bytes of stacks become %d", before.StackInuse, after.StackInuse)
	}
}

func descend(depth int) byte {
	var frame [128]byte
	if depth > 0 {
		frame[depth%len(frame)] = descend(depth - 1)
	}
	return frame[0]
}
