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

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
)

// hostRecords are what is recorded of hosts, by host and name: for each site with a name a file in a
// directory, that is replaced as a whole, under a lock.
type hostRecords[T any] struct{ dir, format string }

// hostRecord is the file.
type hostRecord[T any] struct {
	Format string                  `json:"format"`
	Site   string                  `json:"site"`
	Hosts  map[string]map[string]T `json:"hosts"`
}

func (r hostRecords[T]) path(site string) string {
	digest := sha256.Sum256([]byte(site))
	return filepath.Join(r.dir, hex.EncodeToString(digest[:16])+".json")
}

// read gives what is recorded of the hosts of a site.
func (r hostRecords[T]) read(site string) (map[string]map[string]T, error) {
	data, err := os.ReadFile(r.path(site))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var file hostRecord[T]
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", r.path(site), err)
	}
	if file.Format != r.format || file.Site != site {
		return nil, fmt.Errorf("%s is not the record of the site %q that this version reads: its format is %q", r.path(site), site, file.Format)
	}
	return file.Hosts, nil
}

// change has f change what is recorded of the hosts of a site.
func (r hostRecords[T]) change(site string, f func(hosts map[string]map[string]T)) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	return withLock(r.dir, func() error {
		hosts, err := r.read(site)
		if err != nil {
			return err
		}
		if hosts == nil {
			hosts = map[string]map[string]T{}
		}
		f(hosts)
		file := &hostRecord[T]{r.format, site, hosts}
		return atomicfile.Replace(r.path(site), atomicfile.Options{Durable: true}, func(f *os.File) error { return plainjson.WriteIndented(f, file) })
	})
}
