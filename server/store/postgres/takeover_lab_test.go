//go:build lab

package postgres_test

import (
	"bytes"
	"context"
	"flag"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/contents/contentstest"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/postgres/postgrestest"
	"github.com/tenetcm/tenet/server/store/sqlite"
	"github.com/tenetcm/tenet/server/store/storetest"
)

var kills = flag.Int("kills", 20, "how often a process that writes is killed")

func TestMain(m *testing.M) {
	storetest.Writer(open)
	rapidtest.Main(m, "")
}

func TestKills(t *testing.T) { storetest.Kills(t, place(t, postgrestest.New(t)), *kills) }

func TestStopped(t *testing.T) { storetest.Stopped(t, place(t, postgrestest.New(t))) }

func folder(t testing.TB) storetest.Place {
	dir := t.TempDir()
	return storetest.Place{Name: dir, Open: func(ctx context.Context) (store.Engine, error) {
		e, err := sqlite.Open(ctx, dir)
		if err != nil {
			return nil, err
		}
		return e, nil
	}}
}

// A backup of one engine goes into the other.
func TestBackupsAcrossEngines(t *testing.T) {
	s := postgrestest.New(t)
	backup, rows := storetest.Backup(t, folder(t))
	storetest.Restore(t, place(t, s), backup, rows)
	back, same := storetest.Backup(t, place(t, s))
	if rows != same {
		t.Errorf("one says\n%s\nthe other\n%s", rows, same)
	}
	storetest.Restore(t, folder(t), back, rows)
	if !bytes.HasPrefix(back, []byte("tenet backup 1\n")) {
		t.Error("it has another form")
	}
}

func TestContents(t *testing.T) {
	s := postgrestest.New(t)
	contentstest.Run(t, func(t testing.TB) contents.Store {
		return contents.InDatabase(storetest.Active(t, place(t, s), store.Options{Migrations: []store.Migration{contents.Migration()}}))
	})
}

// PostgreSQL is killed, again and again, while somebody writes: what was answered is there, and
// the active process, which no other one has deposed, goes on when PostgreSQL is back.
func TestServerKilled(t *testing.T) {
	s := postgrestest.New(t)
	p := place(t, s)
	active := storetest.Active(t, p, store.Options{})
	done, unknown := 0, 0
	write := func() error {
		return active.Write(context.Background(), func(tx store.Tx) error {
			_, err := tx.Exec("INSERT INTO numbers (name, n) VALUES ('a', 1) ON CONFLICT (name) DO UPDATE SET n = numbers.n + 1")
			return err
		})
	}
	for range 5 {
		killed := make(chan struct{})
		go func() {
			time.Sleep(50 * time.Millisecond) // in the midst of writes
			s.Kill(t)
			close(killed)
		}()
		for {
			if err := write(); err != nil {
				unknown++
				break
			}
			done++
		}
		<-killed
		s.Start(t)
		for write() != nil {
			time.Sleep(50 * time.Millisecond)
		}
		done++
	}
	n := 0
	must(t, active.Read(context.Background(), func(r store.Reader) error {
		_, err := store.One(r, "SELECT n FROM numbers", nil, &n)
		return err
	}))
	if n < done || n > done+unknown {
		t.Errorf("there are %d, of %d that were told and %d that were not", n, done, unknown)
	}
}
