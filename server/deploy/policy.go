package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// AllSites is the name by which the policy of all sites is set: what it demands is demanded of each of them, whatever its own says.
const AllSites = "*"

// Policy is what every deployment of a site has to have, whoever asks for it.
type Policy struct {
	Site      string    `json:"site"`
	Approvals bool      `json:"approvals"` // that another person has approved its plan
	Signed    bool      `json:"signed"`    // that an operator has signed it
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Why       string    `json:"why,omitempty"`
}

// PolicyMigration makes the table of policies. It came after other tables of a server, and stands behind them.
func PolicyMigration() store.Migration {
	return store.Migration{Name: "policies of sites", SQL: `
		CREATE TABLE deploy_policies (
			site TEXT NOT NULL PRIMARY KEY,
			body BYTES NOT NULL
		) STRICT;`}
}

// readPolicy reads what was set for a site, or for all of them.
func readPolicy(r store.Reader, site string) (p Policy, err error) {
	var body []byte
	found, err := store.One(r, `SELECT body FROM deploy_policies WHERE site = $1`, []any{site}, &body)
	if err == nil && found {
		err = json.Unmarshal(body, &p)
	}
	p.Site = site
	return p, err
}

// policyOf gives what is demanded of the deployments of a site: by its own policy, and by that of all sites.
func policyOf(r store.Reader, site string) (Policy, error) {
	p, err := readPolicy(r, site)
	if err != nil {
		return p, err
	}
	of, err := readPolicy(r, AllSites)
	p.Approvals, p.Signed = p.Approvals || of.Approvals, p.Signed || of.Signed
	return p, err
}

// lacks says what a deployment does not have that the policy demands; empty: nothing. One that waits for an approval, and begins by no other way, has it.
func (p Policy) lacks(d *Deployment) string {
	switch {
	case p.Signed && !d.Signed:
		return "an operator has to sign the deployments of " + d.Site
	case p.Approvals && d.Consent != Approval:
		return "another person has to approve the deployments of " + d.Site
	}
	return ""
}

// refuseUnsigned is the error about what nobody has signed.
func (p Policy) refuseUnsigned() error {
	return &diag.HintError{Code: ErrSign, Message: fmt.Sprintf("the policy of the site %.100q has an operator sign whatever is deployed", p.Site), Hint: askSign}
}

// refuseAlone refuses an act for which nobody but the one who does it is asked.
func (p Policy) refuseAlone(hint string) error {
	if !p.Approvals {
		return nil
	}
	return &diag.HintError{Code: ErrPolicy, Message: fmt.Sprintf("the policy of the site %.100q has another person approve whatever is changed", p.Site), Hint: hint}
}

// Policy tells what was set for a site, and what is demanded of it in all.
func (s *Service) Policy(ctx context.Context, by *access.Caller, site string) (own, whole Policy, err error) {
	if !by.MaySite(access.Read, site) {
		return own, whole, by.Demand(access.Read, access.Target{}, site)
	}
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if own, err = readPolicy(r, site); err == nil {
			whole, err = policyOf(r, site)
		}
		return err
	})
	return own, whole, err
}

// SetPolicy sets what is demanded of the deployments of a site, also of those that have not begun: these wait for an approval then, and those that
// nobody has signed come to their end.
func (s *Service) SetPolicy(ctx context.Context, by *access.Caller, p Policy) (Policy, error) {
	if err := by.DemandEverywhere(access.Admin); err != nil {
		return Policy{}, err
	}
	if strings.TrimSpace(p.Why) == "" {
		return Policy{}, invalid("a policy is set with a reason", "say why: --reason TEXT")
	}
	p.By, p.At = by.Name, s.now()
	body, err := json.Marshal(p)
	if err != nil {
		return Policy{}, err
	}
	var changed []*record
	err = s.Store.Write(ctx, func(tx store.Tx) error {
		changed = nil
		newest, err := revision(tx, p.Site, 0)
		if err == nil && newest == nil && p.Site != AllSites { // a misspelt name would protect nothing
			err = noSite(p.Site)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO deploy_policies (site, body) VALUES ($1, $2) ON CONFLICT (site) DO UPDATE SET body = $2`, p.Site, body); err != nil {
			return err
		}
		sites, err := sitesOf(tx, p.Site)
		if err != nil {
			return err
		}
		for _, site := range sites {
			some, err := s.holdTo(tx, site, p)
			if err != nil {
				return err
			}
			changed = append(changed, some...)
		}
		return access.Audit(tx, access.Entry{At: p.At, Actor: by.Name, Action: "site.policy", Site: p.Site, Reason: p.Why,
			Detail: map[string]string{"approvals": fmt.Sprint(p.Approvals), "signed": fmt.Sprint(p.Signed)}})
	})
	if err != nil {
		return Policy{}, err
	}
	s.Poke()
	for _, d := range changed {
		s.publish(d.Deployment)
	}
	return p, nil
}

// sitesOf lists the sites that a policy is about.
func sitesOf(r store.Reader, site string) (out []string, err error) {
	if site != AllSites {
		return []string{site}, nil
	}
	err = r.Query(`SELECT DISTINCT site FROM deploy_revisions ORDER BY site`, nil, func(row store.Row) error {
		var name string
		err := row.Scan(&name)
		out = append(out, name)
		return err
	})
	return out, err
}

// holdTo has the deployments of a site that have not begun be as its policy demands, and gives those that were not.
func (s *Service) holdTo(tx store.Tx, site string, set Policy) (changed []*record, err error) {
	if _, err := raise(tx, site); err != nil {
		return nil, err
	}
	p, err := policyOf(tx, site)
	if err != nil {
		return nil, err
	}
	ids, err := numbers(tx, `SELECT id FROM deploy_deployments WHERE site = $1 AND phase = 'planned' ORDER BY id`, site)
	for _, id := range ids {
		d, err := load(tx, id)
		if err != nil {
			return nil, err
		}
		switch {
		case p.lacks(d.Deployment) == "":
			continue
		case p.Signed && !d.Signed:
			err = d.Abort(set.By, "the policy of the site has an operator sign it", set.At)
		default:
			d.Consent = Approval
		}
		if err == nil {
			err = d.save(tx)
		}
		if err != nil {
			return nil, err
		}
		changed = append(changed, d)
	}
	return changed, err
}
