package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// lockedSite has a block whose check never passes.
var lockedSite = crashSite{
	name: "locked",
	text: `
		block "b" {
			confirm {
				timeout = "1ms"
				command = ["check"]
			}
			ordered = true
			symlink "/link" {
				target = "new"
			}
			file "/conf" {
				content = "new"
				mode    = "0644"
				notify  = [state.h]
			}
			directory "/dir" {}
			file "/dir/file" {
				content = "x"
				notify  = [state.h]
			}
			file "/gone" {
				ensure = "absent"
			}
			line "outer" {
				path = "/two"
				line = "outer"
			}
			line "more" {
				path = "/two"
				line = "more"
			}
			block "inner" {
				confirm {
					timeout = "1ms"
					command = ["check"]
				}
				line "inner" {
					path = "/two"
					line = "inner"
				}
			}
			command "late" {
				argv = ["run", "late"]
			}
		}
	` + logs("h", "notify = [state.g]") + logs("g", ""),
	files: map[string]string{"/conf": "old", "/gone": "gone", "/two": "old\n"},
	links: map[string]string{"/link": "old"},
	rules: []rule{{deed: "/conf", handler: "h"}, {deed: "/dir/file", handler: "h"}, {deed: "h", handler: "g"}},
	fails: true,
}

// Whenever a process ends whose block is never confirmed, the next one, of a site
// without that block, leaves everything as it was before, and the handlers have run
// since the last change.
func TestDeathBeforeConfirmed(t *testing.T) {
	lockedSite.compile(t)
	elsewhere := &crashSite{name: "elsewhere", text: `file "/other" { content = "other" }` + "\n"}
	elsewhere.compile(t)
	var points atomic.Int64
	t.Cleanup(func() { t.Logf("%d points", points.Load()) })
	for i, c := range []trial{
		{name: "dies", how: dies},
		{name: "halts", how: halts, rare: true},
		{name: "loses power", how: dies, then: lose(true, true)},
		{name: "records lose power", how: dies, then: lose(false, true), rare: true},
		{name: "ENOSPC once", how: misses, err: syscall.ENOSPC, rare: true},
		{name: "EIO once", how: misses, err: syscall.EIO, rare: true},
		{name: "EIO from there", how: full, err: syscall.EIO, rare: true},
		{name: "twice", how: dies, second: func(k int) int { return 1 + k*5%60 }, rare: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first, step := 1+i%5, 5
			switch {
			case *all:
				first, step = 1, 1
			case c.rare:
				first, step = 1+i, 23
			}
			for k := first; !t.Failed() && putBackAfter(t, &c, k, elsewhere); k += step {
				points.Add(1)
			}
		})
	}
}

// putBackAfter carries out a trial with the end at one operation, and tells whether
// the process came so far.
func putBackAfter(t *testing.T, c *trial, k int, next *crashSite) bool {
	w := lockedSite.world(t, 1)
	defer func() { w.must(os.RemoveAll(w.state)) }()
	mode := 0o750 | fs.ModeSetuid
	w.must(w.SetMeta("/conf", host.Meta{Mode: &mode, UID: new(5)}))
	w.Handle("check", func(context.Context, host.Command) (host.Result, error) { return host.Result{ExitCode: 1}, nil })
	was := tree(t, w.Memory)
	was["/other"] = "file -rw-r--r-- other"
	f := &fate{at: k, how: c.how, err: c.err}
	_, err := w.process(f)
	if f.whole && c.how == halts {
		return true
	}
	if err == nil {
		t.Errorf("%s at operation %d, %s: it says that all is well", c.name, k, f.op)
	}
	if c.then != nil {
		c.then(w, k)
	}
	w.site, w.run = next, next.run
	if c.second != nil {
		_, _ = w.process(&fate{at: c.second(k), how: c.how})
	}
	for range 2 { // the second pays what the first could not
		if _, err = w.process(&fate{}); err != nil {
			break
		}
	}
	if err == nil {
		err = w.same(was)
	}
	info, statErr := w.Lstat("/conf")
	if err = errors.Join(err, statErr, w.tidy()); err == nil && (info.Mode != mode || info.UID != 5) {
		err = fmt.Errorf("/conf has mode %v and owner %d", info.Mode, info.UID)
	}
	for _, r := range lockedSite.rules {
		if wrong := r.broken(w.history); wrong != "" {
			err = errors.Join(err, errors.New(wrong))
		}
	}
	if err != nil {
		t.Errorf("%s at operation %d, %s: %v\n%s", c.name, k, f.op, err, w.story())
	}
	return f.met()
}

// A run goes on after its process has died, what its block had changed is put back
// first, since the check does not pass then, and done anew: in the end everything is
// as if nothing had happened.
func TestResumeAfterPuttingBack(t *testing.T) {
	t.Parallel()
	site := lockedSite
	site.run, site.text = nil, strings.ReplaceAll(site.text, `"1ms"`, `"50ms"`) // in which a check can pass
	site.compile(t)
	calm := site.world(t, 1)
	_, err := calm.process(&fate{})
	calm.must(errors.Join(err, os.RemoveAll(calm.state)))
	want := tree(t, calm.Memory)
	delete(want, "/log")
	undone := 0
	step := 9
	if *all {
		step = 2
	}
	for k := 2; !t.Failed(); k += step {
		w, f := site.world(t, 1), &fate{at: k, how: dies}
		changes := func() (n int) {
			for _, d := range w.history {
				if d.what == "/conf" {
					n++
				}
			}
			return n
		}
		first := 0
		w.Handle("check", func(context.Context, host.Command) (host.Result, error) {
			if w.lived == 2 && first > 0 && changes() == first {
				undone++
				return host.Result{ExitCode: 1}, nil
			}
			return host.Result{}, nil
		})
		_, _ = w.process(f)
		if !f.met() {
			w.must(os.RemoveAll(w.state))
			break
		}
		first = changes()
		if slices.ContainsFunc(w.history, func(d deed) bool { return d.what == "late" }) {
			first = 0 // else the check of the next one would not pass, if this one has ended
		}
		result, err := w.resume(&fate{})
		if err == nil && result.Failed {
			err = errFailed
		}
		err = errors.Join(err, w.same(want), w.tidy())
		for _, r := range lockedSite.rules {
			if wrong := r.broken(w.history); wrong != "" {
				err = errors.Join(err, errors.New(wrong))
			}
		}
		if err != nil {
			t.Errorf("dead at operation %d, %s: %v\n%s", k, f.op, err, w.story())
		}
		w.must(os.RemoveAll(w.state))
	}
	if undone < 5 {
		t.Errorf("it was put back %d times: the test shows little", undone)
	}
}
