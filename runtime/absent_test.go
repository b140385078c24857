package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// absentAt plans and applies the removal of /srv/old on the real file system below dir.
func absentAt(t *testing.T, dir string) (planned, applied outcome) {
	t.Helper()
	l, err := host.NewLocal(host.LocalOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	run := compile(t, modules.Standard(), "absent \"/srv/old\" {\n force = true\n}\n").Run
	planned = carry(t, runtime.Plan, run, runtime.Options{Host: l})
	applied = carry(t, runtime.Apply, run, runtime.Options{Host: l})
	return planned, applied
}

// gone expects that /srv/old was removed, as planned, and nothing around it.
func gone(t *testing.T, dir string, entries int) {
	t.Helper()
	planned, applied := absentAt(t, dir)
	for _, o := range []outcome{planned, applied} {
		ev := o.parts[`absent["/srv/old"]`]
		if o.Failed || !strings.Contains(fmt.Sprint(ev.Changes), fmt.Sprintf("entries %d", entries)) {
			t.Errorf("failed %t: %v %.100v", o.Failed, ev.Error, fmt.Sprint(ev.Changes))
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "srv/old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "srv/other")); err != nil {
		t.Error(err)
	}
}

func absentDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"srv/old", "srv/other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAbsentOfManyAndStrangeEntries(t *testing.T) {
	t.Parallel()
	dir := absentDir(t)
	count := 3000
	if *all {
		count = 100_000
	}
	old := filepath.Join(dir, "srv/old")
	for i := range count {
		if i%1000 == 0 {
			if err := os.Mkdir(fmt.Sprintf("%s/%d", old, i/1000), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%d/%d", old, i/1000, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	strange := []string{"a\nb", "\xff\xfe", "-rf *", strings.Repeat("x", 255), "\x1b[31m", " "}
	for _, name := range strange {
		if err := os.WriteFile(filepath.Join(old, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(unix.Mkfifo(filepath.Join(old, "fifo"), 0o600), os.Symlink("../other", filepath.Join(old, "link"))); err != nil {
		t.Fatal(err)
	}
	gone(t, dir, 1+count+(count+999)/1000+len(strange)+2)
}

// below makes directories one in another, so many, with a file in the last one.
func below(t *testing.T, dir, name string, depth int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_PATH, 0)
	for range depth {
		if err != nil {
			t.Fatal(err)
		}
		var next int
		if err = unix.Mkdirat(at, name, 0o755); err == nil {
			next, err = unix.Openat(at, name, unix.O_DIRECTORY|unix.O_PATH, 0)
		}
		err, at = errors.Join(err, unix.Close(at)), next
	}
	file, ferr := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err := errors.Join(err, ferr, unix.Close(file), unix.Close(at)); err != nil {
		t.Fatal(err)
	}
}

// What has longer paths than the system takes goes. A plan cannot follow it there, and says so.
func TestAbsentDeeperThanAPath(t *testing.T) {
	t.Parallel()
	forced := " \"/srv/old\" {\n force = true\n"
	for name, part := range map[string]string{
		"absent": "absent" + forced + "}\n", "directory": "directory" + forced + "ensure = \"absent\"\n}\n",
		"behind another": "file \"/srv/new\" {}\nabsent" + forced + "}\n",
	} {
		dir := absentDir(t)
		below(t, filepath.Join(dir, "srv/old"), strings.Repeat("d", 250), 40)
		l, err := host.NewLocal(host.LocalOptions{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		run := compile(t, modules.Standard(), part).Run
		address := run.Invocations[len(run.Invocations)-1].Address
		planned := carry(t, runtime.Plan, run, runtime.Options{Host: l})
		if ev := planned.parts[address]; planned.Failed || !strings.Contains(ev.Reason, "deeper than a plan can look") {
			t.Errorf("%s: the plan says %.200s, failed %t: %.200v", name, ev.Reason, planned.Failed, ev.Error)
		}
		if applied := carry(t, runtime.Apply, run, runtime.Options{Host: l}); applied.Failed {
			t.Errorf("%s: %.300v", name, applied.parts[address].Error)
		}
		if _, err := os.Lstat(filepath.Join(dir, "srv/old")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is there: %v", name, err)
		}
	}
}

// What is deeper yet stays, whole, and plan and apply say why and what removes it.
func TestAbsentTooDeep(t *testing.T) {
	t.Parallel()
	dir := absentDir(t)
	below(t, filepath.Join(dir, "srv/old"), "d", host.MaxDepth+1)
	planned, applied := absentAt(t, dir)
	for _, o := range []outcome{planned, applied} {
		if ev := o.parts[`absent["/srv/old"]`]; ev.Error == nil || !strings.Contains(ev.Error.Message, "/srv/old has directories in it that are more than 2048 deep") || ev.Error.Hint == "" {
			t.Errorf("%.300v", ev.Error)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "srv/old/d/d")); err != nil {
		t.Error(err)
	}
}

// While it is removed, others put in and take away: it ends, and goes again where something is
// left, and nothing around is touched.
func TestAbsentWhileOthersMeddle(t *testing.T) {
	t.Parallel()
	dir := absentDir(t)
	old := filepath.Join(dir, "srv/old")
	for i := range 300 {
		if err := errors.Join(os.MkdirAll(fmt.Sprintf("%s/%d/x", old, i%20), 0o755), os.WriteFile(fmt.Sprintf("%s/%d/%d", old, i%20, i), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; !stop.Load(); i++ { // what it is told does not matter
			_ = os.WriteFile(fmt.Sprintf("%s/%d/new%d", old, i%20, i%7), nil, 0o644)
			_ = os.Remove(fmt.Sprintf("%s/%d/%d", old, (i+10)%20, i%300))
			_ = os.Rename(fmt.Sprintf("%s/%d/x", old, i%20), fmt.Sprintf("%s/%d/y", old, (i+3)%20))
		}
	}()
	l, err := host.NewLocal(host.LocalOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	run := compile(t, modules.Standard(), "absent \"/srv/old\" {\n force = true\n}\n").Run
	var first *runtime.Result
	first, err = runtime.Apply(context.Background(), run, runtime.Options{Host: l, Registry: modules.Standard()})
	stop.Store(true)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	_, lerr := os.Lstat(old)
	if isThere := lerr == nil; isThere != first.Failed {
		t.Errorf("it is there: %t, and the apply failed: %t", isThere, first.Failed)
	}
	if o := carry(t, runtime.Apply, run, runtime.Options{Host: l}); o.Failed || o.parts[`absent["/srv/old"]`].Outcome == states.Failed {
		t.Error("the next apply fails")
	}
	if _, err := os.Lstat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "srv/other")); err != nil {
		t.Error(err)
	}
}

// TestDeathWhileRemoving: wherever a process ends that removes a directory with all that is
// in it, the next one finishes that, and the handler runs.
func TestDeathWhileRemoving(t *testing.T) {
	site := &crashSite{name: "absent", text: "absent \"/old\" {\n force = true\n notify = [state.h]\n}\n" + logs("h", ""),
		files: map[string]string{"/old/a": "a", "/old/b/c": "c", "/old/b/d/e": "e", "/stays": "s"},
		rules: []rule{{deed: "/old", handler: "h"}}}
	site.compile(t)
	want := site.undisturbed(t)
	if _, isThere := want["/old"]; isThere || len(want) == 0 {
		t.Fatalf("undisturbed, there is %v", want)
	}
	step := 7
	if *all {
		step = 1
	}
	for how, name := range map[ending]string{dies: "dies", halts: "halts"} {
		points := 0
		for k := 1; ; k += step {
			f := &fate{at: k, how: how}
			w := site.world(t, 1)
			_, _ = w.process(f) // what comes after tells
			err := w.recovered()
			if err == nil {
				err = w.same(want)
			}
			if err != nil {
				t.Fatalf("%s at operation %d, %s: %v\n%s", name, k, f.op, err, w.story())
			}
			w.must(os.RemoveAll(w.state))
			if !f.met() {
				break
			}
			points++
		}
		t.Logf("%s: %d points", name, points)
	}
}
