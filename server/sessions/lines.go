package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// LinesMigration numbers the events of runs, so that a part of them is found without the others being read: first is how many come before those of a
// row, and below zero where a former version of the server has not counted them.
func LinesMigration() store.Migration {
	return store.Migration{Name: "numbers of events", SQL: `
ALTER TABLE sessions_events ADD COLUMN first BIGINT NOT NULL DEFAULT -1;
ALTER TABLE sessions_events ADD COLUMN lines BIGINT NOT NULL DEFAULT 0;
CREATE INDEX sessions_events_lines ON sessions_events (host, run, part, first, lines);
`}
}

// Line is an event of a run with its number.
type Line struct {
	Number int64           `json:"line"` // from 1
	Event  json.RawMessage `json:"event"`
}

// LineFilter says which events of a run are given.
type LineFilter struct {
	After    int64    // the number of the line before; 0: from the first one on
	Limit    int      // 0: 100
	Types    []string // of events; none: all
	Outcomes []string // likewise
	Address  string   // of the part or invocation that they are about; empty: any
	Contains string   // in one of their texts, in whatever letters; empty: anything
	// Look is how many bytes are looked at; 0: 16 MiB.
	Look int
}

// LinesPart is a part of the events of a run.
type LinesPart struct {
	Lines []Line
	Total int64 // how many the run has, as far as it has told
	Next  int64 // the number after which it goes on; 0: there are no more
}

// Limits of parts of events.
const (
	defaultLines     = 100
	mostLines        = 1000
	defaultLookBytes = 16 << 20
)

// linesRow is a row of events as an index has it.
type linesRow struct{ part, first, lines int64 }

// Lines gives a part of the events of a run. It reads no more rows than it has to, one after the other, and looks at so many bytes at most: where few of them fit
// there are fewer lines than the limit, and a Next.
func (s *Sessions) Lines(ctx context.Context, id trust.ID, run string, f LineFilter) (part LinesPart, err error) {
	if f.Limit <= 0 || f.Limit > mostLines {
		f.Limit = defaultLines
	}
	if f.Look <= 0 {
		f.Look = defaultLookBytes
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		part = LinesPart{}
		rows, err := s.linesRows(r, id, run)
		if err != nil || len(rows) == 0 {
			return err
		}
		last := rows[len(rows)-1]
		part.Total = last.first + last.lines
		return s.readLines(r, id, run, rows, newLineMatcher(f), &part)
	})
	return part, err
}

// CountLines tells how many events a run has told.
func (s *Sessions) CountLines(ctx context.Context, id trust.ID, run string) (n int64, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		rows, err := s.linesRows(r, id, run)
		if n = 0; err == nil && len(rows) > 0 {
			n = rows[len(rows)-1].first + rows[len(rows)-1].lines
		}
		return err
	})
	return n, err
}

// linesRows gives the rows of a run's events. Those that nobody has counted are.
func (s *Sessions) linesRows(r store.Reader, id trust.ID, run string) (rows []linesRow, err error) {
	uncounted := false
	err = r.Query(`SELECT part, first, lines FROM sessions_events WHERE host = $1 AND run = $2 ORDER BY part`, []any{string(id), run}, func(row store.Row) error {
		var one linesRow
		err := row.Scan(&one.part, &one.first, &one.lines)
		uncounted = uncounted || one.first < 0
		rows = append(rows, one)
		return err
	})
	if err != nil || !uncounted {
		return rows, err
	}
	known, n := s.runCounts.get(runKey{id, run}), int64(0)
	for i := range rows {
		if i < len(known) && known[i].part == rows[i].part {
			rows[i] = known[i]
			n = rows[i].first + rows[i].lines
			continue
		}
		known = nil // what follows was counted behind another row
		data, err := s.eventsOf(r, id, run, rows[i].part)
		if err != nil {
			return nil, err
		}
		rows[i].first, rows[i].lines = n, int64(bytes.Count(data, []byte{'\n'}))
		n += rows[i].lines
	}
	s.runCounts.put(runKey{id, run}, rows)
	return rows, nil
}

// eventsOf gives the lines of one row.
func (s *Sessions) eventsOf(r store.Reader, id trust.ID, run string, part int64) ([]byte, error) {
	var data []byte
	found, err := store.One(r, `SELECT events FROM sessions_events WHERE host = $1 AND run = $2 AND part = $3`, []any{string(id), run, part}, &data)
	if err == nil && !found {
		err = errors.New("events of a run are gone while they are read")
	}
	if err != nil {
		return nil, err
	}
	return s.compressor.expand(data, nil)
}

// readLines adds the lines that fit, until there are enough.
func (s *Sessions) readLines(r store.Reader, id trust.ID, run string, rows []linesRow, m *lineMatcher, into *LinesPart) error {
	looked := 0
	for _, row := range rows {
		if row.first+row.lines <= m.After {
			continue
		}
		data, err := s.eventsOf(r, id, run, row.part)
		if err != nil {
			return err
		}
		number := row.first
		for line := range bytes.Lines(data) {
			if number++; number <= m.After {
				continue
			}
			if len(into.Lines) == m.Limit || looked >= m.Look {
				into.Next = number - 1
				return nil
			}
			looked += len(line)
			if line = bytes.TrimRight(line, "\n"); m.fits(line) {
				into.Lines = append(into.Lines, Line{number, json.RawMessage(slices.Clone(line))})
			}
		}
	}
	return nil
}

// lineMatcher tells which lines fit.
type lineMatcher struct {
	LineFilter
	text  string // in small letters
	plain []byte // what every line has in which the text occurs; nil: nothing is known of them
}

func newLineMatcher(f LineFilter) *lineMatcher {
	m := &lineMatcher{LineFilter: f, text: strings.ToLower(f.Contains)}
	// Whatever JSON may write otherwise is looked for in texts that are taken apart.
	if !strings.ContainsFunc(m.text, func(c rune) bool { return c < ' ' || c >= 0x7f || strings.ContainsRune(`"\\<>&`, c) }) {
		m.plain = []byte(m.text)
	}
	return m
}

// shownEvent is what is looked at of an event.
type shownEvent struct {
	Type       string `json:"type"`
	Outcome    string `json:"outcome"`
	Address    string `json:"address"`
	Invocation string `json:"invocation"`
}

// fits tells whether a line does. Only those are taken apart that may.
func (m *lineMatcher) fits(line []byte) bool {
	if m.plain != nil && !bytes.Contains(bytes.ToLower(line), m.plain) {
		return false
	}
	if len(m.Types)+len(m.Outcomes) > 0 || m.Address != "" {
		var e shownEvent
		if json.Unmarshal(line, &e) != nil {
			return false
		}
		if len(m.Types) > 0 && !slices.Contains(m.Types, e.Type) || len(m.Outcomes) > 0 && !slices.Contains(m.Outcomes, e.Outcome) || m.Address != "" && m.Address != e.Address && m.Address != e.Invocation {
			return false
		}
	}
	if m.text == "" {
		return true
	}
	var v any
	return json.Unmarshal(line, &v) == nil && hasText(v, m.text)
}

// hasText tells whether a text in small letters occurs in one of the texts of a value.
func hasText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), text)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return hasText(one, text) })
	case map[string]any:
		for _, one := range v {
			if hasText(one, text) {
				return true
			}
		}
	}
	return false
}
