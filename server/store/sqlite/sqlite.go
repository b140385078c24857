// Package sqlite keeps a store in a folder, by SQLite: one process writes, and any number on the
// same machine reads.
//
// The folder holds the database (tenet.db, and beside it what SQLite puts there), the file
// lock, which the active process has locked, and while there is one the file running. It must be on a disk of this machine: SQLite's shared memory, and
// locks, are not to be trusted on a network.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

const (
	databaseName = "tenet.db"
	lockName     = "lock"
	readers      = 8
	// SQLITE_OPEN_NOFOLLOW: the database is no symbolic link.
	noFollow sqlite.OpenFlags = 0x01000000
)

// Engine is a folder that is open.
type Engine struct {
	dir     string // without symbolic links
	readers *sqlitex.Pool
	mu      sync.Mutex // held by a transaction
	writer  *sqlite.Conn
	// isWhole: it was looked whether the database is. isDoubtful: the disk, or what is read from it, was not as it should be.
	isWhole    bool
	isDoubtful atomic.Bool
}

// Open opens a folder, and makes it where there is none. It must be empty, or a store.
func Open(ctx context.Context, dir string) (*Engine, error) {
	dir, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir}
	name := dir + "/" + databaseName
	e.writer, err = sqlite.OpenConn(name, sqlite.OpenReadWrite|noFollow)
	if err != nil {
		return nil, e.explain(err)
	}
	if err = e.setUp(ctx); err == nil {
		err = e.checkIfFree(ctx)
	}
	if err == nil {
		e.readers, err = sqlitex.NewPool(name, sqlitex.PoolOptions{Flags: sqlite.OpenReadWrite | noFollow, PoolSize: readers,
			PrepareConn: func(c *sqlite.Conn) error { return run(c, "PRAGMA query_only = ON", "PRAGMA case_sensitive_like = ON") }})
	}
	if err != nil {
		return nil, errors.Join(e.explain(err), e.writer.Close())
	}
	return e, nil
}

// setUp makes commits durable.
func (e *Engine) setUp(ctx context.Context) error {
	e.writer.SetInterrupt(ctx.Done())
	defer e.writer.SetInterrupt(nil)
	err := writeAhead(ctx, e.writer)
	if err != nil {
		return err
	}
	return run(e.writer, "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", "PRAGMA case_sensitive_like = ON",
		"PRAGMA journal_size_limit = 67108864") // what a large transaction leaves is given back
}

// writeAhead has the database keep a write-ahead log. Of several that do so to a new one at once SQLite lets all but one fail, without waiting.
func writeAhead(ctx context.Context, c *sqlite.Conn) error {
	const patience, pause = 10 * time.Second, 20 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		err := run(c, "PRAGMA journal_mode = WAL")
		if err == nil || sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func run(c *sqlite.Conn, statements ...string) error {
	for _, s := range statements {
		if err := sqlitex.ExecuteTransient(c, s, nil); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Snapshot is store.Engine's.
func (e *Engine) Snapshot(ctx context.Context, f func(store.Querier) error) error {
	c, err := e.readers.Take(ctx)
	if err != nil {
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		return e.explain(err)
	}
	defer e.readers.Put(c)
	q := &connection{engine: e, conn: c}
	if _, err := q.Exec(ctx, "BEGIN", nil); err != nil {
		return err
	}
	defer q.Rollback()
	return f(q)
}

// Begin is store.Engine's. Another process that changes the database is waited for.
func (e *Engine) Begin(ctx context.Context) (store.Batch, error) {
	e.mu.Lock()
	q := &connection{engine: e, conn: e.writer, release: e.mu.Unlock}
	if _, err := q.Exec(ctx, "BEGIN IMMEDIATE", nil); err != nil {
		return nil, errors.Join(err, q.Rollback())
	}
	return q, nil
}

// Dialect is store.Engine's.
func (e *Engine) Dialect() store.Dialect {
	return store.Dialect{
		// INT and not INTEGER: a primary key is given, and never made up.
		Words: map[string]string{"BIGINT": "INT", "BYTES": "BLOB"},
		Columns: `SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
			AND substr(t.name, 1, 7) <> 'sqlite_' AND substr(t.name, 1, 6) <> 'store_' ORDER BY t.rowid, c.cid`,
		Used: "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'store_migrations'",
	}
}

// FreeSpace tells which share of the volume is free for this account. Pages of the database that nothing is in count as free: the file does not
// shrink, and what comes next takes them.
func (e *Engine) FreeSpace() (float64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(e.dir, &s); err != nil {
		return 0, fmt.Errorf("%s: %w", e.dir, err)
	}
	if s.Blocks == 0 {
		return 0, fmt.Errorf("%s: the file system does not tell its size", e.dir)
	}
	free, err := e.freeBytes()
	if err != nil {
		return 0, err
	}
	size := float64(s.Blocks) * float64(s.Bsize)
	return min(1, (float64(s.Bavail)*float64(s.Bsize)+free)/size), nil
}

// freeBytes is how much of the database is free.
func (e *Engine) freeBytes() (float64, error) {
	c, err := e.readers.Take(context.Background())
	if err != nil {
		return 0, err
	}
	defer e.readers.Put(c)
	free := 1.0
	for _, of := range []string{"PRAGMA freelist_count", "PRAGMA page_size"} {
		if err := sqlitex.ExecuteTransient(c, of, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			free *= float64(s.ColumnInt64(0))
			return nil
		}}); err != nil {
			return 0, err
		}
	}
	return free, nil
}

// Close is store.Engine's.
func (e *Engine) Close() error {
	return errors.Join(e.readers.Close(), e.writer.Close())
}

func (e *Engine) explain(err error) error {
	message, advice := "", ""
	switch code := sqlite.ErrCode(err); code.ToPrimary() {
	case sqlite.ResultConstraint:
		if code == sqlite.ResultConstraintUnique || code == sqlite.ResultConstraintPrimaryKey {
			return &store.UniqueError{Err: err}
		}
		return err
	case sqlite.ResultFull:
		message, advice = "the disk is full", "make room there"
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		e.isDoubtful.Store(true)
		return e.damaged(err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm, sqlite.ResultAuth:
		message, advice = "the database cannot be written", "is it on a read-only file system, a symbolic link, or another account's?"
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultInterrupt:
		message, advice = "another program holds the database", "end it: sqlite3 and backup programs must not stay in a transaction"
	case sqlite.ResultIOErr:
		e.isDoubtful.Store(true)
		message, advice = "the disk fails", "look at the kernel's messages (dmesg)"
	default:
		return err
	}
	return &diag.HintError{Message: e.dir + ": " + message + ": " + err.Error(), Hint: advice, Err: err}
}

func (e *Engine) damaged(err error) error {
	if _, ok := errors.AsType[*diag.HintError](err); ok {
		return err
	}
	return &diag.HintError{Message: e.dir + "/" + databaseName + " is damaged: " + err.Error(),
		Hint: "move the folder aside, keep it, and restore the last backup; then look at the disk", Err: err}
}
