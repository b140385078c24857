package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// clusterRow is a cluster as the server keeps it: who has joined, and for whom it waits. A member is one until it has shown that nothing is
// there any more of what the cluster has made.
type clusterRow struct {
	Site    string              `json:"site"`
	Name    string              `json:"name"`
	Members map[string]trust.ID `json:"members,omitempty"` // by their names
	Since   time.Time           `json:"since,omitzero"`    // when they have joined
	// Asked is since when it waits for members, and Wants who these are.
	Asked time.Time  `json:"asked,omitzero"`
	Wants []trust.ID `json:"wants,omitempty"`
	// Undeployed is the newest deployment when somebody has had it taken away; 0: nobody has. A later deployment brings it back.
	Undeployed int64             `json:"undeployed,omitempty"`
	Report     *cluster.Overview `json:"report,omitempty"`
}

// ClusterMigration makes the table of clusters. It came after other tables of a server, and stands behind them.
func ClusterMigration() store.Migration {
	return store.Migration{Name: "clusters", SQL: `
		CREATE TABLE deploy_clusters (
			site TEXT NOT NULL,
			name TEXT NOT NULL,
			body BYTES NOT NULL,
			PRIMARY KEY (site, name)
		) STRICT;`}
}

// clusterRows reads all clusters, of all sites.
func clusterRows(r store.Reader) (out []*clusterRow, err error) {
	err = r.Query(`SELECT body FROM deploy_clusters ORDER BY site, name`, nil, func(row store.Row) error {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return err
		}
		c := &clusterRow{}
		if err := json.Unmarshal(body, c); err != nil {
			return fmt.Errorf("a cluster is damaged: %w", err)
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

func (c *clusterRow) save(tx store.Tx) error {
	if len(c.Members) == 0 && c.Undeployed == 0 && c.Report == nil {
		_, err := tx.Exec(`DELETE FROM deploy_clusters WHERE site = $1 AND name = $2`, c.Site, c.Name)
		return err
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO deploy_clusters (site, name, body) VALUES ($1, $2, $3) ON CONFLICT (site, name) DO UPDATE SET body = $3`, c.Site, c.Name, body)
	return err
}

// joined gives the members that a revision of a site makes of a cluster: those that have joined and that it wants.
func (c *clusterRow) joined(of *site.Cluster) []string {
	if c == nil || of.Absent || c.Undeployed > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Members)), func(name string) bool { return !slices.Contains(of.Hosts, name) })
}

// joinedIn tells who has joined which cluster of a revision.
func joinedIn(rows []*clusterRow, r *Revision) map[string][]string {
	out := map[string][]string{}
	for i := range r.Clusters {
		if list := rowOf(rows, r.Site, r.Clusters[i].Name).joined(&r.Clusters[i]); len(list) > 0 {
			out[r.Clusters[i].Name] = list
		}
	}
	return out
}

// rowOf finds the row of a cluster; nil: there is none.
func rowOf(rows []*clusterRow, siteName, name string) *clusterRow {
	for _, c := range rows {
		if c.Site == siteName && c.Name == name {
			return c
		}
	}
	return nil
}

// membershipIn gives the cluster that a host has joined, and its members.
func membershipIn(joined map[string][]string, host string) (name string, members []string) {
	for _, name := range slices.Sorted(maps.Keys(joined)) {
		if slices.Contains(joined[name], host) {
			return name, joined[name]
		}
	}
	return "", nil
}

// isMemberAs reports whether a host was evaluated as the member that it is.
func (p *Prepared) isMemberAs(joined map[string][]string, host string) bool {
	name, members := membershipIn(joined, host)
	return p.Cluster == name && slices.Equal(p.Members, members)
}

// clusterWorld is what is known of the clusters of a deployment at one time.
type clusterWorld struct {
	service  *Service
	d        *Deployment
	r        *Revision
	rows     []*clusterRow
	byName   map[string]*Enrolled // hosts that may be changed
	told     *hostView
	prepared map[trust.ID]*Prepared
	targets  map[trust.ID]*targetRow
	joined   map[string][]string
	blocked  map[string]string // why hosts get nothing new, by name
	changed  []string          // clusters whose state is another one
}

// clusters finds out who is a member of which cluster of a deployment and, where that is what its site is to be now, has members join and leave.
func (s *Service) clusters(tx store.Tx, d *Deployment, enrolled []Enrolled, told *hostView, prepared map[trust.ID]*Prepared, targets map[trust.ID]*targetRow) (*clusterWorld, error) {
	w := &clusterWorld{service: s, d: d, told: told, prepared: prepared, targets: targets, byName: map[string]*Enrolled{}, joined: map[string][]string{}, blocked: map[string]string{}}
	var err error
	if w.rows, err = clusterRows(tx); err != nil {
		return nil, err
	}
	if w.r, err = revision(tx, d.Site, d.Number); err != nil || w.r == nil {
		return w, err
	}
	for i := range enrolled {
		if e := &enrolled[i]; e.Locked == "" {
			w.byName[e.Name] = e
		}
	}
	isOurs := func(c *clusterRow) bool { return c.Site == d.Site }
	if len(w.r.Clusters) > 0 || slices.ContainsFunc(w.rows, isOurs) {
		if w.d.Signed { // others evaluate, and tell nobody who has joined
			return w, nil
		}
		newest, err := ruling(tx, d.Site)
		if err != nil {
			return nil, err
		}
		if newest == d.ID {
			if err := w.settle(tx); err != nil {
				return nil, err
			}
		}
	}
	w.joined = joinedIn(w.rows, w.r)
	w.block()
	return w, nil
}

// block notes who gets nothing new, since members that are to be together are not.
func (w *clusterWorld) block() {
	for i := range w.r.Clusters {
		c := &w.r.Clusters[i]
		row := rowOf(w.rows, w.d.Site, c.Name)
		if row == nil || !c.Together || c.Absent || row.Undeployed == w.d.ID {
			continue
		}
		l := cluster.Decide(w.d.Site, *c, w.peers(row, c))
		for _, name := range l.Joined {
			if l.Deployed && len(l.Waiting) > 0 {
				w.blocked[name] = l.Reason()
			}
		}
	}
}

// settle has members join and leave, and keeps how clusters stand.
func (w *clusterWorld) settle(tx store.Tx) error {
	declared := map[string]*site.Cluster{}
	for i := range w.r.Clusters {
		c := &w.r.Clusters[i]
		declared[c.Name] = c
		if rowOf(w.rows, w.d.Site, c.Name) == nil {
			w.rows = append(w.rows, &clusterRow{Site: w.d.Site, Name: c.Name})
		}
	}
	var own []*clusterRow
	before := map[*clusterRow][]byte{}
	for _, row := range w.rows {
		if row.Site == w.d.Site {
			own = append(own, row)
			body, err := json.Marshal(row)
			if err != nil {
				return err
			}
			before[row] = body
		}
	}
	for _, row := range own { // who leaves one may join another
		w.release(row, declared[row.Name])
	}
	for _, row := range own {
		c := declared[row.Name]
		if c == nil {
			c = &site.Cluster{Name: row.Name, Absent: true}
		}
		if row.Undeployed > 0 && row.Undeployed < w.d.ID {
			row.Undeployed = 0
		}
		w.claim(row, c)
		w.report(row, c, declared[row.Name] != nil)
	}
	for _, row := range own {
		body, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if string(body) == string(before[row]) {
			continue
		}
		if err := w.note(tx, row, before[row]); err != nil {
			return err
		}
		if err := row.save(tx); err != nil {
			return err
		}
	}
	return nil
}

// note audits a cluster whose state is another one.
func (w *clusterWorld) note(tx store.Tx, row *clusterRow, before []byte) error {
	was := clusterRow{}
	if err := json.Unmarshal(before, &was); err != nil {
		return err
	}
	state := func(r *cluster.Overview) string {
		if r == nil {
			return string(cluster.Undeployed)
		}
		if r.State == cluster.Deployed && !r.Healthy {
			return "unhealthy"
		}
		return string(r.State)
	}
	if state(was.Report) == state(row.Report) {
		return nil
	}
	w.changed = append(w.changed, row.Name)
	return access.Audit(tx, access.Entry{At: w.service.now(), Actor: "server", Action: "cluster." + state(row.Report), Site: row.Site,
		Detail: map[string]string{"cluster": row.Name, "deployment": fmt.Sprint(w.d.ID)}})
}

// release lets go of members that the cluster wants no more and that have shown that nothing of it is there, and of those that
// are no hosts any more.
func (w *clusterWorld) release(row *clusterRow, c *site.Cluster) {
	for name, id := range row.Members {
		e := w.byName[name]
		isGone := e == nil || e.ID != id
		if isGone && w.isEnrolled(id) {
			continue // it is locked, and may have it still
		}
		wanted := c != nil && slices.Contains(row.joined(c), name)
		if isGone || !wanted && w.hasNothingOf(id) {
			delete(row.Members, name)
		}
	}
	if len(row.Members) == 0 {
		row.Since = time.Time{}
	}
}

// isEnrolled reports whether a host is one still, be it that it may not be changed.
func (w *clusterWorld) isEnrolled(id trust.ID) bool {
	_, known := w.told.away[id]
	return known && !w.told.revoked[id]
}

// hasNothingOf reports whether a host has what it is without any cluster.
func (w *clusterWorld) hasNothingOf(id trust.ID) bool {
	p, t, loop := w.prepared[id], w.targets[id], w.told.loops[id]
	if t == nil { // it never got anything of the site
		return true
	}
	return p != nil && p.Cluster == "" && t.Identity == p.Identity && loop != nil && loop.Position.Compare(t.Position) >= 0 &&
		(loop.Phase == control.PhaseGone || loop.Phase == control.PhaseWaiting && loop.Condition == control.ConditionConverged)
}

// claim has hosts join a cluster, all of them or none.
func (w *clusterWorld) claim(row *clusterRow, c *site.Cluster) {
	if c.Absent || row.Undeployed > 0 {
		row.Asked, row.Wants = time.Time{}, nil
		return
	}
	l := cluster.Decide(w.d.Site, *c, w.peers(row, c))
	if !l.Deployed && (len(l.Waiting) > 0 || w.comesLater(row, l)) {
		if row.Asked.IsZero() {
			row.Asked = w.service.now()
		}
		row.Wants = nil
		for _, name := range c.Hosts {
			if e := w.byName[name]; e != nil {
				row.Wants = append(row.Wants, e.ID)
			}
		}
		return // hosts get what the site is without the cluster
	}
	if row.Asked, row.Wants = (time.Time{}), nil; row.Since.IsZero() && len(l.Newcomers) > 0 {
		row.Since = w.service.now()
	}
	for _, name := range l.Newcomers {
		if row.Members == nil {
			row.Members = map[string]trust.ID{}
		}
		row.Members[name] = w.byName[name].ID
	}
}

// comesLater reports whether a cluster of another site has asked before for hosts that this one wants, and could have them all now.
func (w *clusterWorld) comesLater(row *clusterRow, l *cluster.Latch) bool {
	wants := map[trust.ID]bool{}
	for _, name := range l.Joined {
		wants[w.byName[name].ID] = true
	}
	taken := map[trust.ID]bool{}
	for _, other := range w.rows {
		for _, id := range other.Members {
			taken[id] = true
		}
	}
	for _, other := range w.rows {
		if other.Site == row.Site || other.Asked.IsZero() || !row.Asked.IsZero() && !other.Asked.Before(row.Asked) {
			continue
		}
		overlaps := slices.ContainsFunc(other.Wants, func(id trust.ID) bool { return wants[id] })
		misses := slices.ContainsFunc(other.Wants, func(id trust.ID) bool { return taken[id] || !w.told.away[id].IsZero() })
		if overlaps && !misses {
			return true
		}
	}
	return false
}

// memberships are who is in which cluster of a revision.
type memberships struct {
	joined map[string][]string
	// clustered are the hosts that a cluster has, or is to have: of these it is no mistake if nothing is wanted of them without it.
	clustered map[string]bool
}

// membershipsOf tells who is in which cluster of the revision of a deployment.
func (s *Service) membershipsOf(ctx context.Context, d *Deployment) (m memberships, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		m = memberships{joined: map[string][]string{}, clustered: map[string]bool{}}
		of, err := revision(r, d.Site, d.Number)
		if err != nil || of == nil {
			return err
		}
		rows, err := clusterRows(r)
		m.joined = joinedIn(rows, of)
		for i := range of.Clusters {
			for _, name := range of.Clusters[i].Hosts {
				m.clustered[name] = true
			}
		}
		for _, row := range rows {
			for name := range row.Members {
				m.clustered[name] = m.clustered[name] || row.Site == d.Site
			}
		}
		return err
	})
	return m, err
}
