package sessions

import "github.com/tenetcm/tenet/server/store"

// maxSites bounds the sites of which a host can tell.
const maxSites = 256

// mayName tells whether a host can tell of a site, and takes the name up: a few may be known to it alone. Each is kept, in rows and in memory, whatever it is
// told of.
func (t *batchContent) mayName(site string) bool {
	switch {
	case site == "" || !areNames(site):
		return false
	case t.known.targets[site] != nil || t.known.names[site] || t.names[site]:
		return true
	case len(t.known.names)+len(t.names) >= maxSites:
		return false
	}
	t.names[site] = true
	return true
}

// loadNames reads of which sites hosts have told. Those that only runs have, whose rows go after a time, are counted from each start anew.
func loadNames(r store.Reader, get func(string) *host) error {
	for _, table := range []string{"sessions_loops", "sessions_reports", "sessions_outputs", "sessions_signed_outputs"} {
		err := r.Query(`SELECT DISTINCT host, site FROM `+table, nil, func(row store.Row) error {
			var id, site string
			err := row.Scan(&id, &site)
			get(id).names[site] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
