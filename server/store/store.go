// Package store keeps what a server must not lose, in a database that lasts.
//
// A Store reads in consistent snapshots, and writes in transactions that are durable once Write
// has returned nil. What it is kept in is an Engine: SQLite (package sqlite) or PostgreSQL
// (package postgres). Both pass the suite of package storetest, and all that is not the
// database's own business is here, once: the order and grouping of commits, terms, migrations,
// backups.
//
// # SQL
//
// Packages of the server write their own SQL, in what both engines take alike:
//
//   - Parameters are $1, $2, …; their types must be plain from where they stand, or from a CAST.
//   - Values are TEXT (UTF-8 without NUL, compared by bytes), BIGINT (integers, booleans as 0 and
//     1, times as microseconds since 1970 in UTC), BYTES, each NULL or not. A value or text has
//     at most MaxValue bytes. A sum is a CAST(SUM(x) AS BIGINT).
//   - Conditions are comparisons: "enabled = 1", not "enabled". LIKE is given its ESCAPE.
//   - A row that is there already is changed by INSERT … ON CONFLICT … DO UPDATE.
//   - A statement is a single SELECT, INSERT, UPDATE, DELETE, WITH or VALUES. Tables are made by
//     migrations.
//   - Rows come in the order that ORDER BY gives, and otherwise in any.
package store

import (
	"context"
	"sync"
	"time"
)

// Reader answers queries from one consistent state.
type Reader interface {
	// Query calls each for every row of the answer, in order, until it returns an error. The row
	// may be kept. No other query may be made from within each.
	Query(sql string, args []any, each func(Row) error) error
}

// Tx is a transaction under way. After a statement has failed, whatever the reason, the
// transaction does no more, and Write fails with that error.
type Tx interface {
	Reader
	// Exec runs a statement, and returns how many rows it changed.
	Exec(sql string, args ...any) (int64, error)
}

// Options of a store. The zero value works.
type Options struct {
	// Migrations are the tables that the program works with.
	Migrations []Migration
	// BeforeMigration is called before a store that is in use already gets further migrations;
	// Backup works there. An error leaves the store as it is.
	BeforeMigration func(*Store) error
	// Limit is how long a function given to Write, the begin of a transaction and its commit may
	// take each; 0: 30 s.
	Limit time.Duration
}

// Stats count what a store has done since it was opened.
type Stats struct {
	Writes  int64 // functions that Write has run and made durable
	Commits int64 // transactions that made them durable: each is one wait for the disk
	// CommitTime is how long the commits took, in sum.
	CommitTime time.Duration
}

// Store is a database that is open. It may be used by many goroutines.
type Store struct {
	engine Engine
	limit  time.Duration

	queue chan *request // of writes that wait
	stop  chan struct{} // closed by Close
	loop  chan struct{} // closed when the writer has ended; nil until a term is won

	closing context.Context // done with Close
	cancel  context.CancelCauseFunc
	reads   sync.RWMutex // held by reads, and for good by Close

	mu       sync.Mutex
	election *Election
	term     int64 // that was won; 0: none
	deposed  *DeposedError
	lost     chan struct{} // closed with deposed, or with the lock of the election
	closed   bool
	stats    Stats
}

// New makes a store of an engine, which it owns from then on, also where it fails. Tables that lack are
// made first.
func New(ctx context.Context, engine Engine, o Options) (*Store, error) {
	s := &Store{engine: engine, limit: o.Limit, queue: make(chan *request), stop: make(chan struct{}), lost: make(chan struct{})}
	if s.limit == 0 {
		s.limit = 30 * time.Second
	}
	s.closing, s.cancel = context.WithCancelCause(context.Background())
	if err := s.migrate(ctx, o); err != nil {
		return nil, join(err, engine.Close())
	}
	return s, nil
}

// Read calls a function with one consistent snapshot, which neither waits for writers nor makes
// them wait. The function makes no other call to the store.
func (s *Store) Read(ctx context.Context, f func(Reader) error) error {
	if !s.reads.TryRLock() {
		return ErrClosed
	}
	defer s.reads.RUnlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.closing, func() { cancel(ErrClosed) })()
	defer cancel(nil)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.engine.Snapshot(ctx, func(q Querier) error {
		t := &transaction{ctx: ctx, querier: q}
		defer t.end(nil)
		return t.end(f(t))
	})
}

// Stats tells what was done until now.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// FreeSpace tells which share of the volume that the store is on is free, from 0 to 1; known is
// false where that cannot be told.
func (s *Store) FreeSpace() (share float64, known bool, err error) {
	if e, ok := s.engine.(interface{ FreeSpace() (float64, error) }); ok {
		share, err = e.FreeSpace()
		return share, err == nil, err
	}
	return 0, false, nil
}

// Size tells how many bytes all of it takes, where the engine is a database on another machine, whose volume cannot be seen; known is false
// where FreeSpace tells more.
func (s *Store) Size(ctx context.Context) (bytes int64, known bool, err error) {
	if e, ok := s.engine.(interface {
		Size(context.Context) (int64, error)
	}); ok {
		bytes, err = e.Size(ctx)
		return bytes, err == nil, err
	}
	return 0, false, nil
}

// Close ends all reads, waits for the writes under way, refuses those that wait, and lets go of
// the term.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stop)
	loop, election := s.loop, s.election
	s.mu.Unlock()
	s.cancel(ErrClosed)
	if loop != nil {
		<-loop
	}
	s.reads.Lock()
	var err error
	if election != nil {
		err = election.Release()
	}
	return join(err, s.engine.Close())
}
