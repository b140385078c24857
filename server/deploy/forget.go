package deploy

import (
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// RemoveHost removes what is kept for a host that is forgotten, in a transaction of the caller's: what is wanted of it, what was prepared and planned, and its
// pins. What became of it in deployments stays with these.
func (s *Service) RemoveHost(tx store.Tx, host trust.ID) error {
	var sites []string
	err := tx.Query(`SELECT DISTINCT site FROM deploy_revisions`, nil, func(row store.Row) error {
		var site string
		err := row.Scan(&site)
		sites = append(sites, site)
		return err
	})
	for _, site := range sites {
		if err == nil {
			err = removeFrom(tx, site, host)
		}
	}
	return err
}

// removeFrom removes what is kept for a host of a site, of which rounds then read anew what is there.
func removeFrom(tx store.Tx, site string, host trust.ID) error {
	removed := int64(0)
	for _, table := range []string{"deploy_prepared", "deploy_plans", "deploy_pins", "deploy_targets", "deploy_signed", "deploy_outlines"} {
		n, err := tx.Exec(`DELETE FROM `+table+` WHERE site = $1 AND host = $2`, site, string(host))
		if err != nil {
			return err
		}
		removed += n
	}
	if removed == 0 {
		return nil
	}
	_, err := raise(tx, site)
	return err
}

// DropHost takes what is known of a host that was forgotten out of memory.
func (s *Service) DropHost(host trust.ID) {
	s.known.Lock()
	delete(s.facts, host)
	delete(s.outputs, host)
	s.known.Unlock()
	s.Poke()
}
