package deploy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Return says which hosts go back to what.
type Return struct {
	Site, Hosts string
	To          int64 // the number of the revision; 0: the one before the present one of each
	Empty       bool  // that nothing is wanted of a host any more is meant
	Why         string
}

// Rollback pins hosts to a former revision of a site. They keep it until Unpin. What is wrong for one of them is found before any of them goes back. Of many hosts only so many go back in one
// transaction: where one fails those before it have gone back, which it gives as well, and the same rollback takes the others there.
func (s *Service) Rollback(ctx context.Context, by *access.Caller, q Return) (pins []Pin, err error) {
	list, err := s.chooseRollback(ctx, by, q.Site, q.Hosts, q.To)
	if err != nil {
		return nil, err
	}
	groups := map[int64][]*pinTarget{}
	for _, p := range list {
		groups[p.revision.Number] = append(groups[p.revision.Number], p)
	}
	for _, group := range groups {
		if err := s.prepareGroup(ctx, group, q.Empty); err != nil {
			return nil, err
		}
	}
	defer s.Poke()
	for some := range slices.Chunk(list, s.mostTargets()) {
		done, err := s.pin(ctx, by, q, some)
		pins = append(pins, done...)
		if err != nil {
			return pins, partly(err, "gone back", len(pins), len(list))
		}
	}
	return pins, nil
}

// pin has some hosts go back, in one transaction, and wakes them.
func (s *Service) pin(ctx context.Context, by *access.Caller, q Return, list []*pinTarget) (pins []Pin, err error) {
	var woken []trust.ID
	err = s.change(ctx, q.Site, func(tx store.Tx) error {
		pins, woken = nil, nil
		policy, err := policyOf(tx, q.Site)
		if err == nil {
			err = policy.refuseAlone(askRollback)
		}
		if err != nil {
			return err
		}
		for _, p := range list {
			if policy.Signed && p.prepared.Signed == nil {
				return policy.refuseUnsigned()
			}
			pin := Pin{Host: p.ID, Name: p.Name, Site: q.Site, Revision: fmt.Sprint(p.revision.Number), By: by.Name, At: s.now(), Why: q.Why}
			if err := s.pinOne(tx, p, pin, q.Empty); err != nil {
				return err
			}
			pins, woken = append(pins, pin), append(woken, p.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pins, s.Targets.Wake(ctx, woken...)
}

// pinOne has a host go back, and audits that.
func (s *Service) pinOne(tx store.Tx, p *pinTarget, pin Pin, isEmptyMeant bool) error {
	if err := pinsTable.put(tx, pin.Site, p.ID, p.revision.Tree, pin); err != nil {
		return err
	}
	d := &Deployment{Site: pin.Site, Revision: p.revision.Tree, Number: p.revision.Number}
	// What was signed and is what the host has already stays what it is.
	if p.prepared.Signed == nil || p.prepared.Position.Compare(p.target.Position) > 0 {
		if _, err := s.assign(tx, d, p.prepared, pin.By, "rollback"+because(pin.Why)); err != nil {
			return err
		}
	}
	detail := map[string]string{"revision": pin.Revision}
	if isEmptyMeant {
		detail["empty"] = "true"
	}
	return access.Audit(tx, access.Entry{At: pin.At, Actor: pin.By, Action: "host.pin", Host: string(p.ID), Site: pin.Site, Reason: pin.Why, Detail: detail})
}

// partly adds to an error for how many hosts that was done which failed for others.
func partly(err error, what string, done, all int) error {
	if done > 0 {
		err = fmt.Errorf("%d of %d hosts have %s, and the same command goes on with the others: %w", done, all, what, err)
	}
	return err
}

// askRollback is how hosts go back where nobody may have them do so alone.
const askRollback = "deploy the former revision, and have that approved: tenet deploy SITE --revision NUMBER"

// chooseRollback gives the hosts that would go back, and to which revision: without a number all but those that are pinned.
func (s *Service) chooseRollback(ctx context.Context, by *access.Caller, site, hosts string, to int64) ([]*pinTarget, error) {
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
	var pins map[trust.ID]*Pin
	if err := s.Store.Read(ctx, func(r store.Reader) error {
		policy, err := policyOf(r, site)
		if err == nil {
			err = policy.refuseAlone(askRollback)
		}
		if err == nil && to == 0 {
			pins, err = all[Pin](r, pinsTable, site, "")
		}
		return err
	}); err != nil {
		return nil, err
	}
	// The revision before that of a host which is pinned is mostly the one that it has gone back from.
	if list = slices.DeleteFunc(list, func(p *pinTarget) bool { return pins[p.ID] != nil }); len(list) == 0 {
		return nil, &diag.HintError{Code: ErrPinned, Message: fmt.Sprintf("all of %.200s that have something of %s are pinned already", hosts, site),
			Hint: "name a revision: tenet rollback --to NUMBER; or let them follow again: tenet unpin"}
	}
	for _, p := range list {
		if p.revision == nil {
			return nil, &diag.HintError{Code: ErrGone, Message: fmt.Sprintf("%s has no former revision of %s that is kept", p.Name, site), Hint: "name one: tenet rollback --to NUMBER"}
		}
	}
	return list, nil
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
