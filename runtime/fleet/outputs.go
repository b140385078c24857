package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
)

// outputsFormat is the version of a record of outputs.
const outputsFormat = "tenet.outputs/1"

// Outputs are the records of what hosts have given to others, one for each site with a name: a file
// in a directory, that is replaced as a whole, under a lock.
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

// outputsRecord is the file.
type outputsRecord struct {
	Format string                               `json:"format"`
	Site   string                               `json:"site"`
	Hosts  map[string]map[string]RecordedOutput `json:"hosts"`
}

func (o *Outputs) path(site string) string {
	digest := sha256.Sum256([]byte(site))
	return filepath.Join(o.Dir, hex.EncodeToString(digest[:16])+".json")
}

// Read gives what the hosts of a site have given last, by host and name.
func (o *Outputs) Read(site string) (map[string]map[string]RecordedOutput, error) {
	data, err := os.ReadFile(o.path(site))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var r outputsRecord
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", o.path(site), err)
	}
	if r.Format != outputsFormat || r.Site != site {
		return nil, fmt.Errorf("%s is not the record of the site %q that this version reads: its format is %q", o.path(site), site, r.Format)
	}
	return r.Hosts, nil
}

// Add records what a host of a site gives now. What it gives no longer stays as it was; what must not be
// recorded, of which drop has the names, is forgotten.
func (o *Outputs) Add(site, host string, outputs map[string]RecordedOutput, drop []string) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	return withLock(o.Dir, func() error {
		hosts, err := o.Read(site)
		if err != nil {
			return err
		}
		if hosts == nil {
			hosts = map[string]map[string]RecordedOutput{}
		}
		if hosts[host] == nil {
			hosts[host] = map[string]RecordedOutput{}
		}
		for name, v := range outputs {
			hosts[host][name] = v
		}
		for _, name := range drop {
			delete(hosts[host], name)
		}
		r := &outputsRecord{outputsFormat, site, hosts}
		return atomicfile.Replace(o.path(site), atomicfile.Options{Durable: true}, func(f *os.File) error { return plainjson.WriteIndented(f, r) })
	})
}
