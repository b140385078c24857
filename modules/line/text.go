package line

import (
	"regexp"
	"slices"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// stands lists the rows that the wanted line stands for, and says which of
// them it keeps, or takes the place of: an equal one, else the first. There is
// none when at is negative.
func stands(t lines.Text, want Line) (rows []int, at int) {
	match := func(string) bool { return false }
	if want.Match != nil {
		match = regexp.MustCompile(*want.Match).MatchString
	}
	rows = t.Find(func(line string) bool { return line == want.Line || match(line) })
	if len(rows) == 0 {
		return nil, -1
	}
	at = slices.IndexFunc(t, func(r lines.Row) bool { return r.Line == want.Line })
	if at < 0 {
		at = rows[0]
	}
	return rows, at
}
