package treesync

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// writing is one Write.
type writing struct {
	Wanted
	host  host.Permissions
	root  host.Dir
	uid   *int
	gid   *int
	fresh map[string]bool // directories that this act has made
}

// Write makes what Compare found into what is wanted.
func Write(ctx context.Context, h host.Host, w Wanted, f *Found) error {
	meta, err := owner.Meta(h, w.Owner, w.Group, nil)
	if err != nil {
		return err
	}
	if !f.There() {
		if err := makeRoot(h, w, meta); err != nil {
			return err
		}
	}
	root, err := host.OpenDir(h, w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	a := &writing{Wanted: w, host: h, root: root, uid: meta.UID, gid: meta.GID, fresh: map[string]bool{}}
	a.fresh["."] = !f.There()
	if err := a.clear(ctx, f.changes); err != nil {
		return err
	}
	if err := a.directories(f.changes); err != nil {
		return err
	}
	if err := a.files(ctx, f.changes); err != nil {
		return err
	}
	return a.finish(f.changes)
}

// makeRoot makes the directory itself.
func makeRoot(h host.Host, w Wanted, meta host.Meta) error {
	mode := fs.FileMode(0o755)
	if w.DirMode != nil {
		mode = *w.DirMode
	} else if len(w.Entries) > 0 && w.Entries[0].Name == "." {
		mode = w.Entries[0].Mode
	}
	meta.Mode = &mode
	return states.DirectoryError(h, path.Dir(w.Path), h.Mkdir(w.Path, meta))
}

// Remove takes away what Compare has seen, and the directory if nothing else is
// in it.
func Remove(ctx context.Context, h host.Host, name string, f *Found) error {
	place, err := host.OpenPlace(h, name)
	if err != nil {
		return err
	}
	defer place.Dir.Close()
	root, err := place.Dir.Enter(place.Name)
	if err != nil {
		return err
	}
	defer root.Close()
	a := &writing{root: root}
	gone := make([]change, 0, len(f.entries))
	for i := range f.entries {
		if e := &f.entries[i]; e.Name != "." && (e.Kind != host.Directory || !f.keptDirs[e.Name]) {
			gone = append(gone, change{name: e.Name, have: e})
		}
	}
	if err := a.clear(ctx, gone); err != nil {
		return err
	}
	if f.keptDirs["."] {
		if len(gone) == 0 {
			return fmt.Errorf("%s holds nothing but what is not of this part, and stays", name)
		}
		return nil
	}
	return place.Dir.Remove(place.Name)
}

// clear removes what shall not be there, or stands in the way; what is in a
// directory before the directory.
func (a *writing) clear(ctx context.Context, changes []change) error {
	var gone []string
	for _, c := range changes {
		if c.have != nil && (c.want == nil || c.have.Kind != c.want.Kind && (c.have.Kind == host.Directory || c.want.Kind == host.Directory)) {
			gone = append(gone, c.name)
		}
	}
	return host.RemoveBelow(ctx, a.root, gone)
}

// meta is what an entry shall have.
func (a *writing) meta(e host.TreeEntry) host.Meta {
	mode := a.mode(e)
	return host.Meta{Mode: &mode, UID: a.uid, GID: a.gid}
}

// directories makes the directories, those above first, such that they can be
// filled; finish gives them their modes.
func (a *writing) directories(changes []change) error {
	at := host.NewCursor(a.root)
	defer at.Close()
	for _, c := range changes {
		if c.want == nil || c.want.Kind != host.Directory {
			continue
		}
		dir, err := at.To(path.Dir(c.name))
		if err != nil {
			return err
		}
		meta := a.meta(*c.want)
		*meta.Mode = writable(*meta.Mode)
		switch {
		case c.name == ".":
			err = a.root.SetMeta(".", meta)
		case c.body:
			err = dir.Mkdir(path.Base(c.name), meta)
			a.fresh[c.name] = true
		default:
			err = dir.SetMeta(path.Base(c.name), meta)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish gives directories the modes with which they could not have been filled,
// those below first.
func (a *writing) finish(changes []change) error {
	at := host.NewCursor(a.root)
	defer at.Close()
	for _, c := range slices.Backward(changes) {
		if c.want == nil || c.want.Kind != host.Directory || writable(a.mode(*c.want)) == a.mode(*c.want) {
			continue
		}
		dir, err := at.To(path.Dir(c.name))
		if err == nil {
			err = dir.SetMeta(path.Base(c.name), a.meta(*c.want))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many files one worker writes while it holds their directory open.
const atOnce = 64

// files writes files and links, several directories at a time.
func (a *writing) files(parent context.Context, changes []change) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	groups := map[string][]change{}
	var order []string
	for _, c := range changes {
		if c.want == nil || c.want.Kind == host.Directory {
			continue
		}
		if a.Stream != nil && c.body && c.want.Kind == host.Regular {
			continue
		}
		dir := path.Dir(c.name)
		if groups[dir] == nil {
			order = append(order, dir)
		}
		groups[dir] = append(groups[dir], c)
	}
	var running fault.Group
	free := make(chan *host.Cursor, 2*runtime.GOMAXPROCS(0))
	for range cap(free) {
		free <- host.NewCursor(a.root)
	}
	for _, dir := range order {
		for some := range slices.Chunk(groups[dir], atOnce) {
			at := <-free
			running.Go(func() {
				defer func() { free <- at }()
				if err := a.writeEntries(ctx, at, dir, some); err != nil {
					cancel(err)
				}
			})
		}
	}
	running.Wait()
	for range cap(free) {
		(<-free).Close()
	}
	if err := context.Cause(ctx); err != nil || a.Stream == nil {
		return err
	}
	return a.stream(ctx, changes)
}

// stream writes files as their bytes come.
func (a *writing) stream(ctx context.Context, changes []change) error {
	todo := map[string]*host.TreeEntry{}
	for _, c := range changes {
		if c.want != nil && c.body && c.want.Kind == host.Regular {
			todo[c.name] = c.want
		}
	}
	if len(todo) == 0 {
		return nil
	}
	at := host.NewCursor(a.root)
	defer at.Close()
	err := a.Stream(ctx, func(name string) bool { return todo[name] != nil }, func(name string, c host.Content) error {
		want := todo[name]
		dir, err := at.To(path.Dir(name))
		if err != nil {
			return err
		}
		delete(todo, name)
		return dir.WriteFile(ctx, path.Base(name), c, a.meta(*want), a.fresh[path.Dir(name)])
	})
	if err == nil && len(todo) > 0 {
		err = fmt.Errorf("%d files have not come", len(todo))
	}
	return err
}

// writeEntries writes files and links of one directory.
func (a *writing) writeEntries(ctx context.Context, at *host.Cursor, in string, changes []change) error {
	if ctx.Err() != nil {
		return nil
	}
	dir, err := at.To(in)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if ctx.Err() != nil {
			return nil
		}
		name, meta := path.Base(c.name), a.meta(*c.want)
		switch {
		case !c.body:
			err = owner.SetMetaIn(ctx, a.host, dir, name, meta, contentOf(*c.have))
		case c.want.Kind == host.Symlink:
			err = dir.Symlink(c.want.Target, name, meta)
		default:
			err = dir.WriteFile(ctx, name, a.Content(*c.want), meta, a.fresh[in])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// contentOf is what a file was found to hold; nil: it was not read.
func contentOf(e host.TreeEntry) *host.Content {
	if e.Kind != host.Regular || e.SHA256 == "" {
		return nil
	}
	return new(host.Stream(e.Size, e.SHA256, nil))
}
