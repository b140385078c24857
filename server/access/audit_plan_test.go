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
	planOf := func(sql string, args []any) string {
		var plan []string
		err := sqlitex.ExecuteTransient(conn, "EXPLAIN QUERY PLAN "+sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(row *engine.Stmt) error {
			plan = append(plan, row.ColumnText(3))
			return nil
		}})
		if err != nil {
			t.Errorf("%q: %v", sql, err)
		}
		return strings.Join(plan, "; ")
	}
	all := AuditFilter{Actor: "alice", Action: "host.lock", Host: "h", Site: "shop"}
	for _, c := range []struct {
		f  AuditFilter
		by string
	}{{AuditFilter{Actor: "alice"}, "actor"}, {AuditFilter{Action: "host.lock"}, "action"}, {AuditFilter{Host: "h"}, "host"}, {AuditFilter{Site: "shop"}, "site"}, {AuditFilter{}, ""},
		{all, "actor"}, {all, "action"}, {all, "host"}, {all, "site"}} {
		want := c.by + "=?"
		if c.by == "" {
			want = "n>?"
		}
		for _, c.f.Before = range []int64{0, 7} {
			sql, args := c.f.query(c.by)
			if text := planOf(sql, args); strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, want) {
				t.Errorf("%q is answered by %q", sql, text)
			}
		}
		if c.by == "" {
			continue
		}
		if text := planOf(countEntries(c.by), []any{"", 1}); !strings.Contains(text, "COVERING INDEX access_audit_"+c.by) {
			t.Errorf("entries by %s are counted by %q", c.by, text)
		}
	}
}

// Of what a person has done rarely and the server all the time, the entries are found by the person; and the other way round.
func TestAuditIsFoundByWhatIsRare(t *testing.T) {
	e, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(t.Context(), e, store.Options{Migrations: append(Migrations(), AuditIndexes())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Campaign(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(tx store.Tx) error {
		for i := range 40 {
			entry := Entry{Actor: "server", Action: "target.assign", Site: "shop", Reason: "x"}
			switch i {
			case 7:
				entry.Actor = "ann"
			case 8:
				entry.Action = "deployment.create"
			}
			if err := Audit(tx, entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]AuditFilter{"actor": {Actor: "ann", Action: "target.assign", Site: "shop"}, "action": {Actor: "server", Action: "deployment.create", Site: "shop"}, "host": {Host: "h", Actor: "server"}} {
		err := s.Read(t.Context(), func(r store.Reader) error {
			by, err := f.rarest(r)
			if err != nil || by != want {
				t.Errorf("%+v is found by %s: %v", f, by, err)
			}
			list, err := ListAudit(r, f)
			if n := len(list); n != 1 && want != "host" || n != 0 && want == "host" {
				t.Errorf("%+v are %d entries", f, n)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
