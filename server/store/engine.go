package store

import (
	"context"
	"regexp"
)

// Engine is a database as a Store needs it: it knows neither terms nor migrations nor groups.
type Engine interface {
	// Snapshot calls a function with one consistent state, which it can only read.
	Snapshot(ctx context.Context, f func(Querier) error) error
	// Begin begins a transaction that writes; it waits while there is another one that may
	// change the same.
	Begin(ctx context.Context) (Batch, error)
	// Elect waits until no other process is elected.
	Elect(ctx context.Context) (*Election, error)
	// Dialect says what is to be said otherwise to this engine.
	Dialect() Dialect
	// Close lets go of the database. Nothing is under way any more.
	Close() error
}

// Querier runs queries. Its arguments have been checked: nil, int64, string, []byte.
type Querier interface {
	// Query calls each for every row. A context that is done ends it.
	Query(ctx context.Context, sql string, args []any, each func(Row) error) error
}

// Batch is a transaction that writes. When a statement fails the engine may have rolled all of
// it back: then the savepoints are gone.
type Batch interface {
	Querier
	// Exec runs a statement, and returns how many rows it changed.
	Exec(ctx context.Context, sql string, args []any) (int64, error)
	// Script runs statements without parameters.
	Script(ctx context.Context, sql string) error
	// Commit makes the transaction durable.
	Commit(ctx context.Context) error
	// Rollback ends the transaction where that has not happened yet.
	Rollback() error
}

// Election is a lock that one process has at a time.
type Election struct {
	Lost    <-chan struct{} // closed when the lock was lost; nil: it is not before Release
	Release func() error
}

// Dialect says where engines differ.
type Dialect struct {
	Words     map[string]string // what TEXT, BIGINT, BYTES and STRICT are in migrations
	Exclusive string            // a statement that lets only one transaction make tables; "": Begin does
	Share     string            // ends a query whose rows must stay as they are until the commit
	// Columns is a query for the table and name of all columns, but those of tables whose names
	// begin with store_, with the tables as they were made, and the columns as they stand there.
	Columns string
	// Used is a query that counts the tables with the name store_migrations.
	Used string
}

// translate puts the words of the dialect into a migration.
func (d Dialect) translate(sql string) string {
	return regexp.MustCompile(`\b(TEXT|BIGINT|BYTES|STRICT)\b`).ReplaceAllStringFunc(sql, func(w string) string {
		if own, ok := d.Words[w]; ok {
			return own
		}
		return w
	})
}
