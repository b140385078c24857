package fleet

import (
	"maps"
	"time"
)

// factsFormat is the version of a record of facts.
const factsFormat = "tenet.facts/1"

// Facts are the records of the facts that hosts have told for others, one for each site with a name.
type Facts struct{ Dir string }

// RecordedFact is what a host told last.
type RecordedFact struct {
	Value any       `json:"value"`
	Time  time.Time `json:"time"`
}

func (f *Facts) records() hostRecords[RecordedFact] {
	return hostRecords[RecordedFact]{f.Dir, factsFormat}
}

// Read gives what the hosts of a site have told last, by host and name.
func (f *Facts) Read(site string) (map[string]map[string]RecordedFact, error) {
	return f.records().read(site)
}

// Add records what hosts of a site have told now. All else stays as it was.
func (f *Facts) Add(site string, told map[string]map[string]RecordedFact) error {
	return f.records().change(site, func(hosts map[string]map[string]RecordedFact) {
		for host, facts := range told {
			if hosts[host] == nil {
				hosts[host] = map[string]RecordedFact{}
			}
			maps.Copy(hosts[host], facts)
		}
	})
}
