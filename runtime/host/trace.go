package host

import (
	"maps"
	"path"
	"slices"
	"sync"
)

// Trace is what was done on a Shadow that Shadow.Traced gave: which paths were looked at
// and written, and what else was asked or begun. As what looks at nothing else acts alike
// whatever else there is, it tells whether somebody's act can make a difference.
type Trace struct {
	mu      sync.Mutex
	looked  map[string]bool // what was written included
	written map[string]bool
	more    bool // something was looked at that no path stands for
	acted   bool // a program was to be started, or a service or a device changed
}

// Reads gives the paths that were looked at or changed, as they were named. It is not
// all where something was asked for that has no path, such as another machine.
func (t *Trace) Reads() (paths []string, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.looked)), !t.more
}

// Writes gives the paths that were changed. It is not all where a program was to be
// started, or services or devices were asked for: what they change no path tells.
func (t *Trace) Writes() (paths []string, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.written)), !t.acted
}

func (t *Trace) look(paths ...string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.looked == nil {
		t.looked = map[string]bool{}
	}
	for _, p := range paths {
		t.looked[path.Clean(p)] = true
	}
	if len(t.looked) > maxTraced {
		t.looked, t.more = map[string]bool{}, true
	}
}

// maxTraced bounds the paths of a Trace. Who looks at more may depend on anything.
const maxTraced = 1000

func (t *Trace) write(name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]bool{}
	}
	t.written[path.Clean(name)] = true
	if t.looked == nil {
		t.looked = map[string]bool{}
	}
	t.looked[path.Clean(name)] = true
}

// ask is told of what may depend on anything, such as an answer of the network.
func (t *Trace) ask() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.more = true
	}
}

// act is told of what may change anything, such as a program.
func (t *Trace) act() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.acted = true
	}
}

// serve is told that services are asked for, whose files are in these places.
func (t *Trace) serve() {
	t.look("/etc", "/usr", "/lib", "/run")
	t.act()
}

// Traced gives this shadow with a record of what is done on it. What is written to
// either is seen in both.
func (s *Shadow) Traced(t *Trace) *Shadow {
	traced := *s
	files := *s.tree
	files.trace = t
	traced.tree, traced.untraced = &files, s
	if s.untraced != nil {
		traced.untraced = s.untraced
	}
	return &traced
}
