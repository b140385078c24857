//go:build lab

package postgres_test

import (
	"context"
	"testing"

	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/postgres"
	"github.com/tenetcm/tenet/server/store/postgres/postgrestest"
	"github.com/tenetcm/tenet/server/store/storetest"
)

// place is a database of its own.
func place(t testing.TB, s *postgrestest.Server) storetest.Place {
	url := s.Database(t)
	return storetest.Place{
		Name:  url,
		Open:  func(ctx context.Context) (store.Engine, error) { return open(ctx, url) },
		Steal: func(t testing.TB) { s.Steal(t, url) },
	}
}

func open(ctx context.Context, url string) (store.Engine, error) {
	e, err := postgres.Open(ctx, url)
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

func TestSuite(t *testing.T) {
	s := postgrestest.New(t)
	storetest.Run(t, func(t testing.TB) storetest.Place { return place(t, s) })
}
