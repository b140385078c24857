package margo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// folder has the records of a device:
//
//	state.json       the State
//	documents/HEX    documents of deployments, by their digests
type folder string

func (f folder) state() string { return filepath.Join(string(f), "state.json") }

func (f folder) document(d rc2.Digest) string { return filepath.Join(string(f), "documents", d.Hex()) }

// make makes the folder, for this account alone: parameters may be secrets.
func (f folder) make() error { return os.MkdirAll(filepath.Join(string(f), "documents"), 0o700) }

// maxState bounds what is read: it is far beyond what the limits of a State allow.
const maxState = 256 << 20

// load reads the State; there is none on the first day. One that cannot be read is an error: nobody knows what may not be applied.
func (f folder) load() (State, error) {
	var s State
	data, err := readFile(f.state(), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Format: Format}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && s.Format != Format {
		err = fmt.Errorf("it has the format %.40q, and this program knows %q", s.Format, Format)
	}
	if err != nil {
		return s, &diag.HintError{
			Err:  fmt.Errorf("%s: %w", f.state(), err),
			Hint: "restore the file; without it the device takes any version of the manifest, also an old one",
		}
	}
	return s, nil
}

// save makes a State durable, unless that is what was saved before; it gives what is saved.
func (f folder) save(s State, former []byte) ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil || bytes.Equal(data, former) {
		return data, err
	}
	return data, atomicfile.Replace(f.state(), atomicfile.Options{Durable: true}, atomicfile.Data(data))
}

// keep makes a document durable.
func (f folder) keep(d rc2.Digest, data []byte) error {
	return atomicfile.Replace(f.document(d), atomicfile.Options{Durable: true}, atomicfile.Data(data))
}

// read gives a document that is kept; nil: there is none that is whole.
func (f folder) read(d rc2.Digest) ([]byte, error) {
	data, err := readFile(f.document(d), rc2.MaxDeployment)
	if errors.Is(err, fs.ErrNotExist) || err == nil && d.Verify("it", data) != nil {
		return nil, nil
	}
	return data, err
}

// clean removes documents that no deployment has any more.
func (f folder) clean(s State) error {
	used := map[string]bool{}
	for _, w := range s.Deployments {
		used[w.Digest.Hex()], used[w.Present.Hex()] = true, true
	}
	entries, err := os.ReadDir(filepath.Join(string(f), "documents"))
	for _, e := range entries {
		if !used[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(string(f), "documents", e.Name())))
		}
	}
	return err
}
