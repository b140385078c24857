package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// world outlives the processes that act on it: a host, what has happened there,
// and the state folder.
type world struct {
	*host.Memory
	t        failer
	state    string // the state folder
	site     *crashSite
	run      *states.StateRun // the site's, or what it was edited to
	earlier  []string         // revisions that were applied before this one, besides the site's
	silent   bool             // in which no part notifies anybody of changes
	parallel int
	platter  *platter
	untidy   bool // temporary files may be left on the host

	mu       sync.Mutex
	lived    int      // processes that have begun
	history  []deed   // what has happened, in order
	unsynced []func() // what a loss of power undoes
}

// deed is one effect on a host.
type deed struct {
	what   string // "/path" was changed, "!name" a program has failed, or "name" has run
	undone bool   // by a loss of power
	silent bool   // the site, as it was edited, notifies nobody of changes
}

// did notes a deed, which is undone with what it comes with.
func (w *world) did(what string) (undo func()) {
	w.history = append(w.history, deed{what: what, silent: w.silent && strings.HasPrefix(what, "/")})
	k := len(w.history) - 1
	return func() { w.history[k].undone = true }
}

// change does something at a path.
func (w *world) change(path string, do func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changeLocked(path, do)
}

func (w *world) changeLocked(path string, do func() error) error {
	former := w.former(path)
	if err := do(); err != nil {
		return err
	}
	forget := w.did(path)
	w.unsynced = append(w.unsynced, func() { former(); forget() })
	return nil
}

// former gives what puts a path back as it is now.
func (w *world) former(path string) func() {
	info, err := w.Lstat(path)
	if err != nil {
		return func() { w.must(w.Remove(path)) }
	}
	meta := host.Meta{Mode: &info.Mode, UID: &info.UID, GID: &info.GID}
	switch info.Kind {
	case host.Directory:
		return func() {
			if _, err := w.Lstat(path); err != nil {
				w.must(w.Mkdir(path, meta))
			}
			w.must(w.SetMeta(path, meta))
		}
	case host.Symlink:
		target, err := w.ReadLink(path)
		w.must(err)
		return func() { w.must(w.Symlink(target, path, meta)) }
	}
	text := content(w.t, w.Memory, path)
	return func() { w.must(w.WriteFile(background, path, host.Text(text), meta)) }
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// sync makes durable what was done.
func (w *world) sync() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsynced = nil
}

// losePower undoes what was not durable.
func (w *world) losePower() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, undo := range slices.Backward(w.unsynced) {
		undo()
	}
	w.unsynced = nil
}

// program runs one of the programs that the sites use, all of it or half.
//
//	run NAME    writes a line to /log: a handler
//	make PATH   makes PATH.new, then PATH
//	try PATH    fails in the first process that there is; later it makes PATH
//	flaky NAME  fails in the first process; later it is run NAME
//	set PATH TEXT, unset PATH
func (w *world) program(argv []string, e effect) host.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	put := func(path, text string) {
		w.must(w.changeLocked(path, func() error {
			return w.WriteFile(background, path, host.Text(text), host.Meta{})
		}))
	}
	name, failed := argv[1], host.Result{ExitCode: 1, Stderr: []byte("not yet\n")}
	switch argv[0] {
	case "run", "flaky":
		if argv[0] == "flaky" && w.lived == 1 {
			return failed
		}
		log := ""
		if _, err := w.Lstat("/log"); err == nil {
			log = content(w.t, w.Memory, "/log")
		}
		if e == half {
			put("/log", log+name[:1]+"…")
			break
		}
		put("/log", log+name+"\n")
		w.unsynced = append(w.unsynced, w.did(name))
	case "make":
		put(name+".new", "half\n")
		if e == whole {
			put(name, "made\n")
		}
	case "try":
		if w.lived == 1 {
			w.did("!" + name)
			return failed
		}
		if e == whole {
			put(name, "made\n")
		}
	case "set":
		if text := argv[2]; e == half {
			put(name, text[:len(text)/2])
		} else {
			put(name, text)
		}
	case "unset":
		if _, err := w.Lstat(name); err == nil && e == whole {
			w.must(w.changeLocked(name, func() error { return w.Remove(name) }))
		}
	default:
		w.t.Fatal(fmt.Sprint("there is no program ", argv))
	}
	return host.Result{}
}

// rule is what must be true of a history: once something has happened, a handler
// has to run.
type rule struct {
	deed    string // see deed.what; one that ends in "/" stands for all below
	handler string
	// before is a deed that may only happen when the handler has run. Empty: it
	// has run in the end.
	before string
}

// broken tells how the history breaks a rule; "": it does not.
func (r rule) broken(history []deed) string {
	due := false
	for _, d := range history {
		switch {
		case d.undone, d.silent && d.what != r.before:
		case d.what == r.deed || strings.HasSuffix(r.deed, "/") && strings.HasPrefix(d.what, r.deed):
			due = true
		case d.what == r.handler:
			due = false
		case due && d.what == r.before:
			return fmt.Sprintf("%s happened after %s, and %s had not run in between", d.what, r.deed, r.handler)
		}
	}
	if due && r.before == "" {
		return fmt.Sprintf("%s did not run after %s", r.handler, r.deed)
	}
	return ""
}

// story tells what has happened.
func (w *world) story() string {
	var words []string
	for _, d := range w.history {
		if d.undone {
			d.what = "(" + d.what + ")"
		}
		words = append(words, d.what)
	}
	return strings.Join(words, " ")
}
