package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// prunes is a site that drops most of what it has created, and adds something in
// its place; one file it has found.
const (
	prunes = `site {
		name  = "shop"
		prune = true
	}
	file "/found" {
		content = "changed"
	}
	file "/kept" {
		content = "kept"
	}
	`
	dropped = `directory "/d" {}
	archive "/d/many" {
		file = "/many.tar"
	}
	file "/d/a" {
		content = "a"
	}
	symlink "/d/l" {
		target = "a"
	}
	state "s" {
		require = [file["/d/a"]]
		file "/b" {
			content = "b"
		}
	}
	`
	added = `symlink "/b" {
		target = "kept"
	}
	`
)

// TestDeathBeforeAndWhilePruning: wherever a process ends that creates what is
// dropped later, or one that removes it, in the end all of it is gone, and what was
// found in place is there.
func TestDeathBeforeAndWhilePruning(t *testing.T) {
	site := &crashSite{name: "prune", files: map[string]string{"/found": "found", "/many.tar": string(tarred(t, "a=a", "x/y/b=b"))}}
	before := compile(t, modules.Standard(), prunes+dropped).Run
	after := compile(t, modules.Standard(), prunes+added).Run
	site.run = after
	want := site.undisturbed(t)
	for _, c := range []struct {
		name string
		how  ending
		err  error
		step int // without -all
	}{{"dies", dies, nil, 5}, {"halts", halts, nil, 7}, {"fails", misses, syscall.EIO, 7}, {"full", full, syscall.ENOSPC, 7}} {
		if *all {
			c.step = 1
		}
		for at, name := range []string{"creating", "removing"} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				points := 0
				for k := 1; ; k += c.step {
					f := &fate{at: k, how: c.how, err: c.err}
					w := site.world(t, 1)
					err := w.prunedAt(at, f, before, after)
					if err == nil {
						err = w.same(want)
					}
					if err == nil {
						err = w.holdsOnly("/kept", "/b")
					}
					if err != nil {
						t.Fatalf("at operation %d, %s: %v\n%s", k, f.op, err, w.story())
					}
					w.must(os.RemoveAll(w.state))
					if !f.met() {
						break
					}
					points++
				}
				t.Logf("%d points", points)
			})
		}
	}
}

// prunedAt carries out both, and lets one of them meet its fate.
func (w *world) prunedAt(which int, f *fate, runs ...*states.StateRun) error {
	for i, run := range runs {
		w.run = run
		if i == which {
			_, _ = w.process(f) // what comes after tells
		} else if _, err := w.process(&fate{}); err != nil {
			return fmt.Errorf("undisturbed: %w", err)
		}
	}
	return w.recovered()
}

// holdsOnly compares what the site has created with that.
func (w *world) holdsOnly(keys ...string) error {
	folder, err := journal.Open(w.state)
	if err != nil {
		return err
	}
	managed, err := folder.Managed()
	if err != nil {
		return err
	}
	holding := managed.Holding("shop")
	if n := len(holding.Entries()); n != len(keys) {
		return fmt.Errorf("it holds %d resources", n)
	}
	for _, key := range keys {
		if holding.Entry("file", key) == nil && holding.Entry("symlink", key) == nil {
			return errors.New("it does not hold " + key)
		}
	}
	return nil
}
