package runtime

import (
	"slices"
	"sync"

	"github.com/tenetcm/tenet/states"
)

// lockSet holds the named locks of a run.
type lockSet struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

// acquire takes locks and gives what releases them. They are taken in the
// order of their names, so that two holders cannot wait for each other.
func (l *lockSet) acquire(names []string) (release func()) {
	if len(names) == 0 {
		return func() {}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	held := make([]*sync.Mutex, 0, len(names))
	for _, name := range names {
		lock := l.named(name)
		lock.Lock()
		held = append(held, lock)
	}
	return func() {
		for _, lock := range slices.Backward(held) {
			lock.Unlock()
		}
	}
}

func (l *lockSet) named(name string) *sync.Mutex {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks == nil {
		l.locks = map[string]*sync.Mutex{}
	}
	if l.locks[name] == nil {
		l.locks[name] = &sync.Mutex{}
	}
	return l.locks[name]
}

// prefixed keeps one kind of lock apart from another.
func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}

// lockNames are the lock options of an invocation and of all its parts: taken
// together at its start, for taken one by one they could meet in a deadlock.
func lockNames(inv *states.Invocation) []string {
	names := slices.Clone(inv.Options.Locks)
	for k := range inv.Parts {
		names = append(names, inv.Parts[k].Options.Locks...)
	}
	return names
}
