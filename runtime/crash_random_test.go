package runtime_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

// randomSite draws a site: states, some in blocks, whose files, links and commands
// notify handlers, which notify one another. Beside its text it gives the rules
// that follow from it.
type randomSite struct {
	*rapid.T
	text     strings.Builder
	site     *crashSite
	handlers []string
	states   []string // that may be required, with the handlers that each notifies
	parts    int
	idle     string // the handlers alone
}

// notifies finds who notifies somebody of changes, but for handlers.
var notifies = regexp.MustCompile(`notify = \[.*\]`)

// edit draws what becomes of the site between two processes: nothing; it notifies
// nobody of changes any more; or only its handlers are left.
func (r *randomSite) edit(w *world) {
	edited := crashSite{text: r.idle}
	switch rapid.IntRange(0, 9).Draw(r.T, "edit") {
	case 0:
		edited.text = notifies.ReplaceAllString(r.site.text, "notify = []")
		w.silent = true
	case 1:
		w.site.loose = "/"
	default:
		return
	}
	edited.compile(r.T)
	w.run = edited.run
}

func (r *randomSite) chance(percent int, what string) bool {
	return rapid.IntRange(0, 99).Draw(r.T, what) < percent
}

// some draws handlers, those from the n-th on.
func (r *randomSite) some(n int, what string) []string {
	var out []string
	for _, h := range r.handlers[n:] {
		if r.chance(25, what) {
			out = append(out, h)
		}
	}
	return out
}

func refs(kind string, names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return "[" + kind + strings.Join(names, ", "+kind) + "]"
}

func drawCrashSite(t *rapid.T) *randomSite {
	r := &randomSite{T: t, site: &crashSite{name: "random", loose: "/h", files: map[string]string{}}}
	for i := range rapid.IntRange(1, 4).Draw(t, "handlers") {
		r.handlers = append(r.handlers, fmt.Sprint("h", i))
	}
	for i, h := range r.handlers {
		r.handler(h, r.some(i+1, "chain"))
	}
	r.idle = r.text.String()
	for range rapid.IntRange(1, 4).Draw(t, "groups") {
		if r.chance(40, "block") {
			r.block()
		} else {
			r.state(nil, nil)
		}
	}
	r.site.text = r.text.String()
	return r
}

func (r *randomSite) handler(name string, notify []string) {
	program := "run"
	if r.chance(20, "flaky") {
		program = "flaky"
	}
	fmt.Fprintf(&r.text, "state %q {\n lazy = true\n notify  = %s\n", name, refs("state.", notify)) // two spaces: not silenced
	if r.chance(30, "with a file") {
		fmt.Fprintf(&r.text, " file \"/%s.file\" {\n content = \"x\"\n }\n", name)
	}
	fmt.Fprintf(&r.text, " command \"c\" {\n argv = [%q, %q]\n }\n}\n", program, name)
	for _, h := range notify {
		r.site.rules = append(r.site.rules, rule{deed: name, handler: h})
	}
}

// block declares a block of states. What they do the block notifies, too.
func (r *randomSite) block() {
	notify, failed := r.some(0, "block notifies"), r.some(0, "block notifies of failure")
	fmt.Fprintf(&r.text, "block \"b%d\" {\n notify = %s\n notify_failure = %s\n", r.parts, refs("state.", notify), refs("state.", failed))
	for range rapid.IntRange(1, 3).Draw(r.T, "members") {
		r.state(notify, failed)
	}
	if r.chance(30, "rescue") {
		r.parts++
		fmt.Fprintf(&r.text, "rescue {\n command \"r%d\" {\n argv = [\"run\", \"r%d\"]\n }\n }\n", r.parts, r.parts)
	}
	r.text.WriteString("}\n")
}

// state declares a state of some parts.
func (r *randomSite) state(change, failure []string) {
	name := fmt.Sprint("s", len(r.states))
	notify, failed := r.some(0, "notifies"), r.some(0, "notifies of failure")
	fmt.Fprintf(&r.text, "state %q {\n notify = %s\n notify_failure = %s\n parallel = %t\n",
		name, refs("state.", notify), refs("state.", failed), r.chance(30, "parallel"))
	if len(r.states) > 0 && r.chance(40, "requires") {
		fmt.Fprintf(&r.text, " require = [state.%s]\n", rapid.SampledFrom(r.states).Draw(r.T, "what"))
	}
	ignored := r.chance(15, "ignore_failure")
	fmt.Fprintf(&r.text, " ignore_failure = %t\n", ignored)
	r.states = append(r.states, name)
	change = append(append([]string{}, change...), notify...)
	failures := append([]string{}, failed...)
	if !ignored {
		failures = append(failures, failure...)
	}
	for range rapid.IntRange(1, 3).Draw(r.T, "parts") {
		own := r.some(0, "part notifies")
		path := r.part(own)
		for _, h := range append(own, change...) {
			r.site.rules = append(r.site.rules, rule{deed: path, handler: h})
		}
		for _, h := range failures {
			r.site.rules = append(r.site.rules, rule{deed: "!" + path, handler: h})
		}
	}
	r.text.WriteString("}\n")
}

// part declares one part, and gives its path.
func (r *randomSite) part(notify []string) string {
	r.parts++
	path := fmt.Sprintf("/p%d", r.parts)
	typ, rest := "file", fmt.Sprintf("path = %q\n content = \"x\"", path)
	switch rapid.IntRange(0, 9).Draw(r.T, "kind") {
	case 0:
		typ, rest = "symlink", fmt.Sprintf("path = %q\n target = \"t\"", path)
	case 1:
		typ, rest = "directory", fmt.Sprintf("path = %q\n mode = \"0750\"", path)
	case 2, 3:
		typ, rest = "command", fmt.Sprintf("argv = [\"make\", %q]\n creates = %[1]q", path)
	case 4:
		typ, rest = "command", fmt.Sprintf("argv = [\"try\", %q]\n creates = %[1]q", path)
	case 5:
		r.site.files[path], rest = "old", fmt.Sprintf("path = %q\n ensure = \"absent\"", path)
	case 6:
		r.site.files[path] = "old"
	case 7:
		r.site.files[path] = "x"
	}
	fmt.Fprintf(&r.text, " %s \"p%d\" {\n %s\n notify = %s\n }\n", typ, r.parts, rest, refs("state.", notify))
	return path
}

// drawFate draws the end of a process, or what fails in it.
func drawFate(t *rapid.T) *fate {
	return &fate{
		at:  rapid.IntRange(1, 150).Draw(t, "at"),
		how: rapid.SampledFrom([]ending{dies, dies, halts, halts, misses, full}).Draw(t, "how"),
		err: rapid.SampledFrom([]error{syscall.ENOSPC, syscall.EIO}).Draw(t, "error"),
	}
}

// Whatever the site, and however one process after the other ends.
func TestAnySiteAnyEnd(t *testing.T) {
	rapidtest.For(t, "50")
	rapid.Check(t, func(t *rapid.T) {
		r := drawCrashSite(t)
		s := r.site
		s.compile(t)
		before := s.world(t, 1)
		defer os.RemoveAll(before.state)
		_, first := before.process(&fate{})
		if err := before.recovered(); err != nil {
			t.Fatalf("undisturbed: %v, %v\n%s\n%s", first, err, before.story(), s.text)
		}
		want := tree(t, before.Memory)
		delete(want, "/log")
		w := s.world(t, rapid.SampledFrom([]int{1, 4}).Draw(t, "workers"))
		defer os.RemoveAll(w.state)
		var ops []string
		for k := range rapid.IntRange(1, 4).Draw(t, "processes") {
			f := drawFate(t)
			_, _ = w.process(f) // the last one tells
			ops = append(ops, f.op)
			r.edit(w)
			if f.died() {
				if lost := rapid.IntRange(0, 7).Draw(t, "lost power"); lost < 4 {
					lose(lost&1 > 0, lost&2 > 0)(w, k)
				}
			}
		}
		err := w.recovered()
		if err == nil {
			err = w.same(want)
		}
		if err != nil {
			t.Fatalf("ended at %q: %v\n%s\n%s", ops, err, w.story(), s.text)
		}
	})
}
