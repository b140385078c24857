package fleet

import (
	"maps"
	"time"
)

// outputsFormat is the version of a record of outputs.
const outputsFormat = "tenet.outputs/1"

// Outputs are the records of what hosts have given to others, one for each site with a name.
type Outputs struct{ Dir string }

// RecordedOutput is what a host gave last.
type RecordedOutput struct {
	Value any       `json:"value,omitempty"`
	Time  time.Time `json:"time"`
	// Sealed is the JSON of a sensitive value, encrypted by a file of secrets of which Header is the
	// head. The value itself is then not recorded.
	Sealed []byte `json:"sealed,omitempty"`
	Header []byte `json:"header,omitempty"`
}

// records are those of the sites in the directory.
func (o *Outputs) records() hostRecords[RecordedOutput] {
	return hostRecords[RecordedOutput]{o.Dir, outputsFormat}
}

// Read gives what the hosts of a site have given last, by host and name.
func (o *Outputs) Read(site string) (map[string]map[string]RecordedOutput, error) {
	return o.records().read(site)
}

// Add records what a host of a site gives now. What it gives no longer stays as it was; what must not be
// recorded, of which drop has the names, is forgotten.
func (o *Outputs) Add(site, host string, outputs map[string]RecordedOutput, drop []string) error {
	return o.records().change(site, func(hosts map[string]map[string]RecordedOutput) {
		if hosts[host] == nil {
			hosts[host] = map[string]RecordedOutput{}
		}
		maps.Copy(hosts[host], outputs)
		for _, name := range drop {
			delete(hosts[host], name)
		}
	})
}
