package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/store"
)

// One is active, the others wait; terms only grow.
func terms(t *testing.T, p Place) {
	ctx := context.Background()
	first := Open(t, p, store.Options{})
	wantIs(t, add(first, ctx, "a", 1), store.ErrStandby)
	one, err := first.Campaign(ctx)
	must(t, err)
	must(t, add(first, ctx, "a", 1))
	_, err = first.Campaign(ctx)
	wantSays(t, err, "campaigned already")

	second := Open(t, p, store.Options{})
	ended, cancel := context.WithCancelCause(ctx)
	why := errors.New("why")
	waiting := notice(ended)
	fault.Go(func() { <-waiting.wait; cancel(why) })
	_, err = second.Campaign(waiting)
	wantIs(t, err, why)
	won := make(chan store.Term)
	fault.Go(func() {
		term, err := second.Campaign(ctx)
		if err != nil {
			t.Error(err)
		}
		won <- term
	})
	must(t, add(first, ctx, "a", 1))
	select {
	case <-won:
		t.Error("two are active")
	case <-one.Lost:
		t.Error("the lock was lost")
	default:
	}
	must(t, first.Close())
	two := <-won
	if two.Number <= one.Number {
		t.Errorf("term %d after %d", two.Number, one.Number)
	}
	must(t, add(second, ctx, "a", 1))
	want(t, second, "a=3")

	third := Open(t, p, store.Options{})
	fault.Go(func() { _, err := third.Campaign(ctx); won <- store.Term{}; wantIs(t, err, store.ErrClosed) })
	must(t, third.Close()) // also of one that campaigns
	<-won
}

// Who was thought to be gone writes no more, and is told.
func deposed(t *testing.T, p Place) {
	ctx := context.Background()
	old := Open(t, p, store.Options{})
	term, err := old.Campaign(ctx)
	must(t, err)
	must(t, add(old, ctx, "a", 1))
	p.Steal(t)
	must(t, add(old, ctx, "a", 1)) // nobody has taken over yet
	later := Active(t, p, store.Options{})
	must(t, add(later, ctx, "a", 10))
	for range 3 {
		wantError[*store.DeposedError](t, add(old, ctx, "a", 100))
	}
	<-term.Lost
	_, err = old.Campaign(ctx)
	wantError[*store.DeposedError](t, err)
	must(t, add(later, ctx, "a", 10))
	want(t, old, "a=22")
}
