package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/server/store"
)

// AuditFilter says which entries are listed; what is empty says nothing.
type AuditFilter struct {
	Before int64 // entries with lower numbers; 0: any
	Actor  string
	Action string
	Host   string
	Site   string
	Limit  int // 0: 100
}

// AuditIndexes makes the indexes by which entries are listed. It came after other tables of a server, and stands behind them.
func AuditIndexes() store.Migration {
	return store.Migration{Name: "audit by actor, action, host and site", SQL: `
CREATE INDEX access_audit_actor ON access_audit (actor, n);
CREATE INDEX access_audit_action ON access_audit (action, n);
CREATE INDEX access_audit_host ON access_audit (host, n);
CREATE INDEX access_audit_site ON access_audit (site, n);
`}
}

// ListAudit lists entries, the newest first.
func ListAudit(r store.Reader, f AuditFilter) (out []Record, err error) {
	by, err := f.rarest(r)
	if err != nil {
		return nil, err
	}
	sql, args := f.query(by)
	err = r.Query(sql, args, func(row store.Row) error {
		record, detail, err := scanRecord(row)
		record.Detail = readDetail(detail)
		out = append(out, record)
		return err
	})
	return out, err
}

// auditColumn is a column with the value that it is to have.
type auditColumn struct{ name, value string }

// columns are those that the filter is about. Each has an index.
func (f *AuditFilter) columns() []auditColumn {
	all := []auditColumn{{"host", f.Host}, {"actor", f.Actor}, {"action", f.Action}, {"site", f.Site}}
	return slices.DeleteFunc(all, func(c auditColumn) bool { return c.value == "" })
}

// enoughEntries is up to how many entries are counted to find out by which column there are few.
const enoughEntries = 2000

// rarest is the column by whose index the entries are found: the one with the fewest, so that those that few have done are not looked for among all that the server has done. Empty: there is none.
func (f *AuditFilter) rarest(r store.Reader) (by string, err error) {
	columns, least := f.columns(), int64(enoughEntries+1)
	for i, c := range columns {
		n := int64(0)
		if len(columns) > 1 {
			if _, err := store.One(r, countEntries(c.name), []any{c.value, int64(enoughEntries)}, &n); err != nil {
				return "", err
			}
		}
		if i == 0 || n < least {
			by, least = c.name, n
		}
	}
	return by, nil
}

// countEntries counts entries with a value in a column, up to so many.
func countEntries(column string) string {
	return `SELECT COUNT(*) FROM (SELECT n FROM access_audit WHERE ` + column + ` = $1 LIMIT $2) AS found`
}

// query is for what a filter says: the index of a column gives it in its order, or that of the numbers.
func (f *AuditFilter) query(by string) (sql string, args []any) {
	var where []string
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	add("n > $%d", 0)
	if f.Before > 0 {
		add("n < $%d", f.Before)
	}
	for _, c := range f.columns() {
		if c.name == by {
			add(c.name+" = $%d", c.value)
		} else {
			add("("+c.name+" || '') = $%d", c.value) // an expression, for which no index is taken
		}
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	args = append(args, limit)
	return fmt.Sprintf(`SELECT n, at, actor, action, host, site, reason, detail, digest FROM access_audit WHERE %s ORDER BY n DESC LIMIT $%d`, strings.Join(where, " AND "), len(args)), args
}
