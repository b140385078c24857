// Package storetest is the suite that each engine of a store passes.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/store"
)

// Place is where a store is kept. Each engine that is opened there is as one of another process.
type Place struct {
	Name string // by which another process opens it
	Open func(context.Context) (store.Engine, error)
	// Steal makes the lock of the active process free, while that goes on.
	Steal func(testing.TB)
	// Crash ends all that was opened, as kill -9 does. nil: only a process of its own can be ended so.
	Crash func(testing.TB)
	// Remove takes the place away, where it does not go with its test.
	Remove func()
}

// Run runs the suite. Each place is new, and goes with its test.
func Run(t *testing.T, place func(testing.TB) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"values":     values,
		"statements": statements,
		"failures":   failures,
		"reads":      reads,
		"order":      order,
		"groups":     groups,
		"cancelled":  cancelled,
		"spoilt":     spoilt,
		"never":      never,
		"closed":     closed,
		"terms":      terms,
		"backups":    func(t *testing.T, p Place) { backups(t, p, place(t)) },
		"kept out":   func(t *testing.T, p Place) { refusedBackups(t, p, place(t)) },
		"deposed":    deposed,
		"migrations": migrations,
		"versions":   versions,
		"together":   together,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
}

// Tables are what the tests of this package write to.
func Tables() []store.Migration {
	return []store.Migration{
		{Name: "numbers", SQL: `CREATE TABLE numbers (name TEXT PRIMARY KEY, n BIGINT NOT NULL) STRICT;`},
		{Name: "values", SQL: `
			CREATE TABLE kinds (id BIGINT PRIMARY KEY, t TEXT, b BYTES, n BIGINT) STRICT;
			CREATE TABLE parts (kind BIGINT NOT NULL REFERENCES kinds (id), name TEXT NOT NULL, PRIMARY KEY (kind, name)) STRICT;
			CREATE INDEX kinds_by_number ON kinds (n);`},
	}
}

// Open opens a store at a place, until the test ends.
func Open(t testing.TB, p Place, o store.Options) *store.Store {
	t.Helper()
	s, err := open(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func open(p Place, o store.Options) (*store.Store, error) {
	e, err := p.Open(context.Background())
	if err != nil {
		return nil, err
	}
	if o.Migrations == nil {
		o.Migrations = Tables()
	}
	return store.New(context.Background(), e, o)
}

// Active opens a store, and begins a term.
func Active(t testing.TB, p Place, o store.Options) *store.Store {
	t.Helper()
	s := Open(t, p, o)
	if _, err := s.Campaign(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// add changes a number.
func add(s *store.Store, ctx context.Context, name string, n int) error {
	return s.Write(ctx, func(tx store.Tx) error { return addIn(tx, name, n) })
}

func addIn(tx store.Tx, name string, n int) error {
	_, err := tx.Exec("INSERT INTO numbers (name, n) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET n = numbers.n + excluded.n", name, n)
	return err
}

// numbersOf shows all numbers, in their order.
func numbersOf(r store.Reader) (string, error) {
	var all []string
	err := r.Query("SELECT name, n FROM numbers ORDER BY name", nil, func(row store.Row) error {
		all = append(all, fmt.Sprintf("%v=%v", row...))
		return nil
	})
	return strings.Join(all, " "), err
}

func numbers(t testing.TB, s *store.Store) (all string) {
	t.Helper()
	must(t, s.Read(context.Background(), func(r store.Reader) (err error) {
		all, err = numbersOf(r)
		return err
	}))
	return all
}

func want(t testing.TB, s *store.Store, wanted string) {
	t.Helper()
	if got := numbers(t, s); got != wanted {
		t.Errorf("there is %s, want %s", got, wanted)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError[E error](t testing.TB, err error) {
	t.Helper()
	if _, ok := errors.AsType[E](err); !ok {
		t.Errorf("%T: %v", err, err)
	}
}

func wantIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got %v, want %v", err, target)
	}
}

func wantSays(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want: %s", err, text)
	}
}
