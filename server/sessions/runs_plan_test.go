package sessions

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	engine "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// plansOf opens a database with the tables of this package, and gives what tells how it answers a query.
func plansOf(t *testing.T) func(sql string, args ...any) string {
	t.Helper()
	dir := t.TempDir()
	e, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(t.Context(), e, store.Options{Migrations: append(Migrations(), ProgramMigration(), UsageMigration(), StreamMigration(), RunsMigration(), DriftMigration(), LinesMigration(), ObjectionsMigration(), GapsMigration(), StartedMigration())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	conn, err := engine.OpenConn(filepath.Join(dir, "tenet.db"), engine.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func(sql string, args ...any) string {
		t.Helper()
		var plan []string
		for i := range args { // whose values say nothing
			args[i] = ""
		}
		err := sqlitex.ExecuteTransient(conn, "EXPLAIN QUERY PLAN "+sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(row *engine.Stmt) error {
			plan = append(plan, row.ColumnText(3))
			return nil
		}})
		if err != nil {
			t.Errorf("%q: %v", sql, err)
		}
		return strings.Join(plan, "; ")
	}
}

// Every form of the query for runs is answered by an index alone, in its order: a million runs are never looked at, nor sorted.
func TestRunsAreFoundByIndexes(t *testing.T) {
	planOf := plansOf(t)
	position := &RunPosition{Started: time.Unix(1, 0), Host: "h", Run: "r"}
	for _, outcome := range append(Outcomes(), "") {
		for _, source := range []runSource{{}, {host: "h"}, {host: "a"}, {host: "z"}, {site: "shop"}} {
			for _, after := range []*RunPosition{nil, position} {
				source.filter = &RunFilter{Outcome: outcome}
				sql, args := source.query(after)
				text := planOf(sql, args...)
				isBySource := source.host == "" && source.site == "" || strings.Contains(text, "host=?") || strings.Contains(text, "site=?")
				isFew := outcome != OutcomeFailed && outcome != OutcomeRunning || strings.Contains(text, "_failed_") || strings.Contains(text, "_going_")
				if strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, "INDEX") || !isBySource || !isFew {
					t.Errorf("%q is answered by %q", sql, text)
				}
			}
		}
	}
}

// A reader of the stream of all hosts that is woken looks at what is new alone, and the sweep at what is old.
func TestStreamAndSweepAreFoundByIndexes(t *testing.T) {
	planOf := plansOf(t)
	queries := map[string]string{rowOfStream: "(n<?)", nextInStream: "(n>?)"}
	for _, sql := range sweeps() {
		queries[sql] = "_at (at<?)"
		if strings.Contains(sql, "told") {
			queries[sql] = "_told (told<?)"
		}
	}
	for _, sql := range histories() {
		queries[sql] = "(host=?"
	}
	for sql, search := range queries {
		args := make([]any, strings.Count(sql, "$"))
		if text := planOf(sql, args...); strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, search) {
			t.Errorf("%q is answered by %q", sql, text)
		}
	}
}
