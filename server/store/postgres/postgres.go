// Package postgres keeps a store in a database of PostgreSQL, for servers on several machines:
// one is active, the others stand by.
//
// It connects directly: through a pool that hands sessions around (pgbouncer), the lock that
// elects would belong to nobody.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

const (
	readers    = 8
	minVersion = 140000 // idle_session_timeout
	// A session that says nothing for so long, in a transaction or with the lock, belongs to a
	// process that is stopped, or cut off: PostgreSQL ends it, by its own clock.
	silence = 30 * time.Second
	// cancelDelay is how long a statement has to end once it was asked to.
	cancelDelay = 5 * time.Second

	idleSession     = "idle_session_timeout"
	idleTransaction = "idle_in_transaction_session_timeout"
)

// Engine is a database that is open.
type Engine struct {
	config  *pgx.ConnConfig
	readers *pgxpool.Pool
	mu      sync.Mutex // held by a transaction
	writer  *pgx.Conn  // nil: yet to be connected
}

// Open connects to the database of a URL, postgres://….
func Open(ctx context.Context, url string) (*Engine, error) {
	pool, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &diag.HintError{Message: err.Error(), Hint: "a database is named as in postgres://user@host/database?sslmode=verify-full", Err: err}
	}
	pool.MaxConns = readers
	e := &Engine{config: pool.ConnConfig}
	e.config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelDelay}
	}
	if e.config.RuntimeParams["application_name"] == "" {
		e.config.RuntimeParams["application_name"] = "tenet"
	}
	if e.readers, err = pgxpool.NewWithConfig(ctx, pool); err != nil {
		return nil, explain(err)
	}
	if err := e.check(ctx); err != nil {
		e.readers.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) check(ctx context.Context) error {
	var version int
	var name, encoding string
	err := e.readers.QueryRow(ctx, "SELECT CAST(current_setting('server_version_num') AS INT), current_setting('server_version'), current_setting('server_encoding')").
		Scan(&version, &name, &encoding)
	switch {
	case err != nil:
		return explain(err)
	case version < minVersion:
		return &diag.HintError{Message: "this is PostgreSQL " + name, Hint: "14 is the oldest version that will do"}
	case encoding != "UTF8":
		return &diag.HintError{Message: "the database's encoding is " + encoding, Hint: "make one with ENCODING 'UTF8' TEMPLATE template0"}
	}
	return nil
}

// connect makes a connection of its own, which PostgreSQL ends after a silence of the kind that
// a parameter names.
func (e *Engine) connect(ctx context.Context, param string, after time.Duration) (*pgx.Conn, error) {
	config := e.config.Copy()
	config.RuntimeParams[param] = fmt.Sprint(after.Milliseconds())
	if param == idleSession { // which waits for what may come: a deadline ends that
		config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
		}
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(err)
	}
	return c, nil
}

// Snapshot is store.Engine's.
func (e *Engine) Snapshot(ctx context.Context, f func(store.Querier) error) error {
	c, err := e.readers.Acquire(ctx)
	if err != nil {
		return explain(err)
	}
	defer c.Release()
	b := &batch{conn: c.Conn()}
	if _, err := b.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil); err != nil {
		return err
	}
	defer b.Rollback()
	return f(b)
}

// Begin is store.Engine's.
func (e *Engine) Begin(ctx context.Context) (store.Batch, error) {
	e.mu.Lock()
	b, err := e.begin(ctx)
	if err != nil {
		e.mu.Unlock()
		return nil, err
	}
	b.release = e.mu.Unlock
	return b, nil
}

func (e *Engine) begin(ctx context.Context) (*batch, error) {
	if e.writer != nil {
		b := &batch{conn: e.writer}
		if _, err := b.Exec(ctx, "BEGIN", nil); err == nil || !e.writer.IsClosed() {
			return b, err
		}
		e.writer = nil // it was lost while nothing was said
	}
	c, err := e.connect(ctx, idleTransaction, 2*silence)
	if err != nil {
		return nil, err
	}
	b := &batch{conn: c}
	for _, sql := range []string{
		// Other values than off are the administrator's business.
		"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'", "BEGIN",
	} {
		if _, err := b.Exec(ctx, sql, nil); err != nil {
			return nil, errors.Join(err, c.Close(ctx))
		}
	}
	e.writer = c
	return b, nil
}

// Size tells how many bytes the database takes on its machine, with all that others keep in it.
func (e *Engine) Size(ctx context.Context) (bytes int64, err error) {
	if err := e.readers.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes); err != nil {
		return 0, explain(err)
	}
	return bytes, nil
}

// Dialect is store.Engine's.
func (e *Engine) Dialect() store.Dialect {
	return store.Dialect{
		Words:     map[string]string{"TEXT": `TEXT COLLATE "C"`, "BYTES": "BYTEA", "STRICT": ""},
		Exclusive: "SELECT pg_advisory_xact_lock(hashtextextended('tenet tables ' || current_schema(), 0))",
		Share:     " FOR SHARE",
		Columns: `SELECT c.relname, a.attname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
			WHERE n.nspname = current_schema() AND c.relkind = 'r' AND left(c.relname, 6) <> 'store_' AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY c.oid, a.attnum`,
		Used: "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'store_migrations'",
	}
}

// Close is store.Engine's.
func (e *Engine) Close() error {
	e.readers.Close()
	if e.writer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cancelDelay)
	defer cancel()
	return e.writer.Close(ctx)
}

func explain(err error) error {
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return &diag.HintError{Message: "PostgreSQL cannot be reached: " + e.Error(), Hint: "is it running, and does it let this account in (pg_hba.conf)?", Err: err}
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return err
	case e.Code == "23505":
		return &store.UniqueError{Err: err}
	case e.Code == "53100":
		return &diag.HintError{Message: "PostgreSQL's disk is full: " + e.Message, Hint: "make room there", Err: err}
	case e.Code == "25006", e.Code == "42501":
		return &diag.HintError{Message: err.Error(), Hint: "the database must be one that can be written, of this account's own", Err: err}
	case strings.HasPrefix(e.Code, "XX"):
		return &diag.HintError{Message: "PostgreSQL has found damage: " + e.Message, Hint: "look at its log and its disk; restore the last backup into another database", Err: err}
	}
	return err
}
