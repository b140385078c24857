package deploy

import (
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
	err = eachCluster(r, &ClusterFilter{}, func(c *clusterRow) bool {
		out = append(out, c)
		return true
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

// clusterWorld is what is known of the clusters of a deployment at one time.
type clusterWorld struct {
	service  *Service
	d        *Deployment
	r        *declaration
	rows     []*clusterRow
	byName   map[string]*Enrolled // hosts that may be changed
	told     *hostView
	prepared map[trust.ID]*Prepared
	targets  map[trust.ID]*targetRow
	members  map[string]membership // of hosts, by their names
	blocked  map[string]string     // why hosts get nothing new, by name
	notes    []clusterNote         // what is to be kept
	changed  []string              // clusters whose state is another one
}

// clusterNote is a cluster that is to be kept, and what was kept of it before.
type clusterNote struct {
	row    *clusterRow
	before []byte
}

// clusters finds out who is a member of which cluster of a deployment and, where that is what its site is to be now, has members join and leave.
func (s *Service) clusters(k *keptSite, d *Deployment, enrolled []Enrolled, told *hostView, prepared map[trust.ID]*Prepared) (*clusterWorld, error) {
	w := &clusterWorld{service: s, d: d, r: k.revisions[d.Number], rows: k.rows, told: told, prepared: prepared, targets: k.targets, byName: map[string]*Enrolled{}, blocked: map[string]string{}}
	isOurs := func(c *clusterRow) bool { return c.Site == d.Site }
	if w.r == nil || len(w.r.Clusters) == 0 && !slices.ContainsFunc(w.rows, isOurs) {
		return w, nil
	}
	if w.d.Signed { // others evaluate, and tell nobody who has joined
		return w, nil
	}
	for i := range enrolled {
		if e := &enrolled[i]; e.Locked == "" {
			w.byName[e.Name] = e
		}
	}
	if k.rulingDeployment() == d.ID {
		w.rows = copyRows(w.rows)
		if err := w.settle(); err != nil {
			return nil, err
		}
	}
	w.members = membershipsIn(joinedIn(w.rows, w.r.Revision))
	w.block()
	return w, nil
}

// copyRows gives copies, whose members may join and leave.
func copyRows(rows []*clusterRow) []*clusterRow {
	out := make([]*clusterRow, len(rows))
	for i, row := range rows {
		one := *row
		one.Members = maps.Clone(row.Members)
		out[i] = &one
	}
	return out
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

// settle has members join and leave, and notes how clusters stand.
func (w *clusterWorld) settle() error {
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
		if string(body) != string(before[row]) {
			w.notes = append(w.notes, clusterNote{row, before[row]})
		}
	}
	return nil
}

// save keeps clusters that are others than before.
func (w *clusterWorld) save(tx store.Tx) error {
	w.changed = nil
	for _, n := range w.notes {
		if err := w.audit(tx, n.row, n.before); err != nil {
			return err
		}
		if err := n.row.save(tx); err != nil {
			return err
		}
	}
	return nil
}

// audit notes a cluster whose state is another one.
func (w *clusterWorld) audit(tx store.Tx, row *clusterRow, before []byte) error {
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
