package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Round looks at each deployment once: it brings it as far as it goes, and then has done what it asks for. It reports whether
// something has come of that.
func (s *Service) Round(ctx context.Context) (again bool, err error) {
	s.one.Lock()
	defer s.one.Unlock()
	var ids []int64
	if err := s.Store.Read(ctx, func(r store.Reader) (err error) {
		ids, err = under(r)
		return err
	}); err != nil {
		return false, err
	}
	s.dropPlans(ids)
	slices.Reverse(ids) // later ones take hosts over
	var failed []error
	for _, id := range ids {
		w, err := s.step(ctx, id)
		if err == nil && w != nil {
			var some bool
			some, err = s.do(ctx, w)
			again = again || some
		}
		s.noteFault(id, err)
		if err != nil {
			failed = append(failed, fmt.Errorf("deployment %d: %w", id, err))
		}
	}
	return again, errors.Join(failed...)
}

// step is one transaction of a deployment.
func (s *Service) step(ctx context.Context, id int64) (w *work, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	var d *record
	if err := s.Store.Read(ctx, func(r store.Reader) (err error) {
		d, err = load(r, id)
		return err
	}); err != nil || d == nil {
		return nil, err
	}
	told, full := s.look(enrolled, d.Site), s.IsFull != nil && s.IsFull()
	var woken []trust.ID
	var was Phase
	var clusters []string
	err = s.Store.Write(ctx, func(tx store.Tx) error {
		woken, clusters = nil, nil
		if d, err = load(tx, id); err != nil || d == nil {
			return err
		}
		was = d.Phase
		d.reuse(s.shown)
		world, err := s.world(tx, d, enrolled, told, full)
		if err != nil {
			return err
		}
		clusters = world.Clusters
		acts := d.Advance(*world)
		if d.fault != nil {
			return d.fault
		}
		w = &work{Deployment: d.Deployment}
		for _, a := range acts {
			switch a.Kind {
			case Evaluate:
				w.evaluate = append(w.evaluate, a.Host)
			case Plan:
				w.plan = append(w.plan, a.Host)
			case Assign:
				l := world.Look(a.Host)
				at, err := s.assign(tx, d.Deployment, l.Prepared, "server", fmt.Sprintf("deployment %d", d.ID))
				if err != nil {
					return err
				}
				d.Took(a.Host, at)
				woken = append(woken, a.Host)
			}
		}
		if was == Planned && d.Phase != Planned && (d.Progress.Turn > 0 || !d.Phase.IsOver()) {
			if err := s.supersede(tx, d.Deployment); err != nil {
				return err
			}
		}
		return d.save(tx)
	})
	if err != nil || d == nil {
		return nil, err
	}
	if d.Plan != nil && d.Plan.index != nil {
		s.shown = d.Plan
	}
	if was != d.Phase {
		s.publish(d.Deployment)
	}
	for _, name := range clusters {
		if s.ClusterChanged != nil {
			s.ClusterChanged(d.Site, name)
		}
	}
	if len(woken) > 0 {
		err = s.Targets.Wake(ctx, woken...)
	}
	return w, err
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
func (s *Service) assign(tx store.Tx, d *Deployment, p *Prepared, actor, why string) (trust.Position, error) {
	former := targetRow{}
	var body []byte
	found, err := store.One(tx, `SELECT body FROM deploy_targets WHERE site = $1 AND host = $2`, []any{d.Site, string(p.Host)}, &body)
	if err == nil && found {
		err = json.Unmarshal(body, &former)
	}
	if err != nil {
		return trust.Position{}, err
	}
	a := &trust.Assignment{Format: trust.AssignmentFormat, Host: p.Host, Site: d.Site, Revision: fmt.Sprint(d.Number), Identity: p.Identity,
		Absent: p.Absent, Bundle: p.Bundle, Recipient: p.Recipient, Files: p.Files, Program: s.Program, Until: s.now().Add(validity)}
	if p.Signed != nil {
		a.Position, err = s.deliver(tx, p)
	} else {
		err = s.Targets.Assign(tx, p.Host, a)
	}
	if err != nil {
		return trust.Position{}, err
	}
	if p.Signed != nil {
		a.Until = p.Until
	}
	row := targetRow{Target: Target{Position: a.Position, Identity: p.Identity, Absent: p.Absent, Recipient: p.Recipient, Until: a.Until}, Revision: d.Number, Key: p.Key}
	if p.Signed != nil {
		row.Signer = p.Key.ID()
	} else if s.Options.Signatures != nil {
		if row.Signer, err = s.Signatures.Signer(tx, p.Host, d.Site); err != nil {
			return trust.Position{}, err
		}
	}
	if row.Former = former.Revision; former.Revision == d.Number {
		row.Former = former.Former
	}
	if err := targetsTable.put(tx, d.Site, p.Host, d.Revision, row); err != nil {
		return trust.Position{}, err
	}
	return a.Position, access.Audit(tx, access.Entry{At: s.now(), Actor: actor, Action: "target.assign", Host: string(p.Host), Site: d.Site, Reason: why,
		Detail: map[string]string{"revision": fmt.Sprint(d.Number), "position": a.Position.String(), "identity": p.Identity.String()}})
}

// do has done what a step asks for, but for plans, which hosts begin. It reports whether there is something new.
func (s *Service) do(ctx context.Context, w *work) (bool, error) {
	some := false
	if len(w.evaluate) > 0 {
		done, err := s.evaluate(ctx, w.Deployment, w.evaluate)
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
