package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// takeBack makes the store of a server that does not run the one of the program before the newest migration, and gives how many migrations it has had.
func takeBack(t *testing.T, dir string) int64 {
	t.Helper()
	all := Migrations()
	newest := all[len(all)-1].SQL
	var undo []string
	for _, m := range regexp.MustCompile(`CREATE INDEX (\w+)`).FindAllStringSubmatch(newest, -1) {
		undo = append(undo, "DROP INDEX "+m[1])
	}
	for _, m := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(newest, -1) {
		undo = append(undo, "DROP TABLE "+m[1])
	}
	for _, m := range regexp.MustCompile(`ALTER TABLE (\w+) ADD COLUMN (\w+)`).FindAllStringSubmatch(newest, -1) {
		undo = append(undo, "ALTER TABLE "+m[1]+" DROP COLUMN "+m[2])
	}
	if len(undo) == 0 {
		t.Fatal("this test does not know how to undo the newest migration")
	}
	conn := database(t, dir)
	for _, sql := range append(undo, fmt.Sprint("DELETE FROM store_migrations WHERE number = ", len(all))) {
		must(t, sqlitex.ExecuteTransient(conn, sql, nil))
	}
	return int64(len(all) - 1)
}

// database opens the store of a server that does not run.
func database(t *testing.T, dir string) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "store", "tenet.db"), sqlite.OpenReadWrite)
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	return conn
}

// A server that finds the store of an earlier program backs up all of it first, once: what it writes makes a server by which one can go back.
func TestMigrationAfterBackup(t *testing.T) {
	u := newUsed(t)
	must(t, u.Close())
	takeBack(t, u.Dir)
	c := config(u.Dir)
	var said []string
	c.Failed = func(err error) { said = append(said, err.Error()) }
	s := start(t, c)
	dir := filepath.Join(u.Dir, migrationDir)
	if len(said) != 1 || !strings.Contains(said[0], "tenet server restore "+dir+"/backup --backup-identity "+dir+"/key") {
		t.Errorf("it says %q", said)
	}
	for _, name := range []string{migrationBackup, migrationKey} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %s", name, info.Mode())
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, migrationKey))
	must(t, err)
	key, err := age.ParseX25519Identity(strings.TrimSpace(string(text)))
	must(t, err)
	sealed, err := os.Open(filepath.Join(dir, migrationBackup))
	must(t, err)
	defer sealed.Close()
	former := filepath.Join(t.TempDir(), "former")
	must(t, Restore(t.Context(), config(former), sealed, []age.Identity{key}))
	u.checkRestored(t, start(t, config(former)))
	// The next start has nothing to migrate.
	must(t, s.Close())
	must(t, start(t, c).Close())
	if again, err := os.ReadFile(filepath.Join(dir, migrationKey)); err != nil || string(again) != string(text) {
		t.Errorf("it was backed up again: %v", err)
	}
}

// A store that cannot be backed up stays what the former program knows. Keys that are lost are no reason: whoever has the recovery key makes others.
func TestNoMigrationWithoutBackup(t *testing.T) {
	u := newUsed(t)
	must(t, u.Close())
	had := takeBack(t, u.Dir)
	keys := filepath.Join(u.Dir, "keys")
	for n := range maxKeyFiles + 1 {
		must(t, os.WriteFile(filepath.Join(keys, fmt.Sprint("stray", n)), nil, 0o600))
	}
	if _, err := Open(t.Context(), config(u.Dir)); code(err) != CodeBackup || !strings.Contains(err.Error(), "stays as it is") {
		t.Fatalf("it is opened: %v", err)
	}
	n, err := sqlitex.ResultInt64(database(t, u.Dir).Prep("SELECT COUNT(*) FROM store_migrations"))
	if err != nil || n != had {
		t.Errorf("the store has had %d migrations, and not %d: %v", n, had, err)
	}
	list, err := os.ReadDir(u.Dir)
	must(t, err)
	for _, e := range list {
		if strings.Contains(e.Name(), migrationDir) {
			t.Errorf("%s is left", e.Name())
		}
	}
	must(t, os.RemoveAll(keys))
	s, err := openStore(t.Context(), config(u.Dir), Migrations())
	must(t, err)
	must(t, s.Close())
}

// The program of the version before works with a store that this one has migrated: a migration only adds what that program need not know, or says since
// which migration a program knows it. An index that is not unique may go: no program asks for one by its name.
func TestMigrationsOnlyAdd(t *testing.T) {
	table := regexp.MustCompile(`^CREATE TABLE (\w+)`)
	unique := regexp.MustCompile(`^CREATE UNIQUE INDEX \w+ ON (\w+)`)
	other := regexp.MustCompile(`^(CREATE INDEX \w+ ON \w+|DROP INDEX sessions_runs_started$|ALTER TABLE \w+ ADD COLUMN \w+ (TEXT|BIGINT|BYTES)( NOT NULL DEFAULT \S+)?$)`)
	for _, m := range Migrations() {
		made := map[string]bool{}
		for sql := range strings.SplitSeq(m.SQL, ";") {
			sql = strings.TrimSpace(sql)
			of, index := table.FindStringSubmatch(sql), unique.FindStringSubmatch(sql)
			switch {
			case sql == "" || m.ReadableFrom > 0 || other.MatchString(sql):
			case of != nil:
				made[of[1]] = true
			case index == nil || !made[index[1]]: // the former program may write what is there twice
				t.Errorf("the migration %q does more than to add: %.100s", m.Name, sql)
			}
		}
	}
}
