package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// A group of writes is ended by its number or its age, so that who was first need not wait long
// for who comes.
const (
	maxGroup    = 256
	maxGroupAge = 20 * time.Millisecond
)

// request is one call of Write. Its function runs in the goroutine of who called, when it is
// given the turn; so a panic goes where it belongs.
type request struct {
	ctx    context.Context
	turn   chan *turn
	gone   chan struct{} // closed when the caller waits no more
	result chan error    // buffered
}

// turn is a transaction for one function, and the end of that.
type turn struct {
	transaction
	ended chan error // buffered
}

// Write calls a function with a transaction, and makes what it does durable, all or nothing. It
// may call the function again, where others that shared a commit with it have spoilt that; only the last call counts.
// What a function reads was written by those before it, none of which is answered before the
// commit. Where it returns an error, panics, or is not done in time, nothing of it stays.
func (s *Store) Write(ctx context.Context, f func(Tx) error) error {
	if err := s.writable(); err != nil {
		return err
	}
	r := &request{ctx, make(chan *turn), make(chan struct{}), make(chan error, 1)}
	select {
	case s.queue <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stop:
		return ErrClosed
	case <-s.loop: // deposed
		return s.writable()
	}
	waiting := ctx.Done()
	for {
		select {
		case t := <-r.turn:
			t.run(f)
			waiting = nil // from now on it is the result that tells
		case <-waiting:
			close(r.gone)
			return context.Cause(ctx)
		case err := <-r.result:
			return err
		}
	}
}

func (t *turn) run(f func(Tx) error) {
	err := errors.New("the function has not returned") // it panics, or ends its goroutine
	defer func() { t.ended <- err }()
	err = f(t)
}

// writable tells why nothing can be written.
func (s *Store) writable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.deposed != nil:
		return s.deposed
	case s.term == 0:
		return ErrStandby
	}
	return nil
}

// write is the only goroutine that writes: it ends with the store, or the term.
func (s *Store) write() {
	defer close(s.loop)
	for {
		select {
		case <-s.stop:
			return
		case r := <-s.queue:
			g := &group{store: s, todo: []*request{r}, begun: time.Now()}
			if err := g.run(); err != nil {
				g.answer(err)
				if deposed, ok := errors.AsType[*DeposedError](err); ok {
					s.depose(deposed)
					return
				}
			}
		}
	}
}

// group is the writes that share a commit.
type group struct {
	store      *Store
	begun      time.Time
	taken      int
	todo, kept []*request // yet to run; having run, and waiting for the commit
	batch      Batch
}

// run ends with all requests answered, or an error for those that are not.
func (g *group) run() error {
	defer func() {
		if g.batch != nil {
			g.batch.Rollback()
		}
	}()
	for r := g.next(); r != nil; r = g.next() {
		if g.batch == nil {
			if err := g.begin(); err != nil {
				g.todo = append(g.todo, r)
				return err
			}
		}
		err, whole := g.call(r)
		if !whole { // those who have run are to run again
			err = cmp.Or(err, errors.New("the transaction was lost"))
			g.todo, g.kept = append(g.kept, g.todo...), nil
			if lost := g.batch.Rollback(); lost != nil {
				err = errors.Join(err, lost)
			}
			g.batch = nil
		}
		if err != nil {
			r.result <- err
			continue
		}
		g.kept = append(g.kept, r)
	}
	return g.commit()
}

// next is who has the turn; nil: the group is complete.
func (g *group) next() *request {
	for {
		var r *request
		if len(g.todo) > 0 {
			r, g.todo = g.todo[0], g.todo[1:]
		} else if g.taken >= maxGroup || time.Since(g.begun) > maxGroupAge {
			return nil
		} else {
			select {
			case r = <-g.store.queue:
				g.taken++
			default:
				return nil
			}
		}
		select {
		case <-r.gone:
		default:
			return r
		}
	}
}

// begin begins the transaction, if the term is still the one that was won. It stays so until
// the commit.
func (g *group) begin() error {
	s := g.store
	ctx, cancel := context.WithTimeout(context.Background(), s.limit)
	defer cancel()
	batch, err := s.engine.Begin(ctx)
	if err != nil {
		return err
	}
	g.batch = batch
	now, err := readTerm(ctx, batch, s.engine.Dialect().Share)
	if err == nil && now != s.term {
		err = &DeposedError{s.term, now}
	}
	return err
}

const savepoint = "turn"

// call gives a request the turn, and takes back what it did if that is not to stay. The
// transaction is not whole any more where the engine has rolled back more than that.
func (g *group) call(r *request) (err error, whole bool) {
	background, cancel := context.WithTimeout(context.Background(), 2*g.store.limit)
	defer cancel()
	if _, err := g.batch.Exec(background, "SAVEPOINT "+savepoint, nil); err != nil {
		return err, false
	}
	err = g.take(r)
	if err == nil {
		_, err = g.batch.Exec(background, "RELEASE SAVEPOINT "+savepoint, nil)
		return err, err == nil
	}
	for _, undo := range []string{"ROLLBACK TO SAVEPOINT ", "RELEASE SAVEPOINT "} {
		if _, lost := g.batch.Exec(background, undo+savepoint, nil); lost != nil {
			return err, false
		}
	}
	return err, true
}

// take lets a request have its turn, until its function has ended or its time is over: then
// whatever the function still does is done to nothing.
func (g *group) take(r *request) error {
	late := fmt.Errorf("a write was not done in %v", g.store.limit)
	ctx, cancel := context.WithTimeoutCause(r.ctx, g.store.limit, late)
	defer cancel()
	t := &turn{transaction{ctx: ctx, querier: g.batch, batch: g.batch}, make(chan error, 1)}
	select {
	case r.turn <- t:
	case <-r.gone:
		return context.Canceled // nobody reads it
	}
	var err error
	select {
	case err = <-t.ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return t.end(err)
}

// commit ends the group.
func (g *group) commit() error {
	if g.batch == nil || len(g.kept) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.store.limit)
	defer cancel()
	begun := time.Now()
	if err := g.batch.Commit(ctx); err != nil {
		return &CommitError{err}
	}
	g.batch = nil
	s := g.store
	s.mu.Lock()
	s.stats.Commits++
	s.stats.CommitTime += time.Since(begun)
	s.stats.Writes += int64(len(g.kept))
	s.mu.Unlock()
	g.answer(nil)
	return nil
}

// answer tells all who have not been told.
func (g *group) answer(err error) {
	for _, r := range append(g.kept, g.todo...) {
		r.result <- err
	}
	g.kept, g.todo = nil, nil
}
