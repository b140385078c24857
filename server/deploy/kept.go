package deploy

import (
	"context"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// keptSite is what is kept in memory of a site between rounds: what the store has as of a version. Rounds alone use it.
type keptSite struct {
	site        string
	version     int64
	clusters    int64             // the version of the clusters of all sites
	deployments map[int64]*record // those that are looked at
	prepared    map[preparedOf]map[trust.ID]*Prepared
	values      *valueTable                                // that these have read
	plans       map[contents.Digest]map[trust.ID]*HostPlan // by revision, where they are needed now
	pins        map[trust.ID]*Pin
	targets     map[trust.ID]*targetRow
	signers     map[trust.ID]bool // the keys that have signed these, and what is to become some
	rows        []*clusterRow     // of all sites
	policy      Policy
	revisions   map[int64]*declaration       // nil: it is not kept any more
	later       map[int64]map[trust.ID]int64 // by deployment, the later ones that have its hosts
	rests       map[int64]restPeriod         // of deployments about which there was nothing to do
}

// preparedOf says what of: what a revision makes of hosts, in one of the tables.
type preparedOf struct {
	table table
	tree  contents.Digest
}

// declaration is a revision with its hosts by their names.
type declaration struct {
	*Revision
	byName map[string]*site.Host
}

func declarationOf(r *Revision) *declaration {
	if r == nil {
		return nil
	}
	d := &declaration{r, make(map[string]*site.Host, len(r.Hosts))}
	for i := range r.Hosts {
		d.byName[r.Hosts[i].Name] = &r.Hosts[i]
	}
	return d
}

// declares reports whether it declares a host; one that is not kept declares none.
func (d *declaration) declares(name string) bool { return d != nil && d.byName[name] != nil }

// keptOf gives what is kept of a site, and reads it if that is of another version than the site has.
func (s *Service) keptOf(ctx context.Context, site string, versions map[string]int64) (*keptSite, error) {
	k := s.kept[site]
	if k != nil && k.version == versions[site] {
		if k.clusters == versions[allClusters] {
			return k, nil
		}
		return k, s.Store.Read(ctx, k.readClusters)
	}
	delete(s.kept, site)
	k = &keptSite{site: site}
	if err := s.Store.Read(ctx, func(r store.Reader) error { return s.readSite(r, k) }); err != nil {
		return nil, err
	}
	for _, d := range k.deployments {
		s.readPlanLater(ctx, d)
	}
	s.kept[site] = k
	versions[site], versions[allClusters] = k.version, k.clusters
	return k, nil
}

// readSite reads all of it.
func (s *Service) readSite(r store.Reader, k *keptSite) (err error) {
	k.deployments, k.prepared, k.plans = map[int64]*record{}, map[preparedOf]map[trust.ID]*Prepared{}, map[contents.Digest]map[trust.ID]*HostPlan{}
	k.values = newValueTable()
	k.revisions, k.later, k.rests = map[int64]*declaration{}, map[int64]map[trust.ID]int64{}, map[int64]restPeriod{}
	if k.version, err = versionOf(r, k.site); err != nil {
		return err
	}
	if err := k.readClusters(r); err != nil {
		return err
	}
	if k.policy, err = policyOf(r, k.site); err != nil {
		return err
	}
	if k.pins, err = all[Pin](r, pinsTable, k.site, ""); err != nil {
		return err
	}
	if k.targets, err = all[targetRow](r, targetsTable, k.site, ""); err != nil {
		return err
	}
	list, err := under(r)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.site != k.site {
			continue
		}
		if err := s.readOne(r, k, one.id); err != nil {
			return err
		}
	}
	if err := s.addSigners(r, k.site, k.targets); err != nil {
		return err
	}
	k.noteSigners()
	return nil
}

// noteSigners notes by which keys something was signed.
func (k *keptSite) noteSigners() {
	k.signers = map[trust.ID]bool{}
	for _, t := range k.targets {
		k.signers[t.signer()] = true
	}
	for of, prepared := range k.prepared {
		if of.table == signedTable {
			for _, p := range prepared {
				k.signers[p.Key.ID()] = true
			}
		}
	}
}

// readClusters reads the clusters of all sites.
func (k *keptSite) readClusters(r store.Reader) (err error) {
	if k.clusters, err = versionOf(r, allClusters); err == nil {
		k.rows, err = clusterRows(r)
	}
	return err
}

// readOne reads what is kept of a deployment.
func (s *Service) readOne(r store.Reader, k *keptSite, id int64) error {
	d, err := load(r, id)
	if err != nil || d == nil {
		return err
	}
	k.deployments[id] = d
	if k.later[id], err = elsewhere(r, d.Deployment); err != nil {
		return err
	}
	if _, known := k.revisions[d.Number]; !known {
		one, err := s.knownRevision(r, k.site, d.Number)
		if err != nil {
			return err
		}
		k.revisions[d.Number] = declarationOf(one)
	}
	of := preparedOf{d.prepared(), d.evaluationDigest()}
	if k.prepared[of] == nil {
		err = each(r, of.table, k.site, of.tree, func(_ trust.ID, p *Prepared) { k.keep(of, p) })
	}
	return err
}

// newestDone is the newest deployment that is done, and ruling the one that says what clusters are to be: the newest that has begun; 0: there is none.
func (k *keptSite) newestDone() (id int64) { return k.newest(Done) }

func (k *keptSite) rulingDeployment() (id int64) { return k.newest(Rolling, Paused, Done) }

func (k *keptSite) newest(phases ...Phase) (id int64) {
	for n, d := range k.deployments {
		if n > id && slices.Contains(phases, d.Phase) {
			id = n
		}
	}
	return id
}

// plansOf gives what hosts have planned of the revision of a deployment. Plans may be large, and nobody looks at them where nobody is to consent.
func (s *Service) plansOf(ctx context.Context, k *keptSite, d *Deployment) (plans map[trust.ID]*HostPlan, err error) {
	if d.Consent == NoConsent {
		return nil, nil
	}
	if plans = k.plans[d.evaluationDigest()]; plans != nil {
		return plans, nil
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		plans, err = all[HostPlan](r, plansTable, k.site, d.evaluationDigest())
		return err
	})
	k.plans[d.evaluationDigest()] = plans
	return plans, err
}

// took has what is kept follow a step that is in the store by now.
func (k *keptSite) took(d, former *record, targets map[trust.ID]*targetRow) {
	k.deployments[d.ID] = d
	for id, t := range targets {
		k.targets[id], k.signers[t.signer()] = t, true
	}
	if d.Phase != former.Phase { // which later ones have a host may be others now
		clear(k.later)
		return
	}
	for id, later := range k.later {
		if id >= d.ID {
			continue
		}
		for i, h := range d.Hosts {
			if h.Turn > 0 && (i >= len(former.Hosts) || former.Hosts[i].Turn == 0) {
				later[h.ID] = max(later[h.ID], d.ID)
			}
		}
	}
}

// tookClusters has what is kept follow clusters that are in the store by now.
func (k *keptSite) tookClusters(c *clusterWorld) {
	if len(c.notes) > 0 {
		k.rows = c.rows
		k.clusters++
	}
}

// notePrepared has what is kept follow what was made of hosts, which has given the site this version. Where others have changed something meanwhile it is read anew.
func (k *keptSite) notePrepared(of preparedOf, list []*Prepared, version int64) {
	if k.version+1 != version {
		return
	}
	k.version = version
	for _, p := range list {
		k.keep(of, p)
	}
	k.shrinkValues()
}

// keep takes in what is prepared for a host.
func (k *keptSite) keep(of preparedOf, p *Prepared) {
	if k.prepared[of] == nil {
		k.prepared[of] = map[trust.ID]*Prepared{}
	}
	p.outline = nil // it is in the store
	p.Read = k.values.take(p.Read)
	k.prepared[of][p.Host] = p
}

// laterThan gives the later deployments that have hosts of one.
func (s *Service) laterThan(ctx context.Context, k *keptSite, d *Deployment) (later map[trust.ID]int64, err error) {
	if later = k.later[d.ID]; later != nil {
		return later, nil
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		now, err := versionOf(r, k.site)
		if err == nil && now != k.version {
			err = errMoved
		}
		if err == nil {
			later, err = elsewhere(r, d)
		}
		return err
	})
	k.later[d.ID] = later
	return later, err
}

// takeNew adds hosts that were enrolled after a deployment for all hosts was made, if it is the newest that is done.
func (k *keptSite) takeNew(d *Deployment, enrolled []Enrolled) error {
	r := k.revisions[d.Number]
	if d.Phase != Done || r == nil || k.newestDone() != d.ID {
		return nil
	}
	selector, err := access.ParseSelector(d.Selector)
	if err != nil {
		return err
	}
	for i := range enrolled {
		e := &enrolled[i]
		if e.Locked == "" && r.declares(e.Name) && d.host(e.ID) == nil && selector.Matches(e.target()) {
			d.Hosts = append(d.Hosts, &Host{ID: e.ID, Name: e.Name, State: rollout.Out})
		}
	}
	return nil
}

// dropSites forgets what is kept of sites of which there is nothing to look at any more.
func (s *Service) dropSites(under []siteDeployment) {
	isLeft := func(site string) bool {
		return !slices.ContainsFunc(under, func(one siteDeployment) bool { return one.site == site })
	}
	maps.DeleteFunc(s.kept, func(site string, _ *keptSite) bool { return isLeft(site) })
	maps.DeleteFunc(s.views, func(site string, _ *hostView) bool { return isLeft(site) })
}
