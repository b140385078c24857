package webtest

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// table is rows of a table, as they were read.
type table struct {
	name    string
	columns []string
	rows    [][]any
}

// Fill writes the rows of a demo's hosts again for as many others, and further runs of all of them, into the directory of
// its server, which must not run. Nobody is behind the hosts: to a server they are silent.
func Fill(dir string, hosts, runs int) error {
	found, err := filepath.Glob(filepath.Join(dir, "store", "*.db"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s has %d databases (%w)", dir, len(found), err)
	}
	db, err := sqlite.OpenConn(found[0], sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer db.Close()
	models, err := read(db, "SELECT * FROM enroll_hosts WHERE state = 'active'", "enroll_hosts")
	if err != nil {
		return err
	}
	if len(models.rows) == 0 {
		return fmt.Errorf("the demo has no host that is active")
	}
	parts, err := readParts(db, models)
	if err != nil {
		return err
	}
	f := &filler{db: db, models: models, parts: parts}
	return f.fill(hosts, runs)
}

// read reads rows.
func read(db *sqlite.Conn, query, name string) (*table, error) {
	t := &table{name: name}
	err := sqlitex.Execute(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		row := make([]any, s.ColumnCount())
		t.columns = t.columns[:0]
		for i := range row {
			t.columns = append(t.columns, s.ColumnName(i))
			switch s.ColumnType(i) {
			case sqlite.TypeInteger:
				row[i] = s.ColumnInt64(i)
			case sqlite.TypeText:
				row[i] = s.ColumnText(i)
			case sqlite.TypeBlob:
				blob := make([]byte, s.ColumnLen(i))
				s.ColumnBytes(i, blob)
				row[i] = blob
			}
		}
		t.rows = append(t.rows, row)
		return nil
	}})
	return t, err
}

// readParts reads what there is of the models in all other tables that have a host.
func readParts(db *sqlite.Conn, models *table) (parts []*table, err error) {
	names, err := read(db, "SELECT m.name AS name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' AND p.name = 'host' AND m.name LIKE 'sessions_%'", "sqlite_master")
	if err != nil {
		return nil, err
	}
	for _, row := range names.rows {
		name := row[0].(string)
		t, err := read(db, "SELECT * FROM "+name, name)
		if err != nil {
			return nil, err
		}
		if name != "sessions_events" || len(t.rows) < 1000 {
			parts = append(parts, t)
		}
	}
	return parts, nil
}

// filler writes hosts.
type filler struct {
	db     *sqlite.Conn
	models *table
	parts  []*table
	number int64 // of runs
}

// idOf is an id that no other host has.
func idOf(n int) string {
	sum := sha256.Sum256(fmt.Append(nil, "host ", n))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// fill writes hosts and runs until there are as many.
func (f *filler) fill(hosts, runs int) (err error) {
	end, err := sqlitex.ImmediateTransaction(f.db)
	if err != nil {
		return err
	}
	defer end(&err)
	perHost := max(1, runs/hosts)
	id := slices.Index(f.models.columns, "id")
	for n := range hosts {
		model := f.models.rows[n%len(f.models.rows)]
		labels := fmt.Sprintf(`{"role":"%s","zone":"z%d"}`, []string{"web", "db", "cache", "worker"}[n%4], n%7)
		set := map[string]any{"id": idOf(n), "name": fmt.Sprintf("node%05d", n), "labels": labels, "version": int64(1_000_000 + n)}
		if err := f.insert(f.models, model, set); err != nil {
			return err
		}
		for _, t := range f.parts {
			if err := f.writePart(t, model[id], idOf(n), perHost); err != nil {
				return err
			}
		}
	}
	return nil
}

// writePart writes what a model has in a table for another host; of runs as many as are wanted.
func (f *filler) writePart(t *table, model any, host string, runs int) error {
	at := slices.Index(t.columns, "host")
	var own [][]any
	for _, row := range t.rows {
		if row[at] == model {
			own = append(own, row)
		}
	}
	if t.name != "sessions_runs" {
		for _, row := range own {
			if err := f.insert(t, row, map[string]any{"host": host}); err != nil {
				return err
			}
		}
		return nil
	}
	for n := range runs {
		if len(own) == 0 {
			return nil
		}
		f.number++
		started := time.Now().Add(-time.Duration(f.number) * 2 * time.Second).UnixMicro()
		set := map[string]any{"host": host, "run": fmt.Sprintf("run-%08d", f.number), "started": started, "ended": started + 1_500_000, "told": started + 2_000_000}
		if err := f.insert(t, own[n%len(own)], set); err != nil {
			return err
		}
	}
	return nil
}

// insert writes a row, with other values in some columns.
func (f *filler) insert(t *table, row []any, set map[string]any) error {
	values, marks := slices.Clone(row), make([]string, len(row))
	for i, column := range t.columns {
		if value, is := set[column]; is {
			values[i] = value
		}
		marks[i] = "?"
	}
	return sqlitex.Execute(f.db, "INSERT OR IGNORE INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", &sqlitex.ExecOptions{Args: values})
}
