package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/store"
)

// fill writes rows of all kinds.
func fill(t testing.TB, s *store.Store) {
	t.Helper()
	must(t, s.Write(context.Background(), func(tx store.Tx) error {
		var all error
		for i, args := range [][]any{
			{"", []byte{}, 0}, {nil, nil, nil}, {"ä\n\"'", []byte{0, 255}, -1}, {strings.Repeat("x", 100_000), bytes.Repeat([]byte{7}, 1<<20), 1 << 62},
		} {
			_, err := tx.Exec("INSERT INTO kinds (id, t, b, n) VALUES ($1, $2, $3, $4)", append([]any{i}, args...)...)
			all = errors.Join(all, err)
		}
		_, err := tx.Exec("INSERT INTO parts VALUES (0, 'x')")
		return errors.Join(all, err, addIn(tx, "a", 1))
	}))
}

// dump shows all rows.
func dump(t testing.TB, s *store.Store) string {
	t.Helper()
	var all []string
	must(t, s.Read(context.Background(), func(r store.Reader) error {
		var err error
		for _, sql := range []string{"SELECT * FROM numbers ORDER BY name", "SELECT * FROM kinds ORDER BY id", "SELECT * FROM parts ORDER BY kind, name"} {
			err = errors.Join(err, r.Query(sql, nil, func(row store.Row) error {
				all = append(all, fmt.Sprintf("%.100q", row))
				return nil
			}))
		}
		return err
	}))
	return strings.Join(all, "\n")
}

// Backup gives a backup of a store with rows of all kinds, and what they are.
func Backup(t testing.TB, p Place) (backup []byte, rows string) {
	t.Helper()
	s := Active(t, p, store.Options{})
	fill(t, s)
	var out bytes.Buffer
	must(t, s.Read(context.Background(), func(store.Reader) error { // beside others, and writes
		must(t, s.Backup(context.Background(), &out))
		return nil
	}))
	rows = dump(t, s)
	must(t, s.Close())
	return out.Bytes(), rows
}

func unmarked(store.Tx) error { return nil }

// Restore puts a backup into a new place, where the same rows are then.
func Restore(t testing.TB, p Place, backup []byte, rows string) {
	t.Helper()
	ctx := context.Background()
	e, err := p.Open(ctx)
	must(t, err)
	all := append(Tables(), store.Migration{Name: "later", SQL: "ALTER TABLE numbers ADD COLUMN later BIGINT NOT NULL DEFAULT 7;"})
	must(t, store.Restore(ctx, e, all, bytes.NewReader(backup), func(tx store.Tx) error {
		_, err := tx.Exec("UPDATE numbers SET later = later + 1")
		return err
	}))
	s, err := store.New(ctx, e, store.Options{Migrations: all})
	must(t, err)
	defer s.Close()
	if got := dump(t, s); got != strings.Replace(rows, `["a" '\x01']`, `["a" '\x01' '\b']`, 1) {
		t.Errorf("there is\n%s\nwant\n%s", got, rows)
	}
	term, err := s.Campaign(ctx)
	if err != nil || term.Number != 2 {
		t.Error(term, err)
	}
	must(t, s.Write(ctx, func(tx store.Tx) error { return addIn(tx, "a", 1) }))
}

func backups(t *testing.T, from, to Place) {
	backup, rows := Backup(t, from)
	Restore(t, to, backup, rows)
	e, err := from.Open(context.Background())
	must(t, err)
	defer e.Close()
	wantSays(t, store.Restore(context.Background(), e, Tables(), bytes.NewReader(backup), unmarked), "not empty")
}

// What is not whole is refused, and leaves the store as empty as it was.
func refusedBackups(t *testing.T, p, to Place) {
	backup, rows := Backup(t, p)
	e, err := to.Open(context.Background())
	must(t, err)
	restore := func(what string, all []store.Migration, data []byte, mark func(store.Tx) error, says string) {
		t.Helper()
		if err := store.Restore(context.Background(), e, all, bytes.NewReader(data), mark); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, n := range []int{0, 3, 15, 16, 100, len(backup) / 2, len(backup) - 33, len(backup) - 1} {
		restore(fmt.Sprintf("the first %d bytes", n), Tables(), backup[:n], unmarked, "cannot be restored")
	}
	for n := 1; n < len(backup); n += len(backup) / 40 {
		harmed := bytes.Clone(backup)
		harmed[n] ^= 0x10
		restore(fmt.Sprintf("byte %d", n), Tables(), harmed, unmarked, "cannot be restored")
	}
	restore("more", Tables(), append(bytes.Clone(backup), 'x'), unmarked, "something follows its end")
	restore("a lie about a length", Tables(), []byte("tenet backup 1\n\xff\xff\xff\x7fH"), unmarked, "cut off")
	restore("newer", Tables()[:1], backup, unmarked, "a newer program has made it")
	own := errors.New("own")
	restore("unmarked", Tables(), backup, func(store.Tx) error { return own }, "own")
	must(t, e.Close())
	Restore(t, to, backup, rows)
}
