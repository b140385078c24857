package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/store"
)

func migrations(t *testing.T, p Place) {
	ctx, all := context.Background(), Tables()
	s := Active(t, p, store.Options{Migrations: all[:1], BeforeMigration: func(*store.Store) error { t.Error("an empty store has nothing to keep"); return nil }})
	must(t, add(s, ctx, "a", 1))
	broken := append(all[:1:1], store.Migration{Name: "broken", SQL: `CREATE TABLE half (x BIGINT) STRICT; CREATE TABLE numbers (x BIGINT) STRICT;`})
	_, err := open(p, store.Options{Migrations: broken})
	wantSays(t, err, "migration 2 (broken)")
	own := errors.New("no backup")
	_, err = open(p, store.Options{Migrations: all, BeforeMigration: func(*store.Store) error { return own }})
	wantIs(t, err, own)
	before := ""
	next := Open(t, p, store.Options{Migrations: all, BeforeMigration: func(s *store.Store) error { before = numbers(t, s); return nil }})
	if before != "a=1" {
		t.Errorf("before the migration there was %s", before)
	}
	must(t, s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec("INSERT INTO kinds (id) VALUES (1)"); return err })) // the old one goes on
	must(t, s.Write(ctx, func(tx store.Tx) error { return addIn(tx, "a", 1) }))
	want(t, next, "a=2")
	Open(t, p, store.Options{Migrations: all, BeforeMigration: func(*store.Store) error { t.Error("nothing is new"); return nil }})
	_, err = open(p, store.Options{Migrations: []store.Migration{{Name: "lax", SQL: "CREATE TABLE lax (x BIGINT);"}}})
	wantSays(t, err, `"lax"`)
}

// A store is not opened by a program to which it would be a riddle.
func versions(t *testing.T, p Place) {
	all := Tables()
	all = append(all, store.Migration{Name: "moved", SQL: "CREATE TABLE moved (x BIGINT) STRICT;", ReadableFrom: 2})
	must(t, Open(t, p, store.Options{Migrations: all}).Close())
	must(t, Open(t, p, store.Options{Migrations: all[:2]}).Close())
	_, err := open(p, store.Options{Migrations: all[:1]})
	wantSays(t, err, `changed by a newer program (migration 3, "moved")`)
	changed := append([]store.Migration{}, all...)
	changed[1].SQL += "\n"
	_, err = open(p, store.Options{Migrations: changed})
	wantSays(t, err, `another migration 2 ("values")`)
}

// Of several that begin at once, one makes the tables.
func together(t *testing.T, p Place) {
	var all fault.Group
	for range 5 {
		all.Go(func() {
			s, err := open(p, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if got := numbers(t, s); got != "" {
				t.Error(got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
