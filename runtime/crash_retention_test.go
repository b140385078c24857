package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// releases is a site whose releases come and go, with a file of another part in each.
func releases(t failer, versions []string, count int, prune bool) *states.StateRun {
	return compile(t, modules.Standard(), releasesText(versions, count, prune)).Run
}

func releasesText(versions []string, count int, prune bool) string {
	text := "site {\n name = \"shop\"\n prune = " + fmt.Sprint(prune) + "\n}\nfile \"/kept\" {\n content = \"kept\"\n}\n"
	if len(versions) > 0 {
		list := `toset(["` + strings.Join(versions, `", "`) + `"])`
		text += fmt.Sprintf(`
			archive "release" {
				for_each = %[1]s
				path     = "/srv/${each.key}"
				file     = "/app.tar"
				retain   = %[2]d
			}
			file "config" {
				for_each = %[1]s
				path     = "/srv/${each.key}/x/config"
				content  = "c"
				require  = [archive.release]
			}
			symlink "current" {
				path    = "/current"
				target  = %[3]q
				require = [file.config]
			}
		`, list, count, versions[0])
	}
	return text
}

// wanting is in which order versions were wanted, as far as that is known: the last comes
// last, and each has how many were to stay then.
type wanting struct {
	order []string
	count map[string]int
}

func (w wanting) after(versions []string, count int) wanting {
	next := wanting{count: map[string]int{}}
	for _, v := range w.order {
		if !slices.Contains(versions, v) {
			next.order, next.count[v] = append(next.order, v), w.count[v]
		}
	}
	for _, v := range versions {
		next.order, next.count[v] = append(next.order, v), count
	}
	return next
}

// kept gives what an apply that wants these leaves of what is there.
func (w wanting) kept(versions []string, count int, there []string) []string {
	order := slices.DeleteFunc(w.after(versions, count).order, func(v string) bool {
		return !slices.Contains(there, v) && !slices.Contains(versions, v)
	})
	if len(versions) == 0 && len(order) > 0 {
		count = w.count[order[len(order)-1]]
	}
	kept := slices.Clone(versions)
	for i, v := range slices.Backward(order) {
		if i >= len(order)-count && !slices.Contains(kept, v) {
			kept = append(kept, v)
		}
	}
	slices.Sort(kept)
	return kept
}

// versions lists which are there, and which of them are whole.
func (w *world) versions() (there, complete []string) {
	entries, err := w.ReadDir("/srv")
	w.must(err)
	for _, e := range entries {
		there = append(there, e.Name)
		files := []string{"a", "x/b", "x/config"}
		if !slices.ContainsFunc(files, func(f string) bool { _, err := w.Lstat("/srv/" + e.Name + "/" + f); return err != nil }) {
			complete = append(complete, e.Name)
		}
	}
	return there, complete
}

// TestRetainProperty: whatever versions are wanted one after the other, new ones and
// former ones, whatever number is to stay, and wherever applies die: what is among the last
// that were wanted is never lost, and after an apply that has ended well there is nothing
// else.
func TestRetainProperty(t *testing.T) {
	rapidtest.For(t, "60")
	rapid.Check(t, func(rt *rapid.T) { retainsWhatIsWanted(rt, nil) })
}

// TestRetainPropertyOfLostPower: where power is lost with the process, the record of what was created just before may be
// lost, too, and then it is nobody's; but of what applies have created that ended well, nothing goes that is to stay.
func TestRetainPropertyOfLostPower(t *testing.T) {
	rapidtest.For(t, "60")
	rapid.Check(t, func(rt *rapid.T) {
		retainsWhatIsWanted(rt, lose(rapid.Bool().Draw(rt, "on the host"), true))
	})
}

// retainsWhatIsWanted applies random versions; then happens where a process has died.
func retainsWhatIsWanted(rt *rapid.T, then func(*world, int)) {
	archive := string(tarred(rt, "a=a", "x/b=b"))
	site := &crashSite{name: "retain", files: map[string]string{"/app.tar": archive}}
	site.run = releases(rt, nil, 1, false)
	w := site.world(rt, rapid.SampledFrom([]int{1, 4}).Draw(rt, "parallel"))
	defer os.RemoveAll(w.state)
	w.must(w.Mkdir("/srv", host.Meta{}))
	recorded := map[string]bool{} // created by an apply that has ended well
	possible := []wanting{{}}     // a killed apply may have recorded what it wanted, or not
	for range rapid.IntRange(2, 7).Draw(rt, "applies") {
		versions := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}), 0, 2, rapid.ID[string]).Draw(rt, "versions")
		slices.Sort(versions)
		count := rapid.IntRange(1, 3).Draw(rt, "count")
		w.run = releases(rt, versions, count, rapid.Bool().Draw(rt, "prune"))
		f := &fate{how: dies}
		if rapid.IntRange(0, 2).Draw(rt, "whether it dies") > 0 {
			f.at = rapid.IntRange(1, 120).Draw(rt, "at")
		}
		there, complete := w.versions()
		_, err := w.process(f)
		if err != nil && !errors.Is(err, errDead) {
			rt.Fatalf("%v: %v\n%s", versions, err, w.story())
		}
		if err != nil && then != nil {
			then(w, f.at)
		}
		after, whole := w.versions()
		for _, v := range complete {
			if then != nil && !recorded[v] {
				continue
			}
			isKept := func(p wanting) bool { return slices.Contains(p.kept(versions, count, there), v) }
			if !slices.ContainsFunc(possible, func(p wanting) bool { return !isKept(p) }) && !slices.Contains(whole, v) {
				rt.Fatalf("%s is lost, of %v, wanted %v, %d stay (%s)", v, possible, versions, count, f.op)
			}
		}
		for _, v := range []string{"1", "2", "3", "4", "5"} {
			recorded[v] = slices.Contains(after, v) && (recorded[v] || err == nil && !slices.Contains(there, v))
		}
		var next []wanting
		for _, p := range possible {
			switch want := p.kept(versions, count, there); {
			case err != nil:
				next = append(next, p, p.after(versions, count))
			case slices.Equal(want, after), then != nil:
				next = append(next, p.after(versions, count))
			}
		}
		if possible = next; len(next) == 0 {
			rt.Fatalf("there is %v after %v was wanted and %d stay; before there was %v", after, versions, count, there)
		}
		for _, v := range versions {
			if err == nil && !slices.Contains(whole, v) {
				rt.Fatalf("%s is incomplete", v)
			}
		}
	}
}

// TestLostPowerAfterNothingChanged: how many versions stay, and which were wanted last, is durable when an apply has ended, though it has changed
// nothing else.
func TestLostPowerAfterNothingChanged(t *testing.T) {
	site := &crashSite{name: "retain", files: map[string]string{"/app.tar": string(tarred(t, "a=a", "x/b=b"))}}
	site.run = releases(t, nil, 1, false)
	w := site.world(t, 1)
	defer os.RemoveAll(w.state)
	w.must(w.Mkdir("/srv", host.Meta{}))
	for _, apply := range []struct {
		versions []string
		count    int
	}{{[]string{"1", "2"}, 1}, {[]string{"1"}, 2}} {
		w.run = releases(t, apply.versions, apply.count, false)
		_, err := w.process(&fate{how: dies})
		w.must(err)
	}
	lose(false, true)(w, 1)
	w.run = releases(t, nil, 1, false)
	_, err := w.process(&fate{how: dies})
	w.must(err)
	if _, complete := w.versions(); !slices.Equal(complete, []string{"1", "2"}) {
		t.Errorf("there is %v, not 1, which was wanted last, and 2, which was to stay with it", complete)
	}
}
