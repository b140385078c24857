package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// LimitPages is a disk that is full when the database has so many pages.
func LimitPages(e *Engine, pages int) error {
	return run(e.writer, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
}

// Pragma is a setting of the connection that writes.
func Pragma(e *Engine, name string) (value string) {
	err := sqlitex.ExecuteTransient(e.writer, "PRAGMA "+name, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		value = s.ColumnText(0)
		return nil
	}})
	if err != nil {
		return err.Error()
	}
	return value
}

// FreeBytes is how much of the database is free.
func FreeBytes(e *Engine) (float64, error) { return e.freeBytes() }
