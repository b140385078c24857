package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
	"github.com/tenetcm/tenet/server/store/storetest"
)

// place is a folder whose name is no URL, pattern or option.
func place(t testing.TB) storetest.Place {
	return placeAt(filepath.Join(t.TempDir(), "a b%20c?mode=memory#d&e'f\"ä"))
}

func placeAt(dir string) storetest.Place {
	return storetest.Place{
		Name:  dir,
		Open:  func(ctx context.Context) (store.Engine, error) { return open(ctx, dir) },
		Steal: func(t testing.TB) { must(t, os.Remove(filepath.Join(dir, "lock"))) },
	}
}

func open(ctx context.Context, dir string) (store.Engine, error) {
	e, err := sqlite.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) { storetest.Run(t, place) }

// What was removed from the database counts as free, since its file does not shrink.
func TestFreePages(t *testing.T) {
	ctx := t.Context()
	e, err := sqlite.Open(ctx, t.TempDir())
	must(t, err)
	s, err := store.New(ctx, e, store.Options{Migrations: []store.Migration{{Name: "test", SQL: `CREATE TABLE big (n BIGINT NOT NULL PRIMARY KEY, data BYTES NOT NULL) STRICT;`}}})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(ctx)
	must(t, err)
	before, err := sqlite.FreeBytes(e)
	must(t, err)
	must(t, s.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec(`INSERT INTO big (n, data) VALUES (1, $1)`, make([]byte, 4<<20))
		return err
	}))
	must(t, s.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec(`DELETE FROM big`)
		return err
	}))
	after, err := sqlite.FreeBytes(e)
	must(t, err)
	if after-before < 3<<20 {
		t.Errorf("%v bytes were free, and now %v", before, after)
	}
	if share, known, err := s.FreeSpace(); err != nil || !known || share <= 0 || share > 1 {
		t.Error(share, known, err)
	}
}
