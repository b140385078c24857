package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// pinTarget is a host that is about to be pinned, and to what.
type pinTarget struct {
	Enrolled
	revision *Revision
	prepared *Prepared
	target   *targetRow
}

// demandDone refuses a revision that no deployment has brought to its end: a way back is no way past batches and approvals.
func demandDone(r store.Reader, to *Revision) error {
	var done int64
	_, err := store.One(r, `SELECT COUNT(*) FROM deploy_deployments WHERE site = $1 AND tree = $2 AND phase = 'done'`, []any{to.Site, string(to.Tree)}, &done)
	if err == nil && done == 0 {
		err = &diag.HintError{Code: ErrPhase, Message: fmt.Sprintf("revision %d of %s was deployed by no deployment that is done, and not all of the hosts have had it", to.Number, to.Site),
			Hint: "tenet deploy brings it to hosts; a rollback goes to what they had"}
	}
	return err
}

// chooseTargets gives the hosts of a selector that have something of a site.
func (s *Service) chooseTargets(ctx context.Context, by *access.Caller, site, hosts string, to func(store.Reader, *targetRow) (*Revision, error)) (out []*pinTarget, err error) {
	selector, err := access.ParseSelector(hosts)
	if err != nil {
		return nil, err
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	if !by.MaySite(access.Deploy, site) {
		return nil, by.Demand(access.Deploy, access.Target{}, site)
	}
	named := slices.DeleteFunc(slices.Clone(enrolled), func(e Enrolled) bool { return !selector.Matches(e.target()) })
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		targets, err := targetsOf(r, site, named)
		if err != nil {
			return err
		}
		for _, e := range named {
			if targets[e.ID] == nil {
				continue
			}
			is, err := by.Choose(access.Deploy, selector, e.target(), site)
			if err != nil {
				return err
			}
			if !is {
				continue
			}
			p := &pinTarget{Enrolled: e, target: targets[e.ID]}
			if p.revision, err = to(r, targets[e.ID]); err != nil {
				return err
			}
			out = append(out, p)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = notFound(fmt.Sprintf("%.200s names no host that has something of the site %.100q", hosts, site), "tenet deployments lists what was deployed")
	}
	return out, err
}

// targetsOf reads what is wanted of hosts for a site: of a few, one by one.
func targetsOf(r store.Reader, site string, hosts []Enrolled) (map[trust.ID]*targetRow, error) {
	const few = 500
	if len(hosts) > few {
		return all[targetRow](r, targetsTable, site, "")
	}
	out := map[trust.ID]*targetRow{}
	for _, e := range hosts {
		var body []byte
		found, err := store.One(r, `SELECT body FROM deploy_targets WHERE site = $1 AND host = $2`, []any{site, string(e.ID)}, &body)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		t := &targetRow{}
		if err := json.Unmarshal(body, t); err != nil {
			return nil, fmt.Errorf("what is wanted of the host %s is damaged: %w", e.ID.Short(), err)
		}
		out[e.ID] = t
	}
	return out, nil
}

// prepareGroup evaluates one revision for hosts.
func (s *Service) prepareGroup(ctx context.Context, group []*pinTarget, isEmptyMeant bool) error {
	d := &Deployment{Site: group[0].revision.Site, Revision: group[0].revision.Tree, Number: group[0].revision.Number, Empty: isEmptyMeant}
	var ids []trust.ID
	others, err := s.takeSigned(ctx, d, group)
	if err != nil {
		return err
	}
	for _, p := range others {
		ids = append(ids, p.ID)
	}
	var done []*Prepared
	if len(ids) > 0 {
		if done, err = s.evaluate(ctx, d, ids); err != nil {
			return err
		}
	}
	of := make(map[trust.ID]*Prepared, len(done))
	for _, one := range done {
		of[one.Host] = one
	}
	for _, p := range group {
		if one := of[p.ID]; one != nil {
			p.prepared = one
		}
		switch {
		case p.prepared == nil:
			return invalid(fmt.Sprintf("%s has told no facts, or is locked: the revision cannot be evaluated for it", p.Name), "leave it out")
		case p.prepared.Error != "":
			return &diag.HintError{Code: ErrSite, Message: fmt.Sprintf("revision %d is wrong for %s: %s", d.Number, p.Name, p.prepared.Error), Hint: "name another one"}
		case len(p.prepared.Waits) > 0:
			return invalid(fmt.Sprintf("%s reads what others have not given yet: %s", p.Name, some(p.prepared.Waits)), "name another revision, or wait")
		case (p.prepared.Absent || p.prepared.Empty) && !isEmptyMeant:
			return &diag.HintError{Code: ErrEmpty, Message: fmt.Sprintf("revision %d wants nothing of %s", d.Number, p.Name), Hint: "name another one, or say with --empty that this is meant"}
		}
	}
	return nil
}

// Unpin lets hosts follow what is deployed again: they join the deployment that has them. Of many hosts only so many do in one transaction, as with Rollback.
func (s *Service) Unpin(ctx context.Context, by *access.Caller, site, hosts, why string) (out []Pin, err error) {
	list, err := s.PreviewUnpin(ctx, by, site, hosts)
	if err != nil {
		return nil, err
	}
	defer s.Poke()
	for some := range slices.Chunk(list, s.mostTargets()) {
		done, err := s.unpin(ctx, by, some, why)
		if err != nil {
			return out, partly(err, "been unpinned", len(out), len(list))
		}
		out = append(out, done...)
	}
	return out, nil
}

// unpin takes some pins away, in one transaction. Those that are not there any more are left out.
func (s *Service) unpin(ctx context.Context, by *access.Caller, list []Pin, why string) (out []Pin, err error) {
	err = s.change(ctx, list[0].Site, func(tx store.Tx) error {
		out = nil
		for _, p := range list {
			n, err := tx.Exec(`DELETE FROM deploy_pins WHERE site = $1 AND host = $2`, p.Site, string(p.Host))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "host.unpin", Host: string(p.Host), Site: p.Site, Reason: why}); err != nil {
				return err
			}
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// PreviewUnpin gives the pins that Unpin would take away, by the same choice of hosts; it changes nothing.
func (s *Service) PreviewUnpin(ctx context.Context, by *access.Caller, site, hosts string) (out []Pin, err error) {
	list, err := s.chooseUnpin(ctx, by, site, hosts)
	if err != nil {
		return nil, err
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out, err = pinsAmong(r, site, hosts, list)
		return err
	})
	return out, err
}

// chooseUnpin gives the hosts that a selector means, pinned or not.
func (s *Service) chooseUnpin(ctx context.Context, by *access.Caller, site, hosts string) ([]*pinTarget, error) {
	return s.chooseTargets(ctx, by, site, hosts, func(store.Reader, *targetRow) (*Revision, error) { return nil, nil })
}

// pinsAmong gives the pins of those hosts that have one; it is an error if none has.
func pinsAmong(r store.Reader, site, hosts string, list []*pinTarget) (out []Pin, err error) {
	pins, err := all[Pin](r, pinsTable, site, "")
	for _, p := range list {
		if pin := pins[p.ID]; pin != nil {
			pin.Name = p.Name // it may have got another one since
			out = append(out, *pin)
		}
	}
	if err == nil && len(out) == 0 {
		err = &diag.HintError{Code: ErrPinned, Message: fmt.Sprintf("none of %.200s is pinned", hosts), Hint: "tenet deployments shows who is"}
	}
	return out, err
}

// PinOf gives the pin of one host of a site, by its id or name; nil: there is none that the caller may see.
func (s *Service) PinOf(ctx context.Context, by *access.Caller, site, host string) (out *Pin, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(enrolled, func(h Enrolled) bool { return string(h.ID) == host || h.Name == host })
	if i < 0 || !by.May(access.Read, enrolled[i].target(), site) {
		return nil, nil
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		if out, err = ofHost[Pin](r, pinsTable, site, enrolled[i].ID); out != nil {
			out.Name = enrolled[i].Name // it may have got another one since
		}
		return err
	})
	return out, err
}

// Pins lists the hosts of a site that are pinned, as far as a caller may see them, by name.
func (s *Service) Pins(ctx context.Context, by *access.Caller, site string) (out []Pin, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		pins, err := all[Pin](r, pinsTable, site, "")
		for i := range enrolled {
			if p := pins[enrolled[i].ID]; p != nil && by.May(access.Read, enrolled[i].target(), site) {
				p.Name = enrolled[i].Name
				out = append(out, *p)
			}
		}
		return err
	})
	slices.SortFunc(out, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}
