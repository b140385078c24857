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

// ListAudit lists entries, the newest first.
func ListAudit(r store.Reader, f AuditFilter) (out []Record, err error) {
	var where []string
	var args []any
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	add("n > $%d", 0)
	if f.Before > 0 {
		add("n < $%d", f.Before)
	}
	for column, value := range map[string]string{"actor": f.Actor, "action": f.Action, "host": f.Host, "site": f.Site} {
		if value != "" {
			add(column+" = $%d", value)
		}
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	args = append(args, f.Limit)
	err = r.Query(fmt.Sprintf(`SELECT n, at, actor, action, host, site, reason, detail, digest FROM access_audit WHERE %s ORDER BY n DESC LIMIT $%d`,
		strings.Join(where, " AND "), len(args)), args, func(row store.Row) error {
		record, detail, err := scanRecord(row)
		record.Detail = readDetail(detail)
		out = append(out, record)
		return err
	})
	return out, err
}
