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

// Every form of the query for runs is answered by an index alone, in its order: a million runs are never looked at, nor sorted.
func TestRunsAreFoundByIndexes(t *testing.T) {
	dir := t.TempDir()
	e, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(t.Context(), e, store.Options{Migrations: append(Migrations(), ProgramMigration(), UsageMigration(), StreamMigration(), RunsMigration(), DriftMigration(), LinesMigration(), ObjectionsMigration())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := engine.OpenConn(filepath.Join(dir, "tenet.db"), engine.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	position := &RunPosition{Started: time.Unix(1, 0), Host: "h", Run: "r"}
	for _, outcome := range append(Outcomes(), "") {
		for _, source := range []runSource{{}, {host: "h"}, {host: "a"}, {host: "z"}, {site: "shop"}} {
			for _, after := range []*RunPosition{nil, position} {
				source.filter = &RunFilter{Outcome: outcome}
				sql, args := source.query(after)
				for i := range args { // whose values say nothing
					args[i] = ""
				}
				var plan []string
				err := sqlitex.ExecuteTransient(conn, "EXPLAIN QUERY PLAN "+sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(row *engine.Stmt) error {
					plan = append(plan, row.ColumnText(3))
					return nil
				}})
				text := strings.Join(plan, "; ")
				isBySource := source.host == "" && source.site == "" || strings.Contains(text, "host=?") || strings.Contains(text, "site=?")
				isFew := outcome != OutcomeFailed && outcome != OutcomeRunning || strings.Contains(text, "_failed_") || strings.Contains(text, "_going_")
				if err != nil || strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, "INDEX") || !isBySource || !isFew {
					t.Errorf("%q is answered by %q: %v", sql, text, err)
				}
			}
		}
	}
}
