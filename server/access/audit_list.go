package access

import (
	"fmt"
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
	sql, args := f.query()
	err = r.Query(sql, args, func(row store.Row) error {
		record, detail, err := scanRecord(row)
		record.Detail = readDetail(detail)
		out = append(out, record)
		return err
	})
	return out, err
}

// query is for what a filter says: one of the indexes gives it in its order.
func (f *AuditFilter) query() (sql string, args []any) {
	var where []string
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	add("n > $%d", 0)
	if f.Before > 0 {
		add("n < $%d", f.Before)
	}
	for _, of := range []struct{ column, value string }{{"actor", f.Actor}, {"action", f.Action}, {"host", f.Host}, {"site", f.Site}} {
		if of.value != "" {
			add(of.column+" = $%d", of.value)
		}
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	args = append(args, limit)
	return fmt.Sprintf(`SELECT n, at, actor, action, host, site, reason, detail, digest FROM access_audit WHERE %s ORDER BY n DESC LIMIT $%d`, strings.Join(where, " AND "), len(args)), args
}
