// Package programs keeps the programs that the agent of a host may run: the one that was installed by hand, and those that its server has released
// since. A record says which of them runs. It is replaced in one step, and what it names is durable before, so that whenever the power is cut the
// host starts one of them whole.
//
// The installed program is what is always started. It looks at the record, and becomes the program that is current, unless that is not as it was
// written, or has ended several times before it was of use: then the former one is current again. So units, and whatever else starts the agent, stay
// as they are.
package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/trust"
)

const (
	recordName   = "current.json"
	recordFormat = "tenet.programs/1"
	maxRecord    = 1 << 20
	// maxStarts is how often a program is started that has not been of use yet.
	maxStarts = 3
)

// Program is a program that was released.
type Program struct {
	Version string `json:"version"`
	trust.Content
}

// name is its file in the folder.
func (p *Program) name() string { return p.Version + "-" + p.SHA256.String() }

// Release says by what a program came: by which offer of the server, and by which release.
type Release struct {
	Number  int64        `json:"number"`
	Digest  trust.Digest `json:"digest"` // of what was signed
	Version string       `json:"version"`
}

// Failure is a release to which the host could not be brought.
type Failure struct {
	Release
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Count  int       `json:"count"` // of this release
}

// Record says which program runs.
type Record struct {
	Format  string   `json:"format"`
	Current *Program `json:"current,omitempty"` // nil: the installed one
	Former  *Program `json:"former,omitempty"`  // before that one; nil: the installed one
	Release Release  `json:"release,omitzero"`  // by which Current came
	// Proven says that the server has answered the current one. Starts counts how often it was started before that, and did not end as it should.
	Proven  bool     `json:"proven,omitempty"`
	Starts  int      `json:"starts,omitempty"`
	Failure *Failure `json:"failure,omitempty"` // the last
}

// Folder is where programs and the record are: it belongs to who runs the agent, and nobody else may write there.
type Folder struct {
	Dir string
	// Step is called before each change of the disk, and in the middle of a file that is written. For tests; nil: nothing is.
	Step  func(name string)
	Clock func() time.Time // nil: time.Now
}

// In gives the folder of an agent, below the folder of its records.
func In(agentDir string) *Folder { return &Folder{Dir: filepath.Join(agentDir, "programs")} }

func (f *Folder) step(name string) {
	if f.Step != nil {
		f.Step(name)
	}
}

func (f *Folder) now() time.Time {
	if f.Clock != nil {
		return f.Clock().UTC()
	}
	return time.Now().UTC()
}

// Make makes the folder, if it is not there, and refuses one that others may change.
func (f *Folder) Make() error {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return err
	}
	return f.checkFolders()
}

// Read gives the record. Where there is none, the installed program runs.
func (f *Folder) Read() (*Record, error) {
	path := filepath.Join(f.Dir, recordName)
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return &Record{Format: recordFormat}, nil
	} else if err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, fmt.Errorf("%s is no record of programs", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("%s has the format %.40q, and this program knows %s", path, r.Format, recordFormat)
	}
	for _, p := range []*Program{r.Current, r.Former} {
		if p != nil && trust.CheckVersion(p.Version) != nil { // it becomes the name of a file
			return nil, fmt.Errorf("%s is damaged: it names the version %.40q", path, p.Version)
		}
	}
	return r, nil
}

// write replaces the record, durably.
func (f *Folder) write(r *Record) error {
	r.Format = recordFormat
	data, err := plainjson.Marshal(r)
	if err != nil {
		return err
	}
	f.step("record")
	err = atomicfile.Replace(filepath.Join(f.Dir, recordName), atomicfile.Options{Mode: 0o600, Durable: true}, func(out *os.File) error {
		if _, err := out.Write(data[:len(data)/2]); err != nil {
			return err
		}
		f.step("half of the record")
		_, err := out.Write(data[len(data)/2:])
		return err
	})
	f.step("after the record")
	return err
}

// change reads the record, and writes it anew if a function has changed it.
func (f *Folder) change(how func(*Record) (changed bool)) error {
	r, err := f.Read()
	if err != nil {
		return err
	}
	if !how(r) {
		return nil
	}
	return f.write(r)
}
