package deploy

import (
	"cmp"
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

// pinned is a host that is about to be pinned, and to what.
type pinned struct {
	Enrolled
	revision *Revision
	prepared *Prepared
	target   *targetRow
}

// Return says which hosts go back to what.
type Return struct {
	Site, Hosts string
	To          int64 // the number of the revision; 0: the one before the present one of each
	Empty       bool  // that nothing is wanted of a host any more is meant
	Why         string
}

// Rollback pins hosts to a former revision of a site. They keep it until Unpin. Either all of them go back or none.
func (s *Service) Rollback(ctx context.Context, by *access.Caller, q Return) ([]Pin, error) {
	site, why := q.Site, q.Why
	list, err := s.chooseRollback(ctx, by, site, q.Hosts, q.To)
	if err != nil {
		return nil, err
	}
	groups := map[int64][]*pinned{}
	for _, p := range list {
		groups[p.revision.Number] = append(groups[p.revision.Number], p)
	}
	for _, group := range groups {
		if err := s.prepareGroup(ctx, group, q.Empty); err != nil {
			return nil, err
		}
	}
	var pins []Pin
	var woken []trust.ID
	err = s.change(ctx, site, func(tx store.Tx) error {
		pins, woken = nil, nil
		policy, err := policyOf(tx, site)
		if err == nil {
			err = policy.refuseAlone(askRollback)
		}
		if err != nil {
			return err
		}
		for _, p := range list {
			pin := Pin{Host: p.ID, Name: p.Name, Site: site, Revision: fmt.Sprint(p.revision.Number), By: by.Name, At: s.now(), Why: why}
			if err := pinsTable.put(tx, site, p.ID, p.revision.Tree, pin); err != nil {
				return err
			}
			if policy.Signed && p.prepared.Signed == nil {
				return policy.refuseUnsigned()
			}
			d := &Deployment{Site: site, Revision: p.revision.Tree, Number: p.revision.Number}
			// What was signed and is what the host has already stays what it is.
			if p.prepared.Signed == nil || p.prepared.Position.Compare(p.target.Position) > 0 {
				if _, err := s.assign(tx, d, p.prepared, by.Name, "rollback"+because(why)); err != nil {
					return err
				}
			}
			detail := map[string]string{"revision": pin.Revision}
			if q.Empty {
				detail["empty"] = "true"
			}
			if err := access.Audit(tx, access.Entry{At: pin.At, Actor: by.Name, Action: "host.pin", Host: string(p.ID), Site: site, Reason: why, Detail: detail}); err != nil {
				return err
			}
			pins, woken = append(pins, pin), append(woken, p.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Poke()
	return pins, s.Targets.Wake(ctx, woken...)
}

// askRollback is how hosts go back where nobody may have them do so alone.
const askRollback = "deploy the former revision, and have that approved: tenet deploy SITE --revision NUMBER"

// chooseRollback gives the hosts that would go back, and to which revision.
func (s *Service) chooseRollback(ctx context.Context, by *access.Caller, site, hosts string, to int64) ([]*pinned, error) {
	read := map[int64]*Revision{}
	list, err := s.chooseTargets(ctx, by, site, hosts, func(r store.Reader, t *targetRow) (one *Revision, err error) {
		number := cmp.Or(to, t.Former, -1)
		one, known := read[number]
		if !known {
			one, err = s.knownRevision(r, site, number)
			read[number] = one
		}
		if err == nil && one != nil && number != t.Former && number != t.Revision {
			err = demandDone(r, one)
		}
		return one, err
	})
	if err != nil {
		return nil, err
	}
	if err := s.Store.Read(ctx, func(r store.Reader) error {
		policy, err := policyOf(r, site)
		if err == nil {
			err = policy.refuseAlone(askRollback)
		}
		return err
	}); err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.revision == nil {
			return nil, &diag.HintError{Code: ErrGone, Message: fmt.Sprintf("%s has no former revision of %s that is kept", p.Name, site), Hint: "name one: tenet rollback --to NUMBER"}
		}
	}
	return list, nil
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

// RollbackOf is what a rollback would do to a host.
type RollbackOf struct {
	Host   trust.ID `json:"host"`
	Name   string   `json:"name"`
	From   int64    `json:"from"` // the revision that is wanted of it now
	To     int64    `json:"to"`
	Pinned bool     `json:"pinned,omitempty"` // it is pinned already
}

// PreviewRollback tells what Rollback would do, by the same choice of hosts and revisions; it changes nothing. Whether the revision can still be evaluated for them
// the rollback itself finds out.
func (s *Service) PreviewRollback(ctx context.Context, by *access.Caller, site, hosts string, to int64) (out []RollbackOf, err error) {
	list, err := s.chooseRollback(ctx, by, site, hosts, to)
	if err != nil {
		return nil, err
	}
	isPinned := map[trust.ID]bool{}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		return r.Query(`SELECT host FROM deploy_pins WHERE site = $1`, []any{site}, func(row store.Row) error {
			var host string
			err := row.Scan(&host)
			isPinned[trust.ID(host)] = true
			return err
		})
	})
	for _, p := range list {
		out = append(out, RollbackOf{p.ID, p.Name, p.target.Revision, p.revision.Number, isPinned[p.ID]})
	}
	return out, err
}

// chooseTargets gives the hosts of a selector that have something of a site.
func (s *Service) chooseTargets(ctx context.Context, by *access.Caller, site, hosts string, to func(store.Reader, *targetRow) (*Revision, error)) (out []*pinned, err error) {
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
			p := &pinned{Enrolled: e, target: targets[e.ID]}
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
func (s *Service) prepareGroup(ctx context.Context, group []*pinned, isEmptyMeant bool) error {
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

// Unpin lets hosts follow what is deployed again: they join the deployment that has them.
func (s *Service) Unpin(ctx context.Context, by *access.Caller, site, hosts, why string) (out []Pin, err error) {
	list, err := s.chooseUnpin(ctx, by, site, hosts)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, site, func(tx store.Tx) error {
		if out, err = pinsAmong(tx, site, hosts, list); err != nil {
			return err
		}
		for _, p := range out {
			if _, err := tx.Exec(`DELETE FROM deploy_pins WHERE site = $1 AND host = $2`, site, string(p.Host)); err != nil {
				return err
			}
			if err := access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "host.unpin", Host: string(p.Host), Site: site, Reason: why}); err != nil {
				return err
			}
		}
		return nil
	})
	s.Poke()
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
func (s *Service) chooseUnpin(ctx context.Context, by *access.Caller, site, hosts string) ([]*pinned, error) {
	return s.chooseTargets(ctx, by, site, hosts, func(store.Reader, *targetRow) (*Revision, error) { return nil, nil })
}

// pinsAmong gives the pins of those hosts that have one; it is an error if none has.
func pinsAmong(r store.Reader, site, hosts string, list []*pinned) (out []Pin, err error) {
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
