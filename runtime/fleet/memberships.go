package fleet

import (
	"maps"
	"slices"
	"time"
)

// membershipsFormat is the version of a record of memberships.
const membershipsFormat = "tenet.memberships/1"

// Memberships are the records of which hosts are members of clusters, one for each site: as they said last. They are for hosts that do not answer,
// and that no member names any more.
type Memberships struct{ Dir string }

// RecordedMembership is that a host was a member of a cluster.
type RecordedMembership struct {
	Time time.Time `json:"time"` // when that was found first
}

func (m *Memberships) records() hostRecords[RecordedMembership] {
	return hostRecords[RecordedMembership]{m.Dir, membershipsFormat}
}

// Read gives the hosts of a site that were members of its clusters, and of which.
func (m *Memberships) Read(site string) (map[string]map[string]RecordedMembership, error) {
	return m.records().read(site)
}

// Learn records of which cluster of the site hosts are members now, by their names; empty: of none.
func (m *Memberships) Learn(site string, now map[string]string) error {
	known, err := m.Read(site)
	if err != nil {
		return err
	}
	isNews := func(host, cluster string) bool {
		if cluster == "" {
			return len(known[host]) > 0
		}
		_, has := known[host][cluster]
		return !has || len(known[host]) > 1
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(host string) bool { return isNews(host, now[host]) }) {
		return nil
	}
	at := time.Now().UTC()
	return m.records().change(site, func(hosts map[string]map[string]RecordedMembership) {
		for host, cluster := range now {
			since, has := hosts[host][cluster]
			if !has {
				since = RecordedMembership{at}
			}
			if delete(hosts, host); cluster != "" {
				hosts[host] = map[string]RecordedMembership{cluster: since}
			}
		}
	})
}
