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
