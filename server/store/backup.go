package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Backup writes all rows of one snapshot, in a form that either engine restores. It may run
// beside everything else. What it writes holds whatever the store holds: who calls seals it.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	f, err := writeFrames(w)
	if err != nil {
		return err
	}
	rows := uint64(0)
	err = s.engine.Snapshot(ctx, func(q Querier) error {
		h := header{At: time.Now().UnixMicro()}
		if h.Migrations, err = history(ctx, q); err != nil {
			return err
		}
		if h.Term, err = readTerm(ctx, q, ""); err != nil {
			return err
		}
		if err := f.writeJSON('H', h); err != nil {
			return err
		}
		all, err := columns(ctx, q, s.engine.Dialect())
		if err != nil {
			return err
		}
		for _, t := range all {
			if err := f.writeJSON('T', t); err != nil {
				return err
			}
			err := q.Query(ctx, "SELECT "+t.columns()+" FROM "+quote(t.Name), nil, func(row Row) error {
				rows++
				return f.write('R', encodeRow(row))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the backup is not whole: %w", err)
	}
	return f.end(rows)
}

// columns are the tables with their columns, as they were made.
func columns(ctx context.Context, q Querier, d Dialect) (all []table, err error) {
	err = q.Query(ctx, d.Columns, nil, func(row Row) error {
		var name, column string
		if err := row.Scan(&name, &column); err != nil {
			return err
		}
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, table{Name: name})
		}
		last := &all[len(all)-1]
		last.Columns = append(last.Columns, column)
		return nil
	})
	return all, err
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (t table) columns() string {
	var all []string
	for _, c := range t.Columns {
		all = append(all, quote(c))
	}
	return strings.Join(all, ", ")
}

func (t table) insert() string {
	var all []string
	for i := range t.Columns {
		all = append(all, fmt.Sprintf("$%d", i+1))
	}
	return "INSERT INTO " + quote(t.Name) + " (" + t.columns() + ") VALUES (" + strings.Join(all, ", ") + ")"
}

// Restore puts a backup into an engine whose store was never used, in one transaction: whatever
// happens meanwhile, all of it is there afterwards, or nothing. The tables get the migrations
// that they had, then the rows, then the migrations that have come since. Last, mark may leave
// word of it in the same transaction. Terms go on after those of the backup.
func Restore(ctx context.Context, engine Engine, migrations []Migration, r io.Reader, mark func(Tx) error) error {
	for _, m := range migrations {
		if err := m.check(); err != nil {
			return err
		}
	}
	s := &Store{engine: engine}
	return s.exclusively(ctx, func(b Batch) error {
		had, err := history(ctx, b)
		if err != nil {
			return err
		}
		others, err := columns(ctx, b, engine.Dialect())
		if err != nil {
			return err
		}
		if len(had) > 0 || len(others) > 0 {
			return hint("the store is not empty, and a backup takes the place of nothing", "give a folder or database of its own", nil)
		}
		f, err := readFrames(r)
		if err == nil {
			err = s.restore(ctx, b, migrations, f)
		}
		if err != nil {
			return hint("the backup cannot be restored: "+err.Error(), "nothing was changed; take another one", err)
		}
		t := &transaction{ctx: ctx, querier: b, batch: b}
		return t.end(mark(t))
	})
}

func (s *Store) restore(ctx context.Context, b Batch, migrations []Migration, f *reading) error {
	kind, data, err := f.next()
	if err != nil {
		return err
	}
	var h header
	if kind != 'H' || json.Unmarshal(data, &h) != nil || h.Term < 0 {
		return errDamaged
	}
	if len(h.Migrations) > len(migrations) {
		return fmt.Errorf("a newer program has made it (migration %d, %q)", len(h.Migrations), h.Migrations[len(h.Migrations)-1].Name)
	}
	for i, m := range h.Migrations {
		if m.Number != i+1 {
			return errDamaged
		}
	}
	if err := suits(h.Migrations, migrations); err != nil {
		return err
	}
	if err := s.apply(ctx, b, migrations, 0, len(h.Migrations)); err != nil {
		return err
	}
	if err := s.load(ctx, b, f); err != nil {
		return err
	}
	if _, err := b.Exec(ctx, "UPDATE store_term SET term = $1", []any{h.Term}); err != nil {
		return err
	}
	return s.apply(ctx, b, migrations, len(h.Migrations), len(migrations))
}

// load puts rows into tables, until the end.
func (s *Store) load(ctx context.Context, b Batch, f *reading) error {
	known := map[string]int{}
	all, err := columns(ctx, b, s.engine.Dialect())
	if err != nil {
		return err
	}
	for _, t := range all {
		known[t.insert()] = len(t.Columns)
	}
	insert, rows := "", uint64(0)
	for {
		kind, data, err := f.next()
		if err != nil {
			return err
		}
		switch kind {
		case 'T':
			var t table
			if err := json.Unmarshal(data, &t); err != nil {
				return errDamaged
			}
			if insert = t.insert(); known[insert] == 0 {
				return fmt.Errorf("it has a table %q that this store has not", t.Name)
			}
		case 'R':
			row, err := decodeRow(data, known[insert])
			if err == nil && insert == "" {
				err = errDamaged
			}
			if err == nil {
				row, err = values(row)
			}
			if err == nil {
				_, err = b.Exec(ctx, insert, row)
			}
			if err != nil {
				return errors.Join(errDamaged, err)
			}
			rows++
		case 'E':
			return f.end(data, rows)
		default:
			return errDamaged
		}
	}
}
