package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/store"
)

// Property does random things to a store, and compares it with a map. The place must know to crash.
func Property(t *testing.T, place func(testing.TB) Place) {
	rapid.Check(t, func(r *rapid.T) {
		w := &world{T: r, tb: t, place: place(t), numbers: map[string]int{}}
		defer w.place.Remove()
		w.open()
		defer func() { w.store.Close() }()
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "step") {
			case 0:
				w.close()
				w.open()
			case 1:
				w.place.Crash(t)
				w.close()
				w.open()
			case 2:
				w.takeOver()
			case 3, 4:
				w.together()
			default:
				w.write()
			}
			w.compare()
		}
	})
}

type world struct {
	*rapid.T
	tb      testing.TB
	place   Place
	store   *store.Store
	term    int64
	numbers map[string]int
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) open() {
	s, err := open(w.place, store.Options{})
	w.must(err)
	term, err := s.Campaign(context.Background())
	w.must(err)
	if term.Number <= w.term {
		w.Fatalf("term %d after %d", term.Number, w.term)
	}
	w.store, w.term = s, term.Number
}

func (w *world) close() { w.must(w.store.Close()) }

// takeOver lets another store be active while this one still thinks that it is.
func (w *world) takeOver() {
	old := w.store
	w.place.Steal(w.tb)
	w.open()
	if _, ok := errors.AsType[*store.DeposedError](add(old, context.Background(), "a", 100)); !ok {
		w.Fatal("the old one could still write")
	}
	w.must(old.Close())
}

// act is what one write does, and how it ends.
type act struct {
	names []string
	end   string
}

func (w *world) draw(label string) act {
	return act{
		names: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(w.T, label+" names"),
		end:   rapid.SampledFrom([]string{"kept", "kept", "kept", "fails", "panics", "statement", "hidden", "cancelled", "before"}).Draw(w.T, label),
	}
}

var errOwn = errors.New("own")

// do writes.
func (a act) do(s *store.Store) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if a.end == "before" {
		cancel()
	}
	defer func() {
		switch r := recover(); r {
		case nil:
		case errOwn:
			err = errOwn
		default:
			panic(r)
		}
	}()
	return s.Write(ctx, func(tx store.Tx) error { return a.run(tx, cancel) })
}

func (a act) run(tx store.Tx, cancel func()) error {
	for _, name := range a.names {
		if err := addIn(tx, name, 1); err != nil {
			return err
		}
	}
	switch a.end {
	case "fails":
		return errOwn
	case "panics":
		panic(errOwn)
	case "statement", "hidden":
		_, err := tx.Exec("INSERT INTO parts VALUES (99, 'x')") // of no kind that there is
		if a.end == "hidden" {
			return nil
		}
		return err
	case "cancelled":
		cancel()
		return addIn(tx, "a", 1)
	}
	return nil
}

func (w *world) note(a act, err error) {
	w.Helper()
	kept := a.end == "kept"
	if kept != (err == nil) {
		w.Fatalf("%+v: %v", a, err)
	}
	for _, name := range a.names {
		if kept {
			w.numbers[name]++
		}
	}
}

func (w *world) write() {
	a := w.draw("write")
	w.note(a, a.do(w.store))
}

// together lets several share commits.
func (w *world) together() {
	acts := make([]act, rapid.IntRange(2, 6).Draw(w.T, "together"))
	errs := make([]error, len(acts))
	var all fault.Group
	for i := range acts {
		acts[i] = w.draw(fmt.Sprint("write ", i))
	}
	for i := range acts {
		all.Go(func() { errs[i] = acts[i].do(w.store) })
	}
	all.Wait()
	for i := range acts {
		w.note(acts[i], errs[i])
	}
}

func (w *world) compare() {
	w.Helper()
	var wanted []string
	for _, name := range slices.Sorted(maps.Keys(w.numbers)) {
		wanted = append(wanted, fmt.Sprintf("%s=%d", name, w.numbers[name]))
	}
	got := ""
	w.must(w.store.Read(context.Background(), func(r store.Reader) (err error) {
		got, err = numbersOf(r)
		return err
	}))
	if got != strings.Join(wanted, " ") {
		w.Fatalf("there is %s, want %s", got, wanted)
	}
}
