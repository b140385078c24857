package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// applies carries out a run of a site that has these events; without an end it is
// abandoned.
func applies(t interface {
	Helper()
	Fatal(...any)
}, f *journal.Folder, site string, ends bool, list ...states.Event) {
	t.Helper()
	r, err := f.Start(contextOf(t), journal.Meta{Run: &states.StateRun{Site: site, Revision: "sha256:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(list)%2 == 1 { // else it is read as the run ends
		if _, err := r.Managed(); err != nil {
			t.Fatal(err)
		}
	}
	for _, ev := range append([]states.Event{{Type: states.EventRun, Format: states.EventFormat, Site: site}}, list...) {
		if err := r.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if !ends {
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := r.Abandon(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := r.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
}

// holds gives what a site holds as the folder tells, fresh from the disk.
func holds(t *testing.T, dir, site string) string {
	t.Helper()
	m, err := open(t, dir).Managed()
	if err != nil {
		t.Fatal(err)
	}
	return keys(m.Holding(site))
}

func TestManagedOutlivesRuns(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	applies(t, f, "shop", true, begins(2, "/a"), ends(3, "/a", states.Changed))
	applies(t, f, "", true, begins(2, "/nobody's"), ends(3, "/nobody's", states.Changed))
	applies(t, f, "blog", false, begins(2, "/b"))
	applies(t, f, "shop", false, begins(2, "/c"), ends(3, "/c", states.Changed), gone(4, "/a", states.Changed))
	check := func(when string) {
		t.Helper()
		if a, b := holds(t, dir, "shop"), holds(t, dir, "blog"); a != "/c" || b != "/b" {
			t.Errorf("%s: shop holds %q, blog %q", when, a, b)
		}
	}
	check("after a crash")
	applies(t, f, "", true)
	check("after a run without a site's name")
	for _, torn := range []string{"", "{", "\x00\x00\x00"} {
		if err := os.WriteFile(filepath.Join(dir, "managed.json"), []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("with %q as an index", torn))
	}
	ids, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	applies(t, f, "", true)
	for _, s := range ids {
		if err := os.RemoveAll(filepath.Join(dir, "runs", s.Run)); err != nil {
			t.Fatal(err)
		}
	}
	check("without the runs")
	if m, err := f.Managed(); err != nil || !reflect.DeepEqual(m.Sites(), []string{"blog", "shop"}) {
		t.Errorf("sites %v, %v", m.Sites(), err)
	}
}

func TestManagedOfARunThatGoesOn(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	applies(t, f, "shop", false, begins(2, "/a"), ends(3, "/a", states.Changed))
	applies(t, f, "", true) // takes it in
	s, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	events, err := os.OpenFile(filepath.Join(dir, "runs", s[0].Run, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for _, line := range []string{
		`{"seq":4,"type":"resume"}`, `{"seq":5,"type":"begin","address":"file.b","part_type":"file","key":"/b","resource":{"path":"/b"}}`,
	} {
		if _, err := events.Write(journal.SealObject(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got := holds(t, dir, "shop"); got != "/a /b" {
		t.Errorf("holds %q", got)
	}
}

func TestManagedDamagedOrNewer(t *testing.T) {
	for name, c := range map[string]struct{ file, data, want string }{
		"damaged":     {"managed/shop.jsonl", "{\"format\":\"tenet.managed/1\",\"site\":\"shop\"}\n{\"type\":", "what the site shop has created cannot be read from"},
		"empty":       {"managed/shop.jsonl", "", "cannot be read from"},
		"newer":       {"managed/shop.jsonl", `{"format":"tenet.managed/9","site":"shop"}`, "use the version of tenet that wrote it"},
		"other site":  {"managed/shop.jsonl", `{"format":"tenet.managed/1","site":"blog"}`, `it is of the site "blog"`},
		"newer index": {"managed.json", `{"format":"tenet.managed/9"}`, "use the version of tenet that wrote it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			applies(t, f, "shop", true, begins(2, "/a"), ends(3, "/a", states.Changed))
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.data), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := f.Managed()
			if err == nil {
				m.Holding("shop")
				err = m.Err()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
			after, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil || string(after) != c.data {
				t.Errorf("it was written over: %q, %v", after, err)
			}
		})
	}
}

func TestManagedSiteNames(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	names := []string{"..", ".", "a/../../b", "a%2Fb", "a/b", "Ü \x00\n", strings.Repeat("x", 400), strings.Repeat("x", 400) + "y"}
	for i, name := range names {
		key := fmt.Sprintf("/%d", i)
		applies(t, f, name, true, begins(2, key), ends(3, key, states.Changed))
	}
	for i, name := range names {
		if got, want := holds(t, dir, name), fmt.Sprintf("/%d", i); got != want {
			t.Errorf("%q holds %q, want %q", name, got, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "managed")); err != nil || len(entries) != len(names) {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

func TestSettled(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	applies(t, f, "shop", true, begins(2, "/a"), ends(3, "/a", states.Changed))
	settle := func(site, revision string) {
		t.Helper()
		r := start(t, f, journal.Meta{})
		m, err := r.Managed()
		if err != nil {
			t.Fatal(err)
		}
		m.Settle(site, revision)
		finish(t, r, journal.End{State: journal.Done})
	}
	settled := func(site, revision string) bool {
		t.Helper()
		m, err := f.Managed()
		if err != nil {
			t.Fatal(err)
		}
		return m.Settled(site, revision)
	}
	if settled("shop", "r1") || settled("shop", "") {
		t.Error("settled, though nobody said so")
	}
	settle("shop", "r1")
	if !settled("shop", "r1") || settled("shop", "r2") || settled("blog", "r1") {
		t.Error("not settled, or everything is")
	}
	applies(t, f, "blog", true)
	if !settled("shop", "r1") {
		t.Error("unsettled by a site that holds nothing")
	}
	applies(t, f, "blog", true, begins(2, "/b"), ends(3, "/b", states.Changed))
	if settled("shop", "r1") {
		t.Error("settled, though another site has created something")
	}
	settle("shop", "r1")
	applies(t, f, "shop", false, begins(2, "/c"))
	if settled("shop", "r1") {
		t.Error("settled, though the site has begun something")
	}
}

// TestManagedIsTheSum: whatever the events and wherever runs end, what is recorded
// and what the kept runs say together is the sum of all events.
func TestManagedIsTheSum(t *testing.T) {
	in := t.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		in = "/dev/shm" // the disk is slow
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(in, "tenet-state-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		f, err := journal.Open(dir)
		if err != nil {
			rt.Fatal(err)
		}
		sums := map[string]*journal.Holding{"shop": journal.NewHolding("shop"), "blog": journal.NewHolding("blog")}
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			site := rapid.SampledFrom([]string{"shop", "blog", ""}).Draw(rt, "site")
			var list []states.Event
			for range rapid.IntRange(0, 6).Draw(rt, "events") {
				key := rapid.SampledFrom([]string{"/a", "/b", "/c"}).Draw(rt, "key")
				seq := int64(len(list) + 2)
				outcome := rapid.SampledFrom([]states.Outcome{states.Changed, states.Unchanged, states.Failed, states.Unknown}).Draw(rt, "outcome")
				list = append(list, rapid.SampledFrom([]states.Event{
					begins(seq, key), begins(seq, key), ends(seq, key, outcome), ends(seq, key, outcome), gone(seq, key, outcome),
				}).Draw(rt, "event"))
			}
			applies(rt, f, site, rapid.Bool().Draw(rt, "ended"), list...)
			if rapid.IntRange(0, 4).Draw(rt, "lost") == 0 {
				_ = os.Remove(filepath.Join(dir, "managed.json")) // the first run may not have ended
			}
			status, err := f.Status("")
			if err != nil {
				rt.Fatal(err)
			}
			if sum := sums[site]; sum != nil {
				for i := range list {
					sum.Add(status.Run, &list[i])
				}
				sum.End(status.Run)
			}
			m, err := f.Managed()
			if err != nil {
				rt.Fatal(err)
			}
			for site, sum := range sums {
				got, want := m.Holding(site), sum
				if keys(got) != keys(want) {
					rt.Fatalf("%s holds %q, want %q", site, keys(got), keys(want))
				}
			}
		}
	})
}

// contextOf gives the context of a test, whatever kind of test it is.
func contextOf(t any) context.Context {
	if t, ok := t.(interface{ Context() context.Context }); ok {
		return t.Context()
	}
	return context.Background()
}

// A record that says what is to be retained has a format of its own, which older programs
// refuse; one that does not is as it was.
func TestRetainedFormat(t *testing.T) {
	for _, c := range []struct {
		retain states.Retention
		want   string
	}{{0, journal.ManagedFormat}, {states.RetainAll, journal.RetainedFormat}, {3, journal.RetainedFormat}} {
		dir := t.TempDir()
		made := []states.Event{begins(3, "/a"), ends(4, "/a", states.Changed)}
		if c.retain != 0 {
			wanted := states.Event{Type: states.EventWanted, Seq: 2, Part: made[0].Part, Key: "/a", Retain: c.retain}
			made = append([]states.Event{wanted}, made...)
		}
		f := open(t, dir)
		applies(t, f, "shop", true, made...)
		data, err := os.ReadFile(filepath.Join(dir, "managed", "shop.jsonl"))
		if err != nil || !strings.HasPrefix(string(data), `{"format":"`+c.want+`"`) {
			t.Errorf("retain %v: %s, %v", c.retain, data, err)
		}
		m, err := open(t, dir).Managed()
		if err != nil {
			t.Fatal(err)
		}
		e := m.Holding("shop").Entry(made[0].Part, "/a")
		if e.Retain != c.retain || c.retain != 0 && (e.WantedRun != e.Run || e.WantedOrder != 2) {
			t.Errorf("retain %v is read as %+v", c.retain, e)
		}
	}
}
