package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/store"
)

// noticed is a context that tells when somebody begins to wait for it.
type noticed struct {
	context.Context
	once sync.Once
	wait chan struct{}
}

func notice(ctx context.Context) *noticed {
	return &noticed{Context: ctx, wait: make(chan struct{})}
}

func (n *noticed) Done() <-chan struct{} {
	n.once.Do(func() { close(n.wait) })
	return n.Context.Done()
}

// busy lets a write hold the writer until it is let go; all that come meanwhile share a group.
func busy(t testing.TB, s *store.Store) (letGo func()) {
	t.Helper()
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	fault.Go(func() {
		done <- s.Write(context.Background(), func(store.Tx) error {
			once.Do(func() { close(held) })
			<-free
			return nil
		})
	})
	<-held
	return func() {
		close(free)
		must(t, <-done)
	}
}

// Each function sees what those before it wrote, however many share a commit.
func order(t *testing.T, p Place) {
	s := Active(t, p, store.Options{})
	var all fault.Group
	for range 16 {
		all.Go(func() {
			for range 20 {
				err := s.Write(context.Background(), func(tx store.Tx) error {
					n := 0
					_, err := store.One(tx, "SELECT n FROM numbers WHERE name = 'a'", nil, &n)
					if err != nil {
						return err
					}
					_, err = tx.Exec("INSERT INTO numbers VALUES ('a', $1) ON CONFLICT (name) DO UPDATE SET n = excluded.n", n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want(t, s, "a=320")
}

// Those that wait share a commit, and those that fail among them leave the others alone.
func groups(t *testing.T, p Place) {
	s := Active(t, p, store.Options{})
	letGo := busy(t, s)
	const n = 200
	own := errors.New("own")
	errs := make([]error, n)
	var all fault.Group
	for i := range n {
		ctx := notice(context.Background())
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					errs[i] = own
				}
			}()
			errs[i] = s.Write(ctx, func(tx store.Tx) error {
				must(t, addIn(tx, "sum", 1))
				switch i % 4 {
				case 1:
					return own
				case 2:
					panic("stop")
				case 3:
					tx.Exec("INSERT INTO numbers VALUES ('sum', 1)") // there is one
				}
				return nil
			})
		})
		<-ctx.wait
	}
	letGo()
	all.Wait()
	for i, err := range errs {
		switch i % 4 {
		case 0:
			must(t, err)
		case 3:
			wantError[*store.UniqueError](t, err)
		default:
			wantIs(t, err, own)
		}
	}
	want(t, s, fmt.Sprintf("sum=%d", n/4))
	if got := s.Stats(); got.Writes != n/4+1 || got.Commits > n/8 {
		t.Errorf("%+v", got)
	}
}

// Who waits leaves when the context ends; who runs is ended.
func cancelled(t *testing.T, p Place) {
	s := Active(t, p, store.Options{})
	why := errors.New("why")
	letGo := busy(t, s)
	inner, cancel := context.WithCancelCause(context.Background())
	ctx := notice(inner)
	result := make(chan error)
	fault.Go(func() { result <- add(s, ctx, "waiting", 1) })
	<-ctx.wait
	cancel(why)
	wantIs(t, <-result, why) // while the writer is still held
	letGo()
	ctx2, cancel := context.WithCancelCause(context.Background())
	wantIs(t, s.Write(ctx2, func(tx store.Tx) error {
		must(t, addIn(tx, "running", 1))
		cancel(why)
		<-ctx2.Done()
		return addIn(tx, "running", 1)
	}), why)
	must(t, add(s, context.Background(), "a", 1))
	want(t, s, "a=1")
}

// A statement is ended in its midst, and with it all that the engine rolls back on such an
// occasion: then the others of the group run again.
func spoilt(t *testing.T, p Place) {
	s := Active(t, p, store.Options{})
	for range 5 {
		letGo := busy(t, s)
		var all fault.Group
		for i := range 6 {
			inner, cancel := context.WithCancel(context.Background())
			ctx := notice(inner)
			all.Go(func() {
				defer cancel()
				err := s.Write(ctx, func(tx store.Tx) error {
					must(t, addIn(tx, "sum", 1))
					if i != 3 {
						return nil
					}
					fault.Go(func() { time.Sleep(10 * time.Millisecond); cancel() }) // some time after it has begun
					_, err := tx.Exec("INSERT INTO numbers (name, n) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT 'x' || i, i FROM n")
					return err
				})
				if i == 3 {
					wantIs(t, err, context.Canceled)
				} else if err != nil {
					t.Error(err)
				}
			})
			<-ctx.wait
		}
		letGo()
		all.Wait()
	}
	want(t, s, "sum=25")
}

// A function that does not return holds nobody up for long, and does nothing afterwards.
func never(t *testing.T, p Place) {
	s := Active(t, p, store.Options{Limit: 3 * time.Second})
	held, stuck, after, result := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	fault.Go(func() {
		result <- s.Write(context.Background(), func(tx store.Tx) error {
			must(t, addIn(tx, "a", 1))
			close(held)
			<-stuck
			err := addIn(tx, "a", 10)
			after <- err
			return err
		})
	})
	<-held
	for range 3 {
		must(t, add(s, context.Background(), "b", 1)) // behind it
	}
	close(stuck)
	if err := <-after; err == nil {
		t.Error("it could still write")
	}
	wantSays(t, <-result, "a write was not done in 3s")
	want(t, s, "b=3")
}

func closed(t *testing.T, p Place) {
	s, ctx := Active(t, p, store.Options{}), context.Background()
	free, held, reading := make(chan struct{}), make(chan struct{}), make(chan struct{})
	first, waits, reads, closes := make(chan error), make(chan error), make(chan error), make(chan error)
	fault.Go(func() {
		first <- s.Write(ctx, func(tx store.Tx) error { close(held); <-free; return addIn(tx, "a", 1) })
	})
	<-held
	noticed := notice(ctx)
	fault.Go(func() { waits <- add(s, noticed, "b", 1) })
	<-noticed.wait
	fault.Go(func() {
		reads <- s.Read(ctx, func(r store.Reader) error {
			close(reading)
			for {
				if _, err := numbersOf(r); err != nil {
					return err
				}
			}
		})
	})
	<-reading
	fault.Go(func() { closes <- s.Close() })
	wantIs(t, <-reads, store.ErrClosed)
	close(free)
	if err := <-waits; err != nil { // it may still have been taken along
		wantIs(t, err, store.ErrClosed)
	}
	must(t, <-first)
	must(t, <-closes)
	must(t, s.Close())
	wantIs(t, add(s, ctx, "c", 1), store.ErrClosed)
	wantIs(t, s.Read(ctx, func(store.Reader) error { return nil }), store.ErrClosed)
	_, err := s.Campaign(ctx)
	wantIs(t, err, store.ErrClosed)
	again := Active(t, p, store.Options{})
	if got := numbers(t, again); got != "a=1" && got != "a=1 b=1" {
		t.Error(got)
	}
}
