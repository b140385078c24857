// Package treesync keeps what stands below a directory: it compares many files, links
// and directories with those that are wanted, and writes only what differs. No
// symbolic link below the directory is followed.
package treesync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Wanted is what shall stand below a directory.
type Wanted struct {
	Path string // of the directory
	// Entries are sorted by name, and hold each directory before what is in it.
	Entries []host.TreeEntry
	// Content gives the bytes of a regular file among them.
	Content func(e host.TreeEntry) host.Content
	// Stream, in place of Content, gives the bytes of all those that put wants, in its
	// own order; put reads them before it returns.
	Stream func(ctx context.Context, wants func(name string) bool, put func(name string, c host.Content) error) error

	Owner, Group      *string
	FileMode, DirMode *fs.FileMode // nil: as the entries say
	Exclude           []string     // patterns of what is neither written nor removed
	Purge             bool         // remove what is not wanted
}

// ValidatePatterns refuses what is no pattern for Exclude.
func ValidatePatterns(attribute string, patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(strings.TrimPrefix(p, "/"), ""); err != nil || strings.Trim(p, "/") == "" || strings.HasSuffix(p, "/") {
			return states.InvalidAttribute(attribute, fmt.Sprintf("%q is no pattern of a name or a path", p),
				`write "*.bak" for a name anywhere, or "cache/*.tmp" for a path from the directory`)
		}
	}
	return nil
}

// SpareDeclared leaves alone what other parts of the site have below the directory,
// as names relative to it, where Entries do not hold it, too.
func (w *Wanted) SpareDeclared(names []string) {
	if !w.Purge || len(names) == 0 {
		return
	}
	own := make(map[string]bool, len(w.Entries))
	for _, e := range w.Entries {
		own[e.Name] = true
	}
	patterns := slices.Clone(w.Exclude)
	literal := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	for _, name := range names {
		if !own[name] {
			patterns = append(patterns, "/"+literal.Replace(name))
		}
	}
	w.Exclude = patterns
}

// excludes reports whether an entry, or a directory above it, is to be left alone.
func (w *Wanted) excludes(name string) bool {
	if len(w.Exclude) == 0 || name == "." {
		return false
	}
	for i := range len(name) + 1 {
		if (i == len(name) || name[i] == '/') && w.matches(name[:i]) {
			return true
		}
	}
	return false
}

func (w *Wanted) matches(name string) bool {
	for _, p := range w.Exclude {
		subject := path.Base(name)
		if strings.Contains(p, "/") {
			subject, p = name, strings.TrimPrefix(p, "/")
		}
		if ok, err := path.Match(p, subject); ok && err == nil {
			return true
		}
	}
	return false
}

// mode is the mode that an entry shall have. An executable file may be executed by
// all who may read it, whatever FileMode says.
func (w *Wanted) mode(e host.TreeEntry) fs.FileMode {
	switch {
	case e.Kind == host.Directory && w.DirMode != nil:
		return *w.DirMode
	case e.Kind == host.Regular && w.FileMode != nil && e.Mode&0o111 != 0:
		return *w.FileMode | *w.FileMode&0o444>>2
	case e.Kind == host.Regular && w.FileMode != nil:
		return *w.FileMode
	}
	return e.Mode
}

// change is one thing that differs.
type change struct {
	name string
	have *host.TreeEntry // nil: nothing is there
	want *host.TreeEntry // nil: nothing shall be
	body bool            // another kind, content or target
	diff [2]host.Content // of a small text, from and to
	text bool            // there is a diff
}

// Found is what Compare has seen below a directory.
type Found struct {
	// Present: something of what is wanted is there, or would be removed.
	Present  bool
	changes  []change
	entries  []host.TreeEntry // what is there and concerns us
	keptDirs map[string]bool  // directories that hold something else
}

// Equal reports whether nothing is to be done.
func (f *Found) Equal() bool { return len(f.changes) == 0 }

// comparison is one Compare.
type comparison struct {
	Wanted
	want map[string]*host.TreeEntry

	mu      sync.Mutex
	foreign []string // what is not our business
}

// There reports whether the directory itself is there.
func (f *Found) There() bool { return len(f.entries) > 0 }

// Look is what a module's Read does: it compares, and gives the owners of what is there.
// There is nothing where the directory is missing, or holds none of what is wanted.
func Look(ctx context.Context, h host.Host, w Wanted) (*Found, Accounts, error) {
	f, err := Compare(ctx, h, w)
	if err != nil || !f.There() || !f.Present && !f.Equal() {
		return nil, Accounts{}, err
	}
	return f, f.AccountsOf(h, w), nil
}

// Compare looks at the directory. What cannot be written over is an error.
func Compare(ctx context.Context, h host.Host, w Wanted) (*Found, error) {
	r := newReading(w)
	d, err := host.OpenDir(h, w.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Found{changes: r.create()}, nil
	}
	if err != nil {
		return nil, notDirectory(h, w.Path, err)
	}
	defer d.Close()
	seen, err := host.ReadTree(ctx, d, host.TreeOptions{Skip: r.skip, Enter: r.enter, Sum: r.sum})
	if err != nil {
		return nil, err
	}
	if seen, err = r.leaveMounts(ctx, seen); err != nil {
		return nil, err
	}
	f := &Found{entries: seen, keptDirs: map[string]bool{}}
	for _, name := range r.foreign {
		for name != "." {
			name = path.Dir(name)
			f.keptDirs[name] = true
		}
	}
	f.Present = len(r.want) < 2 // nothing but the directory itself
	for _, e := range seen {
		f.Present = f.Present || e.Kind != host.Directory || !f.keptDirs[e.Name]
	}
	return f, r.compare(h, d, f)
}

// leaveMounts takes out what another file system is mounted on, and says so. Where
// something is wanted there it is an error.
func (r *comparison) leaveMounts(ctx context.Context, seen []host.TreeEntry) ([]host.TreeEntry, error) {
	var errs []error
	seen = slices.DeleteFunc(seen, func(e host.TreeEntry) bool {
		if !e.Mount || e.Name == "." {
			return false
		}
		at := Shown(path.Join(r.Path, e.Name))
		below := func(name string) bool { return strings.HasPrefix(name, e.Name+"/") }
		inside := slices.ContainsFunc(slices.Collect(maps.Keys(r.want)), below)
		if want := r.want[e.Name]; inside || want != nil && want.Kind != host.Directory {
			errs = append(errs, &diag.HintError{
				Err:  fmt.Errorf("%s: %w", at, host.ErrMount),
				Hint: "exclude it, and declare a part of its own for what shall be in it",
			})
		}
		delete(r.want, e.Name)
		r.foreign = append(r.foreign, e.Name)
		states.NoteMount(ctx, at)
		return true
	})
	return seen, errors.Join(errs[:min(len(errs), 5)]...)
}

func newReading(w Wanted) *comparison {
	r := &comparison{Wanted: w, want: make(map[string]*host.TreeEntry, len(w.Entries))}
	for i := range w.Entries {
		if e := &w.Entries[i]; !w.excludes(e.Name) {
			r.want[e.Name] = e
		}
	}
	return r
}

func notDirectory(h host.Host, name string, err error) error {
	if info, lerr := h.Lstat(name); lerr == nil && info.Kind != host.Directory {
		return states.WrongKindError(name, info.Kind, "directory")
	}
	return err
}

// create lists everything, where there is nothing yet.
func (r *comparison) create() []change {
	changes := make([]change, 0, len(r.want))
	for i := range r.Entries {
		if e := &r.Entries[i]; r.want[e.Name] != nil && e.Name != "." {
			changes = append(changes, change{name: e.Name, want: e, body: true})
		}
	}
	return changes
}

// Created shows what will be made where nothing is.
func Created(w Wanted) []states.Change {
	f := &Found{changes: newReading(w).create()}
	if changes := f.Changes(Accounts{}, w); len(changes) > 0 {
		return changes
	}
	return []states.Change{{Attribute: "create", To: []any{"./"}}}
}

// skip leaves out what is not our business, and notes that it is there.
func (r *comparison) skip(name string, kind host.Kind) bool {
	if !r.excludes(name) {
		if r.Purge || r.want[name] != nil {
			return false
		}
		// What is in a directory that stands where a file shall be.
		if above := r.want[path.Dir(name)]; above != nil && above.Kind != host.Directory {
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.foreign = append(r.foreign, name)
	return true
}

// excludes is excluded for a name above which nothing is.
func (r *comparison) excludes(name string) bool { return len(r.Exclude) > 0 && r.matches(name) }

func (r *comparison) enter(name string) bool { return r.Purge || r.want[name] != nil }

func (r *comparison) sum(name string, size int64) bool {
	e := r.want[name]
	return e != nil && e.Kind == host.Regular && (size < 0 || e.Size == size)
}

// compare lists what differs, by name.
func (r *comparison) compare(h host.Host, d host.Dir, f *Found) error {
	have := make(map[string]*host.TreeEntry, len(f.entries))
	for i := range f.entries {
		have[f.entries[i].Name] = &f.entries[i]
	}
	uid, gid := account(h, r.Owner, owner.UID), account(h, r.Group, owner.GID)
	var errs []error
	texts := 0
	for i := range r.Entries {
		want := r.want[r.Entries[i].Name]
		if want == nil {
			continue
		}
		is := have[want.Name]
		if err := r.inTheWay(want, is, f); err != nil {
			errs = append(errs, err)
			continue
		}
		c := change{name: want.Name, have: is, want: want, body: differs(is, want)}
		if c.body || r.metaDiffers(is, want, uid, gid) {
			if c.body && texts < shownTexts && r.loadTexts(d, &c) {
				texts++
			}
			f.changes = append(f.changes, c)
		}
	}
	for i := range f.entries {
		e := &f.entries[i]
		if r.want[e.Name] == nil && !f.keptDirs[e.Name] && e.Name != "." {
			f.changes = append(f.changes, change{name: e.Name, have: e})
		}
	}
	return errors.Join(errs[:min(len(errs), 5)]...)
}

// account gives the number of a wanted user or group: nil where none is wanted, -1
// of one that is not known yet.
func account(h host.Host, name *string, number func(host.Accounts, string) (int, error)) *int {
	if name == nil {
		return nil
	}
	id, err := number(h, *name)
	if err != nil {
		id = -1
	}
	return &id
}

func differs(is, want *host.TreeEntry) bool {
	return is == nil || is.Kind != want.Kind || is.Target != want.Target ||
		is.Kind == host.Regular && (is.Size != want.Size || is.SHA256 != want.SHA256)
}

func (r *comparison) metaDiffers(is, want *host.TreeEntry, uid, gid *int) bool {
	return uid != nil && is.UID != *uid || gid != nil && is.GID != *gid ||
		want.Kind != host.Symlink && is.Mode != r.mode(*want)
}

// inTheWay says what cannot be replaced.
func (r *comparison) inTheWay(want, is *host.TreeEntry, f *Found) error {
	if is == nil || is.Kind == want.Kind {
		return nil
	}
	at := path.Join(r.Path, want.Name)
	switch is.Kind {
	case host.Other:
		return fmt.Errorf("%s is a %s, which is not replaced by a %s", Shown(at), is.Kind, want.Kind)
	case host.Directory:
		if f.keptDirs[want.Name] {
			return fmt.Errorf("%s is a directory with something in it that is excluded, and shall be a %s", Shown(at), want.Kind)
		}
		below := func(e host.TreeEntry) bool { return strings.HasPrefix(e.Name, want.Name+"/") }
		for _, e := range f.entries {
			if !r.Purge && below(e) {
				return &diag.HintError{Hint: "purge = true removes it",
					Message: fmt.Sprintf("%s is a directory with something in it, and shall be a %s", Shown(at), want.Kind)}
			}
		}
	}
	return nil
}

// Shown is a name as it can be shown in one line.
func Shown(name string) string {
	for _, c := range name {
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}
