package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/runtime/fault"
)

// Term is a time in which one process is the active one. Each has a higher number than those
// before.
type Term struct {
	Number int64
	// Lost is closed once another process may be active. Whether it is, is told by the next
	// Write; until one is, writes go on. Who is told opens the store anew, and campaigns.
	Lost <-chan struct{}
}

// Campaign waits until this process is the active one, and begins a term. From then on it may
// write, until another process begins a later term. A store campaigns once.
func (s *Store) Campaign(ctx context.Context) (Term, error) {
	if err := s.writable(); err != ErrStandby {
		return Term{}, cmp.Or(err, errCampaigned)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.closing, func() { cancel(ErrClosed) })()
	defer cancel(nil)
	election, err := s.engine.Elect(ctx)
	if err != nil {
		return Term{}, cmp.Or(context.Cause(ctx), err)
	}
	number, err := s.raiseTerm(ctx)
	if err != nil {
		return Term{}, join(err, election.Release())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.term != 0 {
		err := errCampaigned
		if s.closed {
			err = ErrClosed
		}
		return Term{}, join(err, election.Release())
	}
	s.election, s.term, s.loop = election, number, make(chan struct{})
	fault.Go(s.write)
	fault.Go(s.watch)
	return Term{number, s.lost}, nil
}

// watch closes lost when the lock is, or the term.
func (s *Store) watch() {
	select {
	case <-s.election.Lost:
	case <-s.loop:
	}
	close(s.lost)
}

func (s *Store) depose(by *DeposedError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deposed = by
}

func readTerm(ctx context.Context, q Querier, share string) (term int64, err error) {
	found := false
	err = q.Query(ctx, "SELECT term FROM store_term"+share, nil, func(row Row) error {
		found = true
		return row.Scan(&term)
	})
	if err == nil && !found {
		err = errors.New("the store has lost its term")
	}
	return term, err
}

func (s *Store) raiseTerm(ctx context.Context) (term int64, err error) {
	batch, err := s.engine.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer batch.Rollback()
	err = batch.Query(ctx, "UPDATE store_term SET term = term + 1 RETURNING term", nil, func(row Row) error {
		return row.Scan(&term)
	})
	if err == nil && term == 0 {
		err = fmt.Errorf("the store has lost its term")
	}
	if err != nil {
		return 0, err
	}
	return term, batch.Commit(ctx)
}
