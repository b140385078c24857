package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
	"unicode/utf8"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// maxHeader bounds the header's JSON.
const maxHeader = 256 << 20

// maxName bounds the name of a file.
const maxName = 4096

// digest is the SHA-256 of a content.
type digest [sha256.Size]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes it in lower-case hex.
func (d digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads it.
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) || !bytes.Equal(bytes.ToLower(text), text) {
		return errors.New("a digest is 64 lower-case hex digits")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// file is a file of the bundle.
type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 digest `json:"sha256"`
}

// tree is a directory of the site. Its list, as states.TreeText writes it, is a
// content of the bundle too, with the digest that the part names.
type tree struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // of the list
	SHA256 digest `json:"sha256"`
}

// needs is what a run needs besides itself: what stays known of a bundle once its run
// is in the journal.
type needs struct {
	Format  string            `json:"format"`
	Origin  string            `json:"origin"`
	Modules []machine.Modules `json:"modules,omitempty"`
	Files   []file            `json:"files,omitempty"`
	Trees   []tree            `json:"trees,omitempty"`
}

// header is the bundle without its contents.
type header struct {
	needs
	Execution   string                    `json:"execution,omitempty"`
	Run         *states.StateRun          `json:"run"`
	Secrets     []string                  `json:"secrets,omitempty"`
	Given       []states.HostOutput       `json:"given,omitempty"`
	Places      map[string]journal.Source `json:"places,omitempty"`
	Rows        []states.Event            `json:"rows"`
	Parallel    int                       `json:"parallel,omitempty"`
	LockTimeout time.Duration             `json:"lock_timeout,omitempty"`
	Once        bool                      `json:"once,omitempty"`
}

// header makes the header. What files hold the run says itself, all but those of
// the modules, which are read here.
func (b *Bundle) header(registry *states.Registry) (*header, error) {
	if err := planfile.Lossless(b.Run); err != nil {
		return nil, err
	}
	h := &header{needs: needs{Format: Format, Origin: b.Origin, Modules: b.Modules}, Execution: b.Execution, Run: b.Run,
		Secrets: b.Run.Secrets, Given: b.Run.Given, Places: b.Places, Rows: b.Rows, Parallel: b.Parallel, LockTimeout: b.LockTimeout, Once: b.Once}
	sources, trees := planfile.Sources(b.Run, registry)
	seen := map[string]bool{}
	for _, s := range sources {
		f := file{Name: s.Path, Size: s.Size}
		if err := f.SHA256.UnmarshalText([]byte(s.SHA256)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		h.Files, seen[f.Name] = append(h.Files, f), true
	}
	for _, m := range b.Modules {
		for _, name := range m.Files {
			if seen[name] {
				continue
			}
			f, err := b.measure(name)
			if err != nil {
				return nil, err
			}
			h.Files, seen[name] = append(h.Files, f), true
		}
	}
	for _, s := range trees {
		t := tree{Name: s.Path}
		if err := t.SHA256.UnmarshalText([]byte(s.SHA256)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		entries, err := states.ReadTree(b.Files, t.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		t.Size = int64(len(states.TreeText(entries)))
		h.Trees = append(h.Trees, t)
	}
	return h, h.check()
}

// measure reads a file for its size and digest.
func (b *Bundle) measure(name string) (file, error) {
	f := file{Name: name}
	in, err := states.OpenFile(b.Files, name)
	if err != nil {
		return f, err
	}
	sum := sha256.New()
	f.Size, err = io.Copy(sum, in)
	sum.Sum(f.SHA256[:0])
	if err = errors.Join(err, in.Close()); err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func damaged(format string, args ...any) error {
	return &planfile.DamagedError{Why: fmt.Sprintf(format, args...)}
}

// parseHeader reads a header's JSON. In it nothing may stand that is not known here:
// what a later version means by it must not be passed over.
func parseHeader(data []byte) (*header, error) {
	var version struct{ Format string }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, damaged("its header is no JSON: %v", err)
	}
	if version.Format != Format {
		return nil, &planfile.FormatError{Format: version.Format, Known: Format, Program: "another version"}
	}
	h := &header{}
	if err := strictly(data, h); err != nil {
		return nil, damaged("its header cannot be read: %v", err)
	}
	if h.Run == nil || h.Run.Format != states.Format {
		return nil, damaged("there is no run in it that can be read")
	}
	h.Run.Secrets, h.Run.Given = h.Secrets, h.Given
	return h, h.check()
}

// strictly reads one JSON value, in which v knows everything.
func strictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("it holds more than one value")
	}
	return nil
}

// check looks at what a header says of its run.
func (h *header) check() error {
	if h.Execution != "" && !validExecution(h.Execution) {
		return damaged("%q cannot be the name of an execution", h.Execution)
	}
	return h.needs.check()
}

// check looks at names and sizes: whoever wrote them.
func (n *needs) check() error {
	if len(n.Files)+len(n.Trees) > planfile.MaxEntries {
		return damaged("it lists more than %d files", planfile.MaxEntries)
	}
	var total int64
	names := map[string]bool{}
	for _, f := range n.Files {
		if total += f.Size; f.Size < 0 || total > planfile.MaxContent || total < 0 {
			return damaged("its files are larger than 4 GiB")
		}
		if !validName(f.Name) || f.Name == "." || names[f.Name] {
			return damaged("a file of it cannot be named %q, or stands there twice", f.Name)
		}
		names[f.Name] = true
	}
	trees := map[string]bool{}
	for _, t := range n.Trees {
		if t.Size < 0 || t.Size > maxHeader || !validName(t.Name) || trees[t.Name] {
			return damaged("a directory of it cannot be named %q with a list of %d bytes, or stands there twice", t.Name, t.Size)
		}
		trees[t.Name] = true
	}
	for _, m := range n.Modules {
		for _, name := range m.Files {
			if !names[name] {
				return damaged("there is no %s in it", name)
			}
		}
	}
	return nil
}

func validName(name string) bool {
	return fs.ValidPath(name) && len(name) < maxName && utf8.ValidString(name)
}

// validExecution reports whether a name can be that of a file, too.
func validExecution(name string) bool {
	for _, c := range []byte(name) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return len(name) <= 64 && name != "" && name[0] != '-'
}
