package sessions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// reportsAtOnce is for how many hosts a query asks at most.
const reportsAtOnce = 1024

// Reports gives the newest reports of hosts for sites, one after the other: who has none is left out. of has the hosts of each site. A
// report may be given more than once.
func (s *Sessions) Reports(ctx context.Context, of map[string][]trust.ID, each func(site string, host trust.ID, report *states.Report)) error {
	var pairs []any // a host and a site each
	for _, site := range slices.Sorted(maps.Keys(of)) {
		for _, id := range of[site] {
			pairs = append(pairs, string(id), site)
		}
	}
	return s.Store.Read(ctx, func(r store.Reader) error {
		for part := range slices.Chunk(pairs, 2*reportsAtOnce) {
			sql, args := reportsQuery(part)
			if err := r.Query(sql, args, func(row store.Row) error {
				var host, site string
				var data []byte
				if err := row.Scan(&host, &site, &data); err != nil {
					return err
				}
				report := &states.Report{}
				if err := s.compressor.unpack(data, report); err != nil {
					return fmt.Errorf("the report of %.80s for %.80q: %w", host, site, err)
				}
				each(site, trust.ID(host), report)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// reportsQuery asks for the reports of pairs. The last pair stands there several times, up to a power of four: so there are few different statements, which databases
// prepare once.
func reportsQuery(pairs []any) (string, []any) {
	size := 2
	for size < len(pairs) {
		size *= 4
	}
	args := slices.Clone(pairs)
	for len(args) < size {
		args = append(args, pairs[len(pairs)-2:]...)
	}
	var sql strings.Builder
	sql.WriteString(`SELECT host, site, report FROM sessions_reports WHERE (host, site) IN (VALUES `)
	for i := 1; i < len(args); i += 2 {
		if i > 1 {
			sql.WriteString(", ")
		}
		fmt.Fprintf(&sql, "(CAST($%d AS TEXT), CAST($%d AS TEXT))", i, i+1)
	}
	sql.WriteString(`)`)
	return sql.String(), args
}
