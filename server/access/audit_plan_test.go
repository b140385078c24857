package access

import (
	"path/filepath"
	"strings"
	"testing"

	engine "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// Whatever the audit is asked for, an index gives it in its order: it grows without end, and is never looked through.
func TestAuditIsFoundByIndexes(t *testing.T) {
	dir := t.TempDir()
	e, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(t.Context(), e, store.Options{Migrations: append(Migrations(), AuditIndexes())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := engine.OpenConn(filepath.Join(dir, "tenet.db"), engine.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for column, f := range map[string]AuditFilter{
		"actor=?": {Actor: "alice"}, "action=?": {Action: "host.lock"}, "host=?": {Host: "h"}, "site=?": {Site: "shop"}, "n>?": {},
	} {
		for _, f.Before = range []int64{0, 7} {
			sql, args := f.query()
			var plan []string
			err := sqlitex.ExecuteTransient(conn, "EXPLAIN QUERY PLAN "+sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(row *engine.Stmt) error {
				plan = append(plan, row.ColumnText(3))
				return nil
			}})
			if text := strings.Join(plan, "; "); err != nil || strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, column) {
				t.Errorf("%q is answered by %q: %v", sql, text, err)
			}
		}
	}
}
