package host

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"sync"
)

// Trace is what was done on a Shadow that Shadow.Traced gave: what was looked at, which
// paths were written, and what else was begun. As what looks at nothing else acts alike
// whatever else there is, it tells whether somebody's act can make a difference.
type Trace struct {
	mu      sync.Mutex
	looks   map[lookKey]*Look // what was written included
	written map[string]bool
	more    bool // more was looked at than is kept
	acted   bool // a program was to be started, or a service or a device changed
}

// Look is one thing that somebody looked at.
type Look struct {
	Kind LookKind
	Name string // a clean path, as it was named, or another name
	// All says that what is below a path was looked at, too.
	All bool
	// Missing says that it was not there.
	Missing bool
	// Needed says of what is missing that it was taken to be there, since something may
	// bring it by then.
	Needed bool
}

// LookKind is the kind of what is looked at.
type LookKind string

// The kinds.
const (
	LookPath    LookKind = ""
	LookUser    LookKind = "user"    // by its name
	LookGroup   LookKind = "group"   // by its name
	LookNumber  LookKind = "number"  // of an account, where none has it
	LookService LookKind = "service" // by its name; * for all of them
	LookProgram LookKind = "program" // one that answers; by its path where that is known
	LookNetwork LookKind = "network" // who answers there
)

type lookKey struct {
	kind LookKind
	name string
}

// Looks gives what was looked at or written. It is not all where that is more than
// anybody wants to compare.
func (t *Trace) Looks() (looks []Look, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.looks {
		looks = append(looks, *l)
	}
	slices.SortFunc(looks, func(a, b Look) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return looks, !t.more
}

// Writes gives the paths that were changed. It is not all where a program was to be
// started, or services or devices were changed: what these change no path tells.
func (t *Trace) Writes() (paths []string, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.written)), !t.acted
}

// add adds a look. What was once missing was, whatever came there since.
func (t *Trace) add(l Look) {
	if t == nil {
		return
	}
	if l.Kind == LookPath {
		l.Name = path.Clean(l.Name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := lookKey{l.Kind, l.Name}
	if was := t.looks[key]; was != nil {
		was.All, was.Missing, was.Needed = was.All || l.All, was.Missing || l.Missing, was.Needed || l.Needed
		return
	}
	if t.looks == nil {
		t.looks = map[lookKey]*Look{}
	}
	t.looks[key] = &l
	if len(t.looks) > maxTraced {
		t.looks, t.more = nil, true
	}
}

// maxTraced bounds the looks of a Trace. Who looks at more may depend on anything.
const maxTraced = 1000

// look is told of a path that was looked at, and how that ended.
func (t *Trace) look(name string, err error) {
	t.add(Look{Name: name, Missing: isMissing(err)})
}

// lookBelow is told of paths that were looked at with all that is below.
func (t *Trace) lookBelow(names ...string) {
	for _, name := range names {
		t.add(Look{Name: name, All: true})
	}
}

// lookAt is told of what is no path.
func (t *Trace) lookAt(kind LookKind, name string, err error) {
	t.add(Look{Kind: kind, Name: name, Missing: isMissing(err)})
}

// write is told of a path that is to be changed, and what was found there.
func (t *Trace) write(name string, err error) {
	if t == nil {
		return
	}
	t.look(name, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]bool{}
	}
	t.written[path.Clean(name)] = true
}

// act is told of what may change anything, such as a program.
func (t *Trace) act() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.acted = true
	}
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
