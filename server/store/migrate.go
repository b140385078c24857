package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Migration makes tables, or adds to them. Those of a program are a list that only grows: the
// first has the number 1, and none is changed once it was released.
type Migration struct {
	Name string // of a few words, for people
	// SQL is statements that both engines take, with the types of this package: a table ends by
	// ") STRICT;", a foreign key leads to a table that is made earlier, and no name begins with store_.
	SQL string
	// ReadableFrom is the lowest number that a program must know to work with the store after
	// this migration; 0: any, since it only adds.
	ReadableFrom int
}

func (m Migration) digest() string {
	sum := sha256.Sum256([]byte(m.SQL))
	return hex.EncodeToString(sum[:])
}

// check refuses what would be right in one engine alone.
func (m Migration) check() error {
	if tables, strict := strings.Count(m.SQL, "CREATE TABLE"), strings.Count(m.SQL, ") STRICT;"); tables != strict {
		return fmt.Errorf("the migration %q makes %d tables, of which %d end by ) STRICT;", m.Name, tables, strict)
	}
	return nil
}

// The tables of the store itself.
const ownTables = `
CREATE TABLE IF NOT EXISTS store_migrations (
	number BIGINT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, readable_from BIGINT NOT NULL, at BIGINT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS store_term (one BIGINT PRIMARY KEY CHECK (one = 1), term BIGINT NOT NULL) STRICT;
INSERT INTO store_term VALUES (1, 0) ON CONFLICT DO NOTHING;
`

// applied is a migration that a store has had.
type applied struct {
	Number       int
	Name, Digest string
	ReadableFrom int
}

// migrate brings the tables to what the program knows.
func (s *Store) migrate(ctx context.Context, o Options) error {
	for _, m := range o.Migrations {
		if err := m.check(); err != nil {
			return err
		}
	}
	have, used, err := s.applied(ctx)
	if err == nil {
		err = suits(have, o.Migrations)
	}
	if err != nil || used && len(have) >= len(o.Migrations) {
		return err
	}
	if o.BeforeMigration != nil && len(have) > 0 {
		if err := o.BeforeMigration(s); err != nil {
			return err
		}
	}
	return s.exclusively(ctx, func(b Batch) error {
		have, err := history(ctx, b)
		if err == nil {
			err = suits(have, o.Migrations)
		}
		if err != nil {
			return err
		}
		return s.apply(ctx, b, o.Migrations, len(have), len(o.Migrations))
	})
}

// applied tells what a store has had, and whether it was ever used.
func (s *Store) applied(ctx context.Context) (have []applied, used bool, err error) {
	err = s.engine.Snapshot(ctx, func(q Querier) error {
		n := 0
		err := q.Query(ctx, s.engine.Dialect().Used, nil, func(row Row) error { return row.Scan(&n) })
		if used = n > 0; err != nil || !used {
			return err
		}
		have, err = history(ctx, q)
		return err
	})
	return have, used, err
}

// exclusively calls a function with a transaction beside which no other one makes tables. The
// store's own are there.
func (s *Store) exclusively(ctx context.Context, f func(Batch) error) error {
	dialect := s.engine.Dialect()
	b, err := s.engine.Begin(ctx)
	if err != nil {
		return err
	}
	defer b.Rollback()
	if dialect.Exclusive != "" {
		err = b.Script(ctx, dialect.Exclusive)
	}
	if err == nil {
		err = b.Script(ctx, dialect.translate(ownTables))
	}
	if err == nil {
		err = f(b)
	}
	if err != nil {
		return err
	}
	return b.Commit(ctx)
}

func history(ctx context.Context, q Querier) (have []applied, err error) {
	err = q.Query(ctx, "SELECT number, name, digest, readable_from FROM store_migrations ORDER BY number", nil, func(row Row) error {
		var m applied
		if err := row.Scan(&m.Number, &m.Name, &m.Digest, &m.ReadableFrom); err != nil {
			return err
		}
		have = append(have, m)
		if m.Number != len(have) {
			return fmt.Errorf("the store has no migration %d", len(have))
		}
		return nil
	})
	return have, err
}

// suits tells whether a program with these migrations can work with a store that has had those.
func suits(have []applied, known []Migration) error {
	for _, m := range have {
		if m.ReadableFrom > len(known) {
			return hint(fmt.Sprintf("the store was changed by a newer program (migration %d, %q), and this one cannot work with it", m.Number, m.Name),
				"start that newer version again, or restore the backup that was made before", nil)
		}
		if m.Number <= len(known) && m.Digest != known[m.Number-1].digest() {
			return hint(fmt.Sprintf("the store had another migration %d (%q) than this program knows (%q)", m.Number, m.Name, known[m.Number-1].Name),
				"it belongs to another program, or to a version that was never released: give another store, or start that program", nil)
		}
	}
	return nil
}

// apply makes the migrations after the first `from`, up to `to`.
func (s *Store) apply(ctx context.Context, b Batch, all []Migration, from, to int) error {
	for n := from; n < to; n++ {
		m := all[n]
		if err := b.Script(ctx, s.engine.Dialect().translate(m.SQL)); err != nil {
			return fmt.Errorf("migration %d (%s): %w", n+1, m.Name, err)
		}
		_, err := b.Exec(ctx, "INSERT INTO store_migrations (number, name, digest, readable_from, at) VALUES ($1, $2, $3, $4, $5)",
			[]any{int64(n + 1), m.Name, m.digest(), int64(m.ReadableFrom), time.Now().UnixMicro()})
		if err != nil {
			return fmt.Errorf("migration %d (%s): %w", n+1, m.Name, err)
		}
	}
	return nil
}
