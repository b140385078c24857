package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// One part may make many things: a tree, an archive. Which, its site remembers in a
// list, and removes them by that once the part is not declared any more: as long as
// they are as it left them.

// writeManifest writes down what a part that is about to act will have made of many things.
// Nothing is, where the part is not the site's to remove, or makes one thing.
func (s *step) writeManifest(ctx context.Context) (err error) {
	defer fault.Catch(&err)
	e := s.engine
	if e.planning() || s.module.Makes == nil || s.want == nil || s.part.Options.Sensitive || e.options.Journal == nil {
		return nil
	}
	digest, known := e.recorder.earlierManifest(s)
	if !known && digest == notOwned {
		return nil
	}
	var before []states.ManifestEntry
	if known && digest != "" {
		if before, err = e.managed().Manifest(digest); err != nil {
			return nil // the list stays as it is: who prunes by it is told
		}
	}
	making, err := s.module.Makes(ctx, s.host, s.have, s.want)
	if err != nil { // nothing is made of which it is not known
		return err
	}
	after := states.NextManifest(before, making)
	if !known && len(after) == 0 { // all of it was in place
		return nil
	}
	s.isFirstManifest = s.isFirstManifest || !known
	if s.manifest, err = e.options.Journal.KeepManifest(after); err != nil {
		e.recorder.fail(err)
	}
	return err
}

// notOwned stands for no list, of a part that is not the site's.
const notOwned = "-"

// earlierManifest gives the list of what the part had made before. Unless it is known that
// it had, there is one as soon as it makes something, or never (held).
func (r *recorder) earlierManifest(s *step) (digest string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := s.engine.managed()
	if m == nil {
		return notOwned, false
	}
	if s.manifest != "" { // in an attempt before
		return s.manifest, true
	}
	site := s.engine.run.Site
	holding, others := m.Holding(site), m.Others(site)
	if m.Err() != nil { // told when the run is recorded
		return notOwned, false
	}
	name := states.Resource{Type: s.part.Type, Key: r.key(s.part)}
	switch c := holding.Entry(name.Type, name.Key); {
	case c != nil && !c.Claim && c.Manifest != "": // be it that all it has now is made anew
		return c.Manifest, true
	case s.action == states.Create:
		return "", false
	case c != nil:
		return notOwned, false
	case holderKind(others, &journal.Created{Type: name.Type, Key: name.Key}) != "":
		return notOwned, false
	}
	return "", false
}

// remains are the things that a part which is no longer declared has made, as far as
// they are there.
type remains struct {
	removable    []states.ManifestEntry // that can be removed
	changedNames []any                  // the names of those that were changed
	isThere      bool                   // one of them is there as it was left, be it a directory with something else in it
}

// removal is how such a part is removed.
type removal struct {
	root    string
	list    map[string]states.ManifestEntry
	parents map[string]bool // directories of what is listed
	isKept  func(name string) bool
}

// remover gives the module that removes what an orphan has made; nil with the reason
// if that is not known.
func (e *engine) remover(m *states.Module, c *journal.Created, declared *declaredResources) (*removal, string) {
	if c.Manifest == "" {
		return nil, "what it has made is not recorded; remove it by hand, and let go of it with tenet forget"
	}
	list, err := e.managed().Manifest(c.Manifest)
	if err != nil {
		return nil, "the list of what it has made cannot be read: " + err.Error()
	}
	root, _ := c.Values[m.Keys()[0]].(string)
	r := &removal{root: path.Clean(root), list: make(map[string]states.ManifestEntry, len(list)), parents: map[string]bool{}}
	r.isKept = func(name string) bool { return declared.isKept(r.root, name) }
	for _, made := range list {
		r.list[made.Name] = made
		for dir := path.Dir(made.Name); !r.parents[dir]; dir = path.Dir(dir) {
			r.parents[dir] = true
		}
	}
	return r, ""
}

// module is that of the orphan, but that it knows nothing but what is listed.
func (r *removal) module(m *states.Module) *states.Module {
	only := *m
	only.Complete, only.Foresee, only.Batch, only.Recover, only.Makes = nil, nil, nil, nil, nil
	only.Read = func(ctx context.Context, h host.Host, _ any) (any, error) {
		have, err := r.compare(ctx, h)
		if err != nil || have == nil || len(have.removable) == 0 {
			return nil, err
		}
		return have, nil
	}
	only.Diff = func(have, _ any) []states.Change {
		found, ok := have.(*remains)
		if !ok {
			return nil
		}
		return found.changes()
	}
	only.Remove = func(ctx context.Context, h host.Host, have any) error {
		found, ok := have.(*remains)
		if !ok {
			return errors.New("it is not known what is to be removed")
		}
		return r.remove(ctx, h, found)
	}
	return &only
}

// compare compares what is there with the list; nil: nothing is.
func (r *removal) compare(ctx context.Context, h host.Host) (*remains, error) {
	d, err := host.OpenDir(h, r.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		if info, lerr := h.Lstat(r.root); lerr == nil && info.Kind != host.Directory {
			return nil, fmt.Errorf("%s is a %s, not a directory", r.root, info.Kind)
		}
		return nil, err
	}
	defer d.Close()
	keeps := map[string]bool{} // directories with something in them that stays
	stays := func(name string) {
		for dir := path.Dir(name); !keeps[dir]; dir = path.Dir(dir) {
			keeps[dir] = true
		}
	}
	seen, err := host.ReadTree(ctx, d, host.TreeOptions{
		Skip: func(name string, kind host.Kind) bool {
			if _, listed := r.list[name]; listed || r.parents[name] && kind == host.Directory {
				return false
			}
			stays(name)
			return true
		},
		Enter: func(name string) bool { return r.parents[name] || r.list[name].Kind == host.Directory },
		Sum:   func(name string, _ int64) bool { return r.list[name].Kind == host.Regular },
	})
	if err != nil {
		return nil, err
	}
	found := &remains{}
	var ours []states.ManifestEntry
	for i := range seen {
		e := &seen[i]
		made, listed := r.list[e.Name]
		switch same := listed && made == states.NewManifestEntry(e); {
		case e.Mount && e.Name != ".":
			states.NoteMount(ctx, path.Join(r.root, e.Name))
			stays(e.Name)
		case !listed || r.isKept(e.Name):
			stays(e.Name)
		case same && !e.Mount: // a directory that has become a mount is not as it was left
			ours = append(ours, made)
		default:
			found.changedNames = append(found.changedNames, e.Name)
			stays(e.Name)
		}
	}
	for _, made := range ours {
		if made.Kind != host.Directory || !keeps[made.Name] {
			found.removable = append(found.removable, made)
		}
	}
	found.isThere = len(ours) > 0
	return found, nil
}

// remove takes away what look has found to be as it was left.
func (r *removal) remove(ctx context.Context, h host.Host, found *remains) error {
	at, err := host.OpenPlace(h, r.root)
	if err != nil {
		return err
	}
	defer at.Dir.Close()
	root, err := at.Enter()
	if err != nil {
		return err
	}
	var names []string
	whole := false
	for _, made := range found.removable {
		if made.Name == "." {
			whole = true
			continue
		}
		names = append(names, made.Name)
	}
	if err := journal.Join(host.RemoveBelow(ctx, root, names), root.Close()); err != nil || !whole {
		return err
	}
	return at.Dir.Remove(at.Name)
}

// shownNames is how many names a change lists.
const shownNames = 20

// changes shows what goes, and what stays because somebody has changed it.
func (r *remains) changes() []states.Change {
	var gone []any
	for _, made := range r.removable {
		if made.Name != "." {
			gone = append(gone, made.Name)
		}
	}
	var out []states.Change
	if len(gone) > 0 {
		out = append(out, states.Change{Attribute: "removed", From: shorten(gone)})
	}
	if len(r.changedNames) > 0 {
		out = append(out, states.Change{Attribute: "changed since, and stays", To: shorten(r.changedNames)})
	}
	return out
}

// shorten gives the first of many names, and how many more there are.
func shorten(names []any) []any {
	if more := len(names) - shownNames; more > 0 {
		return append(slices.Clone(names[:shownNames]), fmt.Sprintf("and %d more", more))
	}
	return names
}
