package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tenetcm/tenet/server/store"
)

// connection is a transaction on a connection.
type connection struct {
	engine  *Engine
	conn    *sqlite.Conn
	release func() // called once the transaction has ended; nil: nothing
	done    <-chan struct{}
	ended   bool
}

// bind lets a context end the statements that follow.
func (c *connection) bind(ctx context.Context) {
	if done := ctx.Done(); done != c.done {
		c.conn.SetInterrupt(done)
		c.done = done
	}
}

// Query is store.Querier's.
func (c *connection) Query(ctx context.Context, sql string, args []any, each func(store.Row) error) (err error) {
	c.bind(ctx)
	stmt, err := c.prepare(sql, args)
	if err != nil {
		return c.engine.explain(err)
	}
	defer func() { err = errors.Join(err, stmt.Reset()) }()
	for {
		more, err := stmt.Step()
		if err != nil {
			stmt.Reset() // which tells the same again
			return c.engine.explain(err)
		}
		if !more {
			return nil
		}
		row, err := columns(stmt)
		if err == nil {
			err = each(row)
		}
		if err != nil {
			return err
		}
	}
}

// Exec is store.Batch's.
func (c *connection) Exec(ctx context.Context, sql string, args []any) (int64, error) {
	err := c.Query(ctx, sql, args, func(store.Row) error { return nil })
	return int64(c.conn.Changes()), err
}

// Script is store.Batch's.
func (c *connection) Script(ctx context.Context, sql string) error {
	c.bind(ctx)
	for rest := strings.TrimSpace(sql); rest != ""; {
		stmt, trailing, err := c.conn.PrepareTransient(rest)
		if err != nil {
			return c.engine.explain(err)
		}
		_, err = stmt.Step()
		if err = errors.Join(err, stmt.Finalize()); err != nil {
			return c.engine.explain(err)
		}
		rest = strings.TrimSpace(rest[len(rest)-trailing:])
	}
	return nil
}

func (c *connection) prepare(sql string, args []any) (*sqlite.Stmt, error) {
	stmt, err := c.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	if n := stmt.BindParamCount(); n != len(args) {
		return nil, fmt.Errorf("%d arguments for %d parameters: %s", len(args), n, sql)
	}
	for i := range args { // $2 may stand before $1
		n, err := strconv.Atoi(strings.TrimPrefix(stmt.BindParamName(i+1), "$"))
		if err != nil || n < 1 || n > len(args) {
			return nil, fmt.Errorf("there is no argument for %q: %s", stmt.BindParamName(i+1), sql)
		}
		bind(stmt, i+1, args[n-1])
	}
	return stmt, nil
}

func bind(stmt *sqlite.Stmt, i int, arg any) {
	switch arg := arg.(type) {
	case nil:
		stmt.BindNull(i)
	case int64:
		stmt.BindInt64(i, arg)
	case string:
		stmt.BindText(i, arg)
	case []byte:
		bindBytes(stmt, i, arg)
	}
}

// bindBytes keeps an empty value from becoming NULL.
func bindBytes(stmt *sqlite.Stmt, i int, b []byte) {
	if len(b) == 0 {
		stmt.BindZeroBlob(i, 0)
		return
	}
	stmt.BindBytes(i, b)
}

func columns(stmt *sqlite.Stmt) (store.Row, error) {
	row := make(store.Row, stmt.ColumnCount())
	for i := range row {
		switch kind := stmt.ColumnType(i); kind {
		case sqlite.TypeNull:
		case sqlite.TypeInteger:
			row[i] = stmt.ColumnInt64(i)
		case sqlite.TypeText:
			row[i] = stmt.ColumnText(i)
		case sqlite.TypeBlob:
			b := make([]byte, stmt.ColumnLen(i))
			stmt.ColumnBytes(i, b)
			row[i] = b
		default:
			return nil, fmt.Errorf("column %d is of type %v: a CAST makes it a BIGINT or TEXT", i+1, kind)
		}
	}
	return row, nil
}

// Commit is store.Batch's.
func (c *connection) Commit(ctx context.Context) error {
	if c.conn.AutocommitEnabled() {
		return errors.New("the transaction was rolled back")
	}
	_, err := c.Exec(ctx, "COMMIT", nil)
	if err == nil {
		c.end()
	}
	return err
}

// Rollback is store.Batch's.
func (c *connection) Rollback() error {
	if c.ended {
		return nil
	}
	defer c.end()
	c.bind(context.Background())
	if c.conn.AutocommitEnabled() {
		return nil
	}
	return sqlitex.ExecuteTransient(c.conn, "ROLLBACK", nil)
}

func (c *connection) end() {
	c.ended = true
	c.bind(context.Background())
	if c.release != nil {
		c.release()
	}
}
