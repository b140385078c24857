package storetest

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

type label string

func values(t *testing.T, p Place) {
	s, ctx := Active(t, p, store.Options{}), context.Background()
	at := time.Date(2026, 3, 1, 2, 3, 4, 5000, time.FixedZone("", 3600))
	five, none := int64(5), (*int64)(nil)
	insert := "INSERT INTO kinds (id, t, b, n) VALUES ($1, $2, $3, $4)"
	must(t, s.Write(ctx, func(tx store.Tx) error {
		var all error
		for i, args := range [][]any{
			{"", []byte{}, 0}, {nil, nil, nil}, {"ä\t\"'?$1%", []byte{0, 255}, int64(math.MinInt64)},
			{label("x"), []byte("x"), uint32(7)}, {"B", nil, true}, {"a", nil, at}, {"Z", nil, &five}, {"b", nil, none},
		} {
			_, err := tx.Exec(insert, append([]any{i}, args...)...)
			all = errors.Join(all, err)
		}
		return all
	}))
	var got []store.Row
	must(t, s.Read(ctx, func(r store.Reader) error {
		err := r.Query("SELECT t, b, n FROM kinds ORDER BY id", nil, func(row store.Row) error { got = append(got, row); return nil })
		var n int64
		var then time.Time
		var yes bool
		var absent, present *int
		for _, q := range []struct {
			id   int
			into any
		}{{5, &then}, {4, &yes}, {7, &absent}, {6, &present}, {0, &n}} {
			_, e := store.One(r, "SELECT n FROM kinds WHERE id = $1", []any{q.id}, q.into)
			err = errors.Join(err, e)
		}
		if !then.Equal(at) || then.Location() != time.UTC || !yes || absent != nil || present == nil || *present != 5 {
			t.Error(then, yes, absent, present)
		}
		if found, e := store.One(r, "SELECT n FROM kinds WHERE id = 99", nil, &n); found || e != nil {
			t.Error(found, e)
		}
		_, e := store.One(r, "SELECT id FROM kinds", nil, &n)
		wantSays(t, e, "more than one row")
		return err
	}))
	wanted := []store.Row{
		{"", []byte{}, int64(0)}, {nil, nil, nil}, {"ä\t\"'?$1%", []byte{0, 255}, int64(math.MinInt64)},
		{"x", []byte("x"), int64(7)}, {"B", nil, int64(1)}, {"a", nil, at.UnixMicro()}, {"Z", nil, int64(5)}, {"b", nil, nil},
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%q", got)
	}
	var sorted []string
	must(t, s.Read(ctx, func(r store.Reader) error {
		var like, large int64
		_, err := store.One(r, `SELECT COUNT(*), CAST(SUM(id) AS BIGINT) FROM kinds WHERE t LIKE $1 ESCAPE '\'`, []any{"b%"}, &like, &large)
		if like != 1 || large != 7 {
			t.Errorf("LIKE finds %d, of %d", like, large)
		}
		return errors.Join(err, r.Query("SELECT t FROM kinds WHERE t > '' ORDER BY t", nil, func(row store.Row) error {
			sorted = append(sorted, row[0].(string))
			return nil
		}))
	}))
	if got := strings.Join(sorted, ","); got != "B,Z,a,b,x,ä\t\"'?$1%" {
		t.Errorf("in the order %s", got)
	}
	for _, arg := range []any{"a\x00b", "\xff", 1.5, uint64(math.MaxUint64), strings.Repeat("x", store.MaxValue+1), make([]byte, store.MaxValue+1), struct{}{}} {
		if err := s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec(insert, 100, arg, nil, nil); return err }); err == nil || !strings.Contains(err.Error(), "argument $2") {
			t.Errorf("%.20v: %v", arg, err)
		}
	}
	big := strings.Repeat("x", store.MaxValue)
	must(t, s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec(insert, 101, big, nil, nil); return err }))
}

func statements(t *testing.T, p Place) {
	s, ctx := Active(t, p, store.Options{}), context.Background()
	must(t, add(s, ctx, "a", 1))
	for _, sql := range []string{
		"COMMIT", "BEGIN", "ROLLBACK", "SAVEPOINT x", "PRAGMA synchronous = OFF", "CREATE TABLE x (y BIGINT)", "DROP TABLE numbers",
		"SET x = 1", "", "  \n", "SELECT 1; DELETE FROM numbers", "SELECT nothing FROM nowhere", "SELECT 1.5", "SELECT $1 + 1",
	} {
		if err := s.Write(ctx, func(tx store.Tx) error {
			return tx.Query(sql, nil, func(store.Row) error { return nil })
		}); err == nil {
			t.Errorf("%q was taken", sql)
		}
	}
	for _, sql := range []string{"DELETE FROM numbers", "INSERT INTO numbers VALUES ('b', 2)", "WITH x AS (SELECT 1) DELETE FROM numbers"} {
		if err := s.Read(ctx, func(r store.Reader) error { return r.Query(sql, nil, func(store.Row) error { return nil }) }); err == nil {
			t.Errorf("%q was taken by who only reads", sql)
		}
	}
	nested := func(r store.Reader) error {
		return r.Query("SELECT 1", nil, func(store.Row) error {
			return r.Query("SELECT 2", nil, func(store.Row) error { return nil })
		})
	}
	wantSays(t, s.Read(ctx, nested), "within a query")
	wantSays(t, s.Write(ctx, func(tx store.Tx) error { return nested(tx) }), "within a query")
	own := errors.New("enough")
	wantIs(t, s.Read(ctx, func(r store.Reader) error {
		err := r.Query("SELECT 1 UNION SELECT 2", nil, func(store.Row) error { return own })
		again := r.Query("SELECT 1", nil, func(store.Row) error { return nil })
		return errors.Join(err, again)
	}), own)
	changed := int64(0)
	must(t, s.Write(ctx, func(tx store.Tx) (err error) {
		must(t, errors.Join(addIn(tx, "b", 2), addIn(tx, "b", 3)))
		changed, err = tx.Exec("UPDATE numbers SET n = n + 1")
		return err
	}))
	if changed != 2 {
		t.Errorf("%d rows changed", changed)
	}
	want(t, s, "a=2 b=6")
	for sql, args := range map[string][]any{
		"UPDATE numbers SET n = $2 WHERE name = $1": {"a", 7},
		"DELETE FROM numbers WHERE name = $1":       {"b"},
	} {
		must(t, s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec(sql, args...); return err }))
	}
	want(t, s, "a=7")
	for _, args := range [][]any{{}, {"a", "b"}} {
		if s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec("DELETE FROM numbers WHERE name = $1", args...); return err }) == nil {
			t.Errorf("%d arguments for one parameter were taken", len(args))
		}
	}
	want(t, s, "a=7")
}

// What fails leaves nothing, and nothing goes on after it.
func failures(t *testing.T, p Place) {
	s, ctx := Active(t, p, store.Options{}), context.Background()
	must(t, add(s, ctx, "a", 1))
	own := errors.New("own")
	wantIs(t, s.Write(ctx, func(tx store.Tx) error { return errors.Join(addIn(tx, "b", 1), own) }), own)
	func() {
		defer func() {
			if recover() != "stop" {
				t.Error("it has not panicked")
			}
		}()
		s.Write(ctx, func(tx store.Tx) error { must(t, addIn(tx, "c", 1)); panic("stop") })
	}()
	twice := "INSERT INTO numbers VALUES ('a', 2)"
	err := s.Write(ctx, func(tx store.Tx) error {
		must(t, addIn(tx, "d", 1))
		_, err := tx.Exec(twice)
		wantError[*store.UniqueError](t, err)
		wantError[*store.UniqueError](t, addIn(tx, "e", 1))
		return nil // hides it
	})
	wantError[*store.UniqueError](t, err)
	for _, sql := range []string{"INSERT INTO parts VALUES (99, 'x')", "INSERT INTO numbers VALUES ('x', NULL)", "INSERT INTO numbers VALUES (NULL, 1)",
		"INSERT INTO kinds (t) VALUES ('x')", "INSERT INTO numbers VALUES ('x', 'y')"} {
		if s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec(sql); return err }) == nil {
			t.Errorf("%s: it was taken", sql)
		}
	}
	var kept store.Tx
	must(t, s.Write(ctx, func(tx store.Tx) error { kept = tx; return addIn(tx, "f", 1) }))
	wantSays(t, addIn(kept, "g", 1), "has ended")
	want(t, s, "a=1 f=1")
}

func reads(t *testing.T, p Place) {
	s, ctx := Active(t, p, store.Options{}), context.Background()
	must(t, add(s, ctx, "a", 1))
	standby := Open(t, p, store.Options{})
	must(t, standby.Read(ctx, func(r store.Reader) error {
		before, err := numbersOf(r)
		must(t, err)
		must(t, add(s, ctx, "a", 1)) // a reader keeps nobody waiting
		after, err := numbersOf(r)
		if before != "a=1" || after != before {
			t.Errorf("%s, then %s", before, after)
		}
		return err
	}))
	want(t, standby, "a=2")
	wantIs(t, add(standby, ctx, "a", 1), store.ErrStandby)
	ended, cancel := context.WithCancelCause(ctx)
	why := errors.New("why")
	wantIs(t, s.Read(ended, func(r store.Reader) error {
		return r.Query("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", nil, func(row store.Row) error {
			if row[0] == int64(10) {
				cancel(why)
			}
			return nil
		})
	}), why)
	wantIs(t, s.Read(ended, func(store.Reader) error { t.Error("it was called"); return nil }), why)
	func() {
		defer func() { recover() }()
		s.Read(ctx, func(r store.Reader) error {
			return r.Query("SELECT 1", nil, func(store.Row) error { panic("stop") })
		})
	}()
	for range 50 { // no connection was lost
		want(t, s, "a=2")
	}
	share, known, err := s.FreeSpace()
	if err != nil || known && (share < 0 || share > 1) {
		t.Error(share, known, err)
	}
	if size, known, err := s.Size(ctx); err != nil || known && size <= 0 {
		t.Error(size, known, err)
	}
}
