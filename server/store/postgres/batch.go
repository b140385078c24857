package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tenetcm/tenet/server/store"
)

// batch is a transaction on a connection.
type batch struct {
	conn    *pgx.Conn
	release func() // called once the transaction has ended; nil: nothing
	ended   bool
}

// Query is store.Querier's.
func (b *batch) Query(ctx context.Context, sql string, args []any, each func(store.Row) error) error {
	_, err := b.query(ctx, sql, args, each)
	return err
}

// query uses the extended protocol always, which takes but one statement.
func (b *batch) query(ctx context.Context, sql string, args []any, each func(store.Row) error) (changed int64, err error) {
	rows, err := b.conn.Query(ctx, sql, args...)
	if err != nil {
		return 0, explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		all, err := rows.Values()
		if err != nil {
			return 0, explain(err)
		}
		if err := plain(all); err != nil {
			return 0, err
		}
		if err := each(all); err != nil {
			return 0, err
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return 0, explain(err)
	}
	return rows.CommandTag().RowsAffected(), nil
}

// plain makes the values of a row what a store gives.
func plain(row []any) error {
	for i, v := range row {
		switch v := v.(type) {
		case nil, int64, string, []byte:
		case int32:
			row[i] = int64(v)
		case int16:
			row[i] = int64(v)
		case bool:
			row[i] = int64(0)
			if v {
				row[i] = int64(1)
			}
		default:
			return fmt.Errorf("column %d is a %T: a CAST makes it a BIGINT or TEXT", i+1, v)
		}
	}
	return nil
}

// Exec is store.Batch's.
func (b *batch) Exec(ctx context.Context, sql string, args []any) (int64, error) {
	return b.query(ctx, sql, args, func(store.Row) error { return nil })
}

// Script is store.Batch's.
func (b *batch) Script(ctx context.Context, sql string) error {
	_, err := b.conn.PgConn().Exec(ctx, sql).ReadAll()
	return explain(err)
}

// Commit is store.Batch's.
func (b *batch) Commit(ctx context.Context) error {
	tag, err := b.conn.PgConn().Exec(ctx, "COMMIT").ReadAll()
	if err == nil && (len(tag) != 1 || tag[0].CommandTag.String() != "COMMIT") {
		err = errors.New("PostgreSQL has rolled the transaction back")
	}
	if err != nil {
		return explain(err)
	}
	b.end()
	return nil
}

// Rollback is store.Batch's. Where that fails the connection is of no use any more, and
// PostgreSQL rolls back by itself.
func (b *batch) Rollback() error {
	if b.ended {
		return nil
	}
	defer b.end()
	ctx, cancel := context.WithTimeout(context.Background(), cancelDelay)
	defer cancel()
	if b.conn.IsClosed() {
		return nil
	}
	if _, err := b.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		b.conn.Close(ctx)
	}
	return nil
}

func (b *batch) end() {
	b.ended = true
	if b.release != nil {
		b.release()
	}
}
