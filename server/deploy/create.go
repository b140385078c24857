package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Request is what somebody asks to be deployed.
type Request struct {
	Site     string
	Revision int64  // its number; 0: the newest
	Hosts    string // a selector; empty: all
	Consent  Consent
	Empty    bool // that nothing is wanted of a host any more is meant
	Deadline time.Duration
	Message  string
	// Signed has hosts get what was signed elsewhere, by KeepSigned, and nothing that the server has evaluated.
	Signed bool
}

// Create makes a deployment, which begins by itself unless it needs a consent.
func (s *Service) Create(ctx context.Context, by *access.Caller, q Request) (*Deployment, error) {
	if q.Hosts == "" {
		q.Hosts = access.All
	}
	selector, err := access.ParseSelector(q.Hosts)
	if err != nil {
		return nil, err
	}
	if q.Signed {
		_, err = s.signatures()
	} else {
		err = s.mayAssign()
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]Consent{NoConsent, Start, Approval}, q.Consent) || q.Deadline < 0 {
		return nil, invalid("a consent is \"start\" or \"approve\", and a deadline is not below zero", "leave them out")
	}
	if s.IsFull != nil && s.IsFull() {
		return nil, &diag.HintError{Code: ErrFull, Message: "the server's disk is nearly full: no deployment begins", Hint: "make room there"}
	}
	if !by.MaySite(access.Deploy, q.Site) {
		return nil, by.Demand(access.Deploy, access.Target{}, q.Site)
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	var d *Deployment
	err = s.change(ctx, q.Site, func(tx store.Tx) error {
		d, err = s.create(tx, by, q, selector, enrolled)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Poke()
	s.publish(d)
	return d, nil
}

func (s *Service) create(tx store.Tx, by *access.Caller, q Request, selector access.Selector, enrolled []Enrolled) (*Deployment, error) {
	r, err := revision(tx, q.Site, q.Revision)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, notFound(fmt.Sprintf("there is no such revision of the site %.100q", q.Site), "tenet deploy SITE uploads one; of former ones the latest are kept")
	}
	d := &Deployment{Site: r.Site, Revision: r.Tree, Number: r.Number, By: by.Name, At: s.now(), Message: q.Message, Selector: q.Hosts,
		Consent: q.Consent, Empty: q.Empty, Deadline: q.Deadline, Signed: q.Signed, Phase: Planned}
	policy, err := policyOf(tx, r.Site)
	if err != nil {
		return nil, err
	}
	if policy.Signed && !d.Signed {
		return nil, policy.refuseUnsigned()
	}
	if policy.Approvals {
		d.Consent = Approval
	}
	if d.Hosts, err = choose(tx, by, r, selector, enrolled); err != nil {
		return nil, err
	}
	if len(d.Hosts) == 0 {
		return nil, invalid(fmt.Sprintf("%s names no host that %s declares with executor = \"agent\" and that is enrolled", q.Hosts, r.Site), "tenet host list shows those that are")
	}
	if _, err := store.One(tx, `SELECT CAST(COALESCE(MAX(id), 0) + 1 AS BIGINT) FROM deploy_deployments`, nil, &d.ID); err != nil {
		return nil, err
	}
	plan := site.Rollout{}
	if r.Rollout != nil {
		plan = *r.Rollout
	}
	var names []string
	for _, h := range d.Hosts {
		names = append(names, h.Name)
	}
	if d.Batches, err = rollout.Batches(&plan, uint64(d.ID), names); err != nil {
		return nil, invalid(err.Error(), "mend the site's rollout")
	}
	d.Pause = plan.Pause
	d.Why.become(Reason{Code: CodeEvaluation, Text: "the site is about to be evaluated", Until: d.At.Add(retryLook)}, d.At)
	for _, h := range d.Hosts {
		h.Why.become(Reason{Code: CodeEvaluation, Text: "the site is about to be evaluated for it", Until: d.At.Add(retryLook)}, d.At)
	}
	if err := (&record{Deployment: d}).save(tx); err != nil {
		return nil, err
	}
	if err := forgetOld(tx, d.Site); err != nil {
		return nil, err
	}
	detail := map[string]string{"deployment": fmt.Sprint(d.ID), "revision": fmt.Sprint(r.Number), "hosts": q.Hosts, "consent": string(d.Consent)}
	if q.Empty {
		detail["empty"] = "true"
	}
	if q.Signed {
		detail["signed"] = "true"
	}
	return d, access.Audit(tx, access.Entry{At: d.At, Actor: by.Name, Action: "deployment.create", Site: r.Site, Reason: q.Message, Detail: detail})
}

// choose gives the hosts of a deployment: those that the revision declares, in its order, then those that have something of the
// site and are not declared any more. One that was revoked keeps its name, which another host may have by now: then it is left out.
func choose(tx store.Tx, by *access.Caller, r *Revision, selector access.Selector, enrolled []Enrolled) (out []*Host, err error) {
	targets, err := all[targetRow](tx, targetsTable, r.Site, "")
	if err != nil {
		return nil, err
	}
	byName := map[string]*Enrolled{}
	for i := range enrolled {
		if e := &enrolled[i]; e.Locked == "" || byName[e.Name] == nil {
			byName[e.Name] = e
		}
	}
	var chosen []*Enrolled
	declared := map[trust.ID]bool{}
	for _, h := range r.Hosts {
		if e := byName[h.Name]; e != nil {
			declared[e.ID] = true
			chosen = append(chosen, e)
		}
	}
	var gone []*Enrolled
	for i := range enrolled {
		if e := &enrolled[i]; !declared[e.ID] && byName[e.Name] == e && targets[e.ID] != nil && !targets[e.ID].Absent {
			gone = append(gone, e)
		}
	}
	slices.SortFunc(gone, func(a, b *Enrolled) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range append(chosen, gone...) {
		is, err := by.Choose(access.Deploy, selector, e.target(), r.Site)
		if err != nil {
			return nil, err
		}
		if is {
			out = append(out, &Host{ID: e.ID, Name: e.Name, State: rollout.Out})
		}
	}
	return out, nil
}

// publish tells of a deployment, after the transaction.
func (s *Service) publish(d *Deployment) {
	if s.Published != nil {
		s.Published(d.Site, d.ID, d.Phase)
	}
}
