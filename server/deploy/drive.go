package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Times of evaluations.
const (
	Gather   = 30 * time.Second // what changes facts is gathered for so long
	Between  = 5 * time.Minute  // a host is evaluated no more often
	validity = 90 * 24 * time.Hour
	settling = 3 * control.Heartbeat // after a start nobody counts as away who may be about to connect
	interval = 5 * time.Second       // between rounds, where nobody pokes
	least    = time.Second           // between rounds, however often somebody does
)

// targetRow is a target as it is kept here, beside the signed one.
type targetRow struct {
	Target
	Revision int64 `json:"revision"`
	// Former is the revision before that one, to which a rollback goes.
	Former int64 `json:"former,omitempty"`
	// Key is that of the person who has signed it; zero: the server has.
	Key trust.PublicKey `json:"key,omitzero"`
	// Signer is the key that has signed it, whoever has; empty: a former version of the server has not kept that.
	Signer trust.ID `json:"signer,omitempty"`
}

// Run drives all deployments until the context ends. Only the active server runs it. An error of a round is told, and the next one tries again.
func (s *Service) Run(ctx context.Context, told func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	defer s.plans.all.Wait()
	s.one.Lock()
	s.settles = s.now().Add(settling)
	clear(s.kept) // another server may have been the active one until now
	s.one.Unlock()
	if err := s.tidy(ctx); err != nil && told != nil {
		told(err)
	}
	for ctx.Err() == nil {
		again, err := s.Round(ctx)
		if err != nil && ctx.Err() == nil && told != nil {
			told(err)
		}
		if again && err == nil {
			continue
		}
		rest := time.NewTimer(least)
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
		rest.Stop()
		select {
		case <-ctx.Done():
		case <-s.poke:
		case <-tick.C:
		}
	}
}

// work is what is to be asked outside of transactions.
type work struct {
	*Deployment
	evaluate, plan []trust.ID
}

// stepResult is what has come of a step.
type stepResult struct {
	isChanged bool
	targets   int       // how many are others now
	due       time.Time // when the deployment is looked at again although nothing happens
}

// step is one step of a deployment: what it does is in the store, all of it, or nothing is.
func (s *Service) step(ctx context.Context, k *keptSite, former *record, v *hostView, g *roundInput) (w *work, came stepResult, err error) {
	d := former.next()
	if err := k.takeNew(d.Deployment, g.enrolled); err != nil {
		return nil, came, err
	}
	world, clusters, err := s.world(ctx, k, d.Deployment, v, g)
	if err != nil {
		return nil, came, err
	}
	acts := d.Advance(*world)
	if err := d.fault(); err != nil {
		return nil, came, err
	}
	s.keepShown(d)
	w = &work{Deployment: d.Deployment}
	var assign []*Prepared
	for _, a := range acts {
		switch a.Kind {
		case Evaluate:
			w.evaluate = append(w.evaluate, a.Host)
		case Plan:
			w.plan = append(w.plan, a.Host)
		case Assign:
			assign = append(assign, world.Look(a.Host).Prepared)
		}
	}
	came.due, came.targets = d.nextLook(k, world), len(assign)
	came.isChanged, err = d.isChanged()
	if came.isChanged = came.isChanged || len(assign)+len(clusters.notes) > 0; err != nil || !came.isChanged {
		return w, came, err
	}
	return w, came, s.keepStep(ctx, k, former, d, assign, clusters, g)
}

// keepStep keeps what a step has come to, if all that it rests on is so still. Of many targets only so many change in one transaction. The first one has all that is not about one of these hosts:
// should it remain the only one, the deployment stands as if the other hosts had not had their turn yet.
func (s *Service) keepStep(ctx context.Context, k *keptSite, former, d *record, assign []*Prepared, clusters *clusterWorld, g *roundInput) error {
	begins := former.Phase == Planned && d.Phase != Planned && (d.Progress.Turn > 0 || !d.Phase.IsOver())
	targets := map[trust.ID]*targetRow{}
	for n, piece := range d.pieces(assign, s.mostTargets()) {
		var rows map[trust.ID]*targetRow
		err := s.Store.Write(ctx, func(tx store.Tx) (err error) {
			if err := k.claim(tx, n == 0 && len(clusters.notes) > 0); err != nil {
				return err
			}
			if rows, err = s.assignAll(tx, d.Deployment, piece.assign); err != nil {
				return err
			}
			if n > 0 {
				return d.saveHosts(tx, piece.places)
			}
			if err := clusters.save(tx); err != nil {
				return err
			}
			if begins {
				if err := s.supersede(tx, d.Deployment); err != nil {
					return err
				}
			}
			return d.saveWith(tx, piece.places)
		})
		if err != nil {
			return err
		}
		k.version++
		if n == 0 {
			k.tookClusters(clusters)
			s.tell(former, d, clusters)
		}
		g.versions[k.site], g.versions[allClusters] = k.version, k.clusters
		maps.Copy(targets, rows)
		if len(rows) > 0 {
			if err := s.Targets.Wake(ctx, slices.Sorted(maps.Keys(rows))...); err != nil {
				return err
			}
		}
	}
	kept := d.copySaved()
	k.took(kept, former, targets)
	s.readPlanLater(ctx, kept)
	if begins { // others have ended
		delete(s.kept, k.site)
	}
	return nil
}

// mostTargets is how many targets change in one transaction.
func (s *Service) mostTargets() int { return cmp.Or(s.targetsAtOnce, targetsAtOnce) }

// stepPiece is what of a step is kept in one transaction: targets, and the places of hosts that stand otherwise.
type stepPiece struct {
	assign []*Prepared
	places []int
}

// pieces divides a step: hosts that get no target are in the first one, and there is always one.
func (d *record) pieces(assign []*Prepared, most int) []stepPiece {
	list := make([]stepPiece, max(1, (len(assign)+most-1)/most))
	in := make(map[trust.ID]int, len(assign))
	for i, p := range assign {
		list[i/most].assign = append(list[i/most].assign, p)
		in[p.Host] = i / most
	}
	for _, i := range d.changedPlaces(in) {
		of := &list[in[d.Hosts[i].ID]]
		of.places = append(of.places, i)
	}
	return list
}

// assignAll makes what is prepared for hosts their targets.
func (s *Service) assignAll(tx store.Tx, d *Deployment, list []*Prepared) (map[trust.ID]*targetRow, error) {
	rows := map[trust.ID]*targetRow{}
	for _, p := range list {
		t, err := s.assign(tx, d, p, "server", fmt.Sprintf("deployment %d", d.ID))
		if err != nil {
			return nil, err
		}
		d.Took(p.Host, t.Position)
		rows[p.Host] = t
	}
	return rows, nil
}

// tell tells who wants to know what a step has come to.
func (s *Service) tell(former, d *record, clusters *clusterWorld) {
	if former.Phase != d.Phase {
		s.publish(d.Deployment)
	}
	for _, name := range clusters.changed {
		if s.ClusterChanged != nil {
			s.ClusterChanged(d.Site, name)
		}
	}
}

// claim has a transaction rest on what is kept of a site: it fails with errMoved if anything of that is otherwise by now.
func (k *keptSite) claim(tx store.Tx, changesClusters bool) error {
	if err := raiseFrom(tx, k.site, k.version); err != nil {
		return err
	}
	if changesClusters {
		return raiseFrom(tx, allClusters, k.clusters)
	}
	now, err := versionOf(tx, allClusters)
	if err == nil && now != k.clusters {
		err = errMoved
	}
	return err
}

// supersede ends the deployments of the site that came before one which begins.
func (s *Service) supersede(tx store.Tx, d *Deployment) error {
	former, err := numbers(tx, `SELECT id FROM deploy_deployments WHERE site = $1 AND id < $2 AND phase IN ('planned', 'rolling', 'paused')`, d.Site, d.ID)
	for _, id := range former {
		one, err := load(tx, id)
		if err != nil {
			return err
		}
		one.Supersede(d.ID, s.now())
		if err := one.save(tx); err != nil {
			return err
		}
	}
	return err
}

// assign makes what is prepared for a host its target, and audits that.
func (s *Service) assign(tx store.Tx, d *Deployment, p *Prepared, actor, why string) (*targetRow, error) {
	former := targetRow{}
	var body []byte
	found, err := store.One(tx, `SELECT body FROM deploy_targets WHERE site = $1 AND host = $2`, []any{d.Site, string(p.Host)}, &body)
	if err == nil && found {
		err = json.Unmarshal(body, &former)
	}
	if err != nil {
		return nil, err
	}
	a := &trust.Assignment{Format: trust.AssignmentFormat, Host: p.Host, Site: d.Site, Revision: fmt.Sprint(d.Number), Identity: p.Identity,
		Absent: p.Absent, Bundle: p.Bundle, Recipient: p.Recipient, Files: p.Files, Program: s.Program, Until: s.now().Add(validity)}
	if p.Signed != nil {
		a.Position, err = s.deliver(tx, p)
	} else {
		err = s.Targets.Assign(tx, p.Host, a)
	}
	if err != nil {
		return nil, err
	}
	if p.Signed != nil {
		a.Until = p.Until
	}
	row := &targetRow{Target: Target{Position: a.Position, Identity: p.Identity, Absent: p.Absent, Recipient: p.Recipient, Until: a.Until}, Revision: d.Number, Key: p.Key}
	if p.Signed != nil {
		row.Signer = p.Key.ID()
	} else if s.Options.Signatures != nil {
		if row.Signer, err = s.Signatures.Signer(tx, p.Host, d.Site); err != nil {
			return nil, err
		}
	}
	if row.Former = former.Revision; former.Revision == d.Number {
		row.Former = former.Former
	}
	if err := targetsTable.put(tx, d.Site, p.Host, d.Revision, row); err != nil {
		return nil, err
	}
	return row, access.Audit(tx, access.Entry{At: s.now(), Actor: actor, Action: "target.assign", Host: string(p.Host), Site: d.Site, Reason: why,
		Detail: map[string]string{"revision": fmt.Sprint(d.Number), "position": a.Position.String(), "identity": p.Identity.String()}})
}

// do has done what a step asks for, but for plans, which hosts begin. It reports whether there is something new.
func (s *Service) do(ctx context.Context, w *work, k *keptSite, v *hostView, g *roundInput) (bool, error) {
	some := false
	if len(w.evaluate) > 0 {
		e := &evaluations{Service: s, Deployment: w.Deployment, enrolled: g.byID(), told: v, kept: k}
		done, err := e.of(ctx, w.evaluate)
		g.versions[k.site] = k.version
		if err != nil {
			return false, err
		}
		some = len(done) > 0
	}
	return some, s.beginPlans(ctx, w.Deployment, w.plan)
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 500)]
}
