package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// transaction is what functions get: it keeps them to the rules, and to their time.
type transaction struct {
	ctx     context.Context
	querier Querier
	batch   Batch // nil: only to read

	mu     sync.Mutex // held while a statement runs
	inside bool       // a query is calling its function
	failed error      // by which the transaction does no more
}

// Query is Reader's. Where the connection is shared with the next function, the rows are taken
// off it before each is called, since nobody knows when that returns.
func (t *transaction) Query(sql string, args []any, each func(Row) error) error {
	if t.batch == nil {
		return t.stream(sql, args, each)
	}
	var rows []Row
	err := t.run(sql, args, func(args []any) error {
		return t.batch.Query(t.ctx, sql, args, func(row Row) error {
			rows = append(rows, row)
			return nil
		})
	})
	if err != nil {
		return err
	}
	t.enter(true)
	defer t.enter(false)
	for _, row := range rows {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) enter(inside bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside = inside
}

func (t *transaction) stream(sql string, args []any, each func(Row) error) error {
	var own error // of each: not the statement's
	err := t.run(sql, args, func(args []any) error {
		t.inside = true
		defer func() { t.inside = false }()
		err := t.querier.Query(t.ctx, sql, args, func(row Row) error {
			t.mu.Unlock() // each may call us, which is told to it
			defer t.mu.Lock()
			own = each(row)
			return own
		})
		if own != nil {
			return nil
		}
		return err
	})
	if own != nil {
		return own
	}
	return err
}

// Exec is Tx's.
func (t *transaction) Exec(sql string, args ...any) (changed int64, err error) {
	err = t.run(sql, args, func(args []any) error {
		changed, err = t.batch.Exec(t.ctx, sql, args)
		return err
	})
	return changed, err
}

func (t *transaction) run(sql string, args []any, f func([]any) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return t.failed
	}
	err := context.Cause(t.ctx)
	if err == nil && t.inside {
		err = errors.New("a statement within a query: end the query first")
	}
	if err == nil {
		err = t.allowed(sql)
	}
	if err == nil {
		args, err = values(args)
	}
	if err == nil {
		err = f(args)
	}
	if err != nil && t.failed == nil {
		if cause := context.Cause(t.ctx); cause != nil {
			err = cause // whatever the engine makes of it
		}
		t.failed = err
	}
	return err
}

// allowed keeps transactions and tables out of the hands of functions.
func (t *transaction) allowed(sql string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	first, _, _ = strings.Cut(first, "\n")
	switch strings.ToUpper(first) {
	case "SELECT", "WITH", "VALUES":
		return nil
	case "INSERT", "UPDATE", "DELETE":
		if t.batch != nil {
			return nil
		}
		return fmt.Errorf("%s while only reading", first)
	}
	return fmt.Errorf("a statement that begins with %q is not for transactions", first)
}

// end lets nothing more happen, after a statement under way, and tells what the transaction has
// come to when its function has returned err.
func (t *transaction) end(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		err = t.failed
	}
	t.failed = cmp.Or(t.failed, errEnded)
	return err
}
