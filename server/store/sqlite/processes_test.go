package sqlite_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/storetest"
)

var kills = flag.Int("kills", 20, "how often a process that writes is killed")

func TestMain(m *testing.M) {
	storetest.Writer(open)
	rapidtest.Main(m, "")
}

func TestKills(t *testing.T) { storetest.Kills(t, place(t), *kills) }

func TestStopped(t *testing.T) { storetest.Stopped(t, place(t)) }

// A crash leaves the files as they are: the last commits are in the log alone.
func TestProperty(t *testing.T) {
	storetest.Property(t, func(t testing.TB) storetest.Place {
		top, err := os.MkdirTemp("", "store")
		must(t, err)
		p := placeAt(filepath.Join(top, "0"))
		p.Remove = func() { os.RemoveAll(top) }
		dir := p.Name
		p.Open = func(ctx context.Context) (store.Engine, error) { return open(ctx, dir) }
		p.Steal = func(t testing.TB) { must(t, os.Remove(filepath.Join(dir, "lock"))) }
		p.Crash = func(t testing.TB) {
			next := dir + "0"
			must(t, os.Mkdir(next, 0o700))
			for _, name := range []string{"tenet.db", "tenet.db-wal"} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				must(t, errors.Join(err, os.WriteFile(filepath.Join(next, name), data, 0o600)))
			}
			dir = next
		}
		return p
	})
}

// How many writers share a commit.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(strconv.Itoa(writers), func(b *testing.B) {
			s := storetest.Active(b, place(b), store.Options{})
			var all sync.WaitGroup
			var begun atomic.Int64
			for range writers {
				all.Go(func() {
					for begun.Add(1) <= int64(b.N) {
						err := s.Write(context.Background(), func(tx store.Tx) error {
							_, err := tx.Exec("INSERT INTO numbers (name, n) VALUES ('a', 1) ON CONFLICT (name) DO UPDATE SET n = numbers.n + 1")
							return err
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			stats := s.Stats()
			b.ReportMetric(float64(stats.Writes)/float64(stats.Commits), "writes/commit")
			b.ReportMetric(float64(stats.Writes)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
