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
