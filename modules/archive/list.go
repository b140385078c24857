package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/treesync"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
)

// defaultLimit is how many bytes an archive may hold.
const defaultLimit = 8 << 30

// item is one thing in an archive, as it is written there.
type item struct {
	name string
	kind host.Kind
	mode fs.FileMode
	link string // the target of a symbolic link; of a hard link, another item's name
	hard bool
}

// listReader is what shall be below the directory, while it is read.
type listReader struct {
	strip   int
	budget  int64 // bytes that may still come
	entries map[string]*host.TreeEntry
	places  map[string]int
}

// load lists the archive, if it was not yet.
func (a *Archive) load(ctx context.Context, h host.Host) error {
	if a.places != nil || a.Source == nil && a.File == nil {
		return nil
	}
	l := &listReader{budget: defaultLimit, entries: map[string]*host.TreeEntry{}, places: map[string]int{}}
	if a.Strip != nil {
		l.strip = *a.Strip
	}
	if a.Limit != nil {
		l.budget = int64(*a.Limit)
	}
	in, err := a.open(ctx, h)
	if err != nil {
		return err
	}
	defer in.close()
	if err := in.eachItem(ctx, func(i int, it item, r io.Reader) error { return l.add(i, it, r) }); err != nil {
		return fmt.Errorf("the archive %s: %w", in.name, err)
	}
	if err := in.verify(ctx, a.Checksum); err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return fmt.Errorf("the archive %s: %w", in.name, err)
	}
	for _, e := range l.entries {
		a.entries = append(a.entries, *e)
	}
	slices.SortFunc(a.entries, func(x, y host.TreeEntry) int { return cmp.Compare(x.Name, y.Name) })
	a.places = l.places
	return nil
}

// add takes in one item. Its bytes are read.
func (l *listReader) add(i int, it item, r io.Reader) error {
	name, err := l.place(it.name, it.kind)
	if err != nil || name == "" {
		return err
	}
	if len(l.entries) >= host.MaxTree {
		return fmt.Errorf("it holds more than %d files", host.MaxTree)
	}
	e := &host.TreeEntry{Name: name, Kind: it.kind, Mode: it.mode.Perm()}
	switch {
	case it.hard:
		to, err := l.place(it.link, host.Regular)
		if err != nil {
			return err
		}
		other := l.entries[to]
		if other == nil || other.Kind != host.Regular {
			return fmt.Errorf("%q is a hard link to %q, which is no file before it in the archive", it.name, it.link)
		}
		e.Mode, e.Size, e.SHA256 = other.Mode, other.Size, other.SHA256
		i = l.places[to]
	case it.kind == host.Symlink:
		if it.link == "" || strings.ContainsRune(it.link, 0) {
			return fmt.Errorf("%q is a symbolic link to nothing", it.name)
		}
		e.Mode, e.Target = 0, it.link
	case it.kind == host.Regular:
		sum := sha256.New()
		if e.Size, err = io.Copy(sum, io.LimitReader(r, l.budget+1)); err != nil {
			return err
		}
		e.SHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	if l.budget -= e.Size; l.budget < 0 {
		return errors.New("what it holds is larger than its limit (limit = BYTES raises it)")
	}
	l.entries[name] = e
	delete(l.places, name)
	if it.kind == host.Regular {
		l.places[name] = i
	}
	return nil
}

// place is the path of a name in the archive below the directory, "" for what is
// left out and "." for the directory itself.
func (l *listReader) place(name string, kind host.Kind) (string, error) {
	if name == "" || strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%q is no path below a directory", name)
	}
	var steps []string
	for step := range strings.SplitSeq(name, "/") {
		switch {
		case step == "..":
			return "", fmt.Errorf("%q leads out of the directory", name)
		case len(step) > 255:
			return "", fmt.Errorf("%.80q… is too long a name", step)
		case step != "" && step != ".":
			steps = append(steps, step)
		}
	}
	if len(name) > 4000 {
		return "", fmt.Errorf("%.80q… is too long a path", name)
	}
	switch {
	case len(steps) == l.strip && kind == host.Directory:
		return ".", nil
	case len(steps) <= l.strip:
		return "", nil
	}
	return path.Join(steps[l.strip:]...), nil
}

// check adds the directories that the archive does not name, and refuses what lies
// below something else.
func (l *listReader) check() error {
	for _, name := range slices.Collect(maps.Keys(l.entries)) {
		for name != "." {
			name = path.Dir(name)
			above := l.entries[name]
			if above == nil {
				l.entries[name] = &host.TreeEntry{Name: name, Kind: host.Directory, Mode: 0o755}
				continue
			}
			if above.Kind != host.Directory {
				return fmt.Errorf("%s is a %s, and something lies below it", treesync.Shown(name), above.Kind)
			}
		}
	}
	if l.entries["."] == nil {
		l.entries["."] = &host.TreeEntry{Name: ".", Kind: host.Directory, Mode: 0o755}
	}
	return nil
}

// stream gives the bytes of what is wanted in the order of the archive.
func (a *Archive) stream(ctx context.Context, h host.Host, wants func(string) bool, put func(string, host.Content) error) error {
	at := map[int][]*host.TreeEntry{}
	last := -1
	for k := range a.entries {
		if e := &a.entries[k]; e.Kind == host.Regular && wants(e.Name) {
			i := a.places[e.Name]
			at[i] = append(at[i], e)
			last = max(last, i)
		}
	}
	in, err := a.open(ctx, h)
	if err != nil {
		return err
	}
	defer in.close()
	return in.eachItem(ctx, func(i int, _ item, r io.Reader) error {
		if i > last {
			return errEnough
		}
		// The bytes come once: for the first of several names of one file. The others,
		// and who asks later, as on a shadow, read the archive again.
		once := r
		for _, e := range at[i] {
			c := host.Stream(e.Size, e.SHA256, func() (io.ReadCloser, error) {
				if once == nil {
					return a.reopen(ctx, h, i)
				}
				now := io.NopCloser(once)
				once = nil
				return now, nil
			})
			if err := put(e.Name, c); err != nil {
				return err
			}
		}
		once = nil
		return nil
	})
}

// reopen reads one file of the archive anew.
func (a *Archive) reopen(ctx context.Context, h host.Host, place int) (io.ReadCloser, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it is for whoever reads, who may come later
	in, err := a.open(ctx, h)
	if err != nil {
		stop()
		return nil, err
	}
	r, w := io.Pipe()
	fault.Go(func() {
		err := fault.Do(func() error {
			return in.eachItem(ctx, func(i int, _ item, r io.Reader) error {
				if i != place {
					return nil
				}
				if _, err := io.Copy(w, r); err != nil {
					return err
				}
				return errEnough
			})
		})
		in.close()
		w.CloseWithError(err) // nil is the end of the file
	})
	return archiveFile{r, stop}, nil
}

// archiveFile is a file of an archive, which is looked for as long as it is open.
type archiveFile struct {
	*io.PipeReader
	stop func()
}

// Close ends the search, too.
func (r archiveFile) Close() error {
	r.stop()
	return r.PipeReader.Close()
}
