package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
)

// tree is a copy-on-write tree of files over another host, or over nothing. It
// holds only what was changed, and the directories on the way there; all else
// is asked of the base each time. Shadow and Memory are this tree.
type tree struct {
	base  Reader // nil: nothing below
	actor func() (uid, gid int)
	// straight is set in a view that follows no symbolic link on its way.
	straight bool
	// rights are those of the acting user. Nil: everything is allowed.
	rights *rights
	trace  *Trace // nil: nobody wants to know what is looked at
	*overlay
}

// noFollow gives the tree, over base, as one that follows no symbolic link.
func (t *tree) noFollow(base Reader) *tree {
	return &tree{base: base, actor: t.actor, straight: true, rights: t.rights, trace: t.trace, overlay: t.overlay}
}

// overlay is what was changed. Trees that look at one machine as several accounts do
// have it in common.
type overlay struct {
	mu      sync.RWMutex
	root    *node        // guarded by mu, with all below it
	touched atomic.Bool  // something was written
	relinks atomic.Int64 // how often a symbolic link came or went

	writes   int        // changes since they were asked for; guarded by mu
	refusals []*Refusal // those among them that the acting user may not make; guarded by mu
}

// node is a changed place of the tree, or a directory on the way to one.
type node struct {
	kind Kind // "": what the base has here is gone
	// own is set where owner, mode, size and time are not the base's.
	own  bool
	info Info // if own
	// base is the path in the base that shows through: the other entries of
	// a directory, the bytes of a regular file. Empty: nothing does. The path
	// holds no symbolic links.
	base    string
	content Content          // of a regular file without base
	target  string           // of a symbolic link
	entries map[string]*node // of a directory
	// obscure is set of a directory on which another file system will be mounted:
	// neither what it holds nor whose it is can be known.
	obscure bool
}

// place is a position in the tree during one operation.
type place struct {
	parent *place
	name   string
	node   *node  // nil: as in the base
	base   string // path in the base; empty: nothing of the base shows here
	info   *Info  // what the base has, if it was asked
}

// newTree makes a tree over base; nil: an empty one.
func newTree(base Reader, actor func() (uid, gid int)) *tree {
	root := &node{kind: Directory, base: "/"}
	if base == nil {
		root = newDirectory(Info{Kind: Directory, Mode: 0o755, ModTime: changeTime()})
	}
	return &tree{base: base, actor: actor, overlay: &overlay{root: root}}
}

func newDirectory(info Info) *node { return &node{kind: Directory, own: true, info: info} }

// kind is what stands at a place.
func (p *place) kind() Kind {
	if p.node != nil {
		return p.node.kind
	}
	return p.info.Kind
}

// errObscure is what there is to know of a place below a mount that is planned.
var errObscure = fmt.Errorf("%w: an earlier step mounts or unmounts a file system there", ErrUnforeseeable)

// path is where the place is, without symbolic links.
func (p *place) path() string {
	if p.parent == nil {
		return "/"
	}
	return path.Join(p.parent.path(), p.name)
}

func (p *place) obscure() bool { return p.node != nil && p.node.obscure }

// obscure makes a directory one of which nothing is known any more.
func (t *tree) obscure(path string) error {
	return t.change("mount", path, false, nil, func(dir *place, name string, at *place) error {
		switch {
		case at == nil:
			return syscall.ENOENT
		case name == "":
			return syscall.EBUSY
		case at.kind() != Directory && at.kind() != Regular:
			return syscall.ENOTDIR
		}
		t.put(dir, name, &node{kind: Directory, own: true, obscure: true})
		return nil
	})
}

// walk resolves a path; see walker.
func (t *tree) walk(path string, follow bool) (*place, string, error) {
	return t.walker().walk(path, follow)
}

func (t *tree) actingUser() int {
	uid, _ := t.actor()
	return uid
}

func (t *tree) walker() walker[*place] {
	return walker[*place]{
		straight: t.straight,
		describe: t.describe,
		actor:    t.actingUser(),
		root:     &place{node: t.root, base: t.root.base},
		enter: func(dir *place, name string) (*place, Kind, error) {
			at, err := t.enter(dir, name)
			if err != nil {
				return nil, "", err
			}
			return at, at.kind(), nil
		},
		link: t.link,
	}
}

// enter gives the place of a name in a directory; nothing there is ENOENT.
func (t *tree) enter(dir *place, name string) (*place, error) {
	if dir.obscure() {
		return nil, errObscure
	}
	if err := t.search(dir); err != nil {
		return nil, err
	}
	if dir.node != nil {
		if n, ok := dir.node.entries[name]; ok {
			if n.kind == "" {
				return nil, syscall.ENOENT
			}
			return &place{parent: dir, name: name, node: n, base: n.base}, nil
		}
	}
	if dir.base == "" {
		return nil, syscall.ENOENT
	}
	path := joinPath(dir.base, name)
	info, err := t.base.Lstat(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	return &place{parent: dir, name: name, base: path, info: &info}, nil
}

// find resolves a path to what stands there.
func (t *tree) find(path string, follow bool) (*place, error) {
	dir, name, err := t.walk(path, follow)
	if err != nil || name == "" {
		return dir, err
	}
	return t.enter(dir, name)
}

// link gives the target of the symbolic link at a place.
func (t *tree) link(at *place) (string, error) {
	if at.node != nil {
		return at.node.target, nil
	}
	target, err := t.base.ReadLink(at.base)
	return target, withoutPath(err)
}

// describe gives what Lstat says of a place.
func (t *tree) describe(at *place) (Info, error) {
	switch {
	case at.obscure():
		return Info{}, errObscure
	case at.node != nil && at.node.own:
		return at.node.info, nil
	case at.info != nil:
		return *at.info, nil
	}
	info, err := t.base.Lstat(at.base)
	return info, withoutPath(err)
}

// grow gives the node of a directory; it makes those that are missing on the
// way there.
func (t *tree) grow(dir *place) *node {
	if dir.node == nil {
		dir.node = &node{kind: Directory, base: dir.base}
		t.put(dir.parent, dir.name, dir.node)
	}
	return dir.node
}

// put sets what stands at a name.
func (t *tree) put(dir *place, name string, n *node) {
	parent := t.grow(dir)
	if parent.entries == nil {
		parent.entries = map[string]*node{}
	}
	parent.entries[name] = n
	t.touched.Store(true)
}

// remove takes away what stands at a name.
func (t *tree) remove(dir *place, name string) error {
	parent := t.grow(dir)
	delete(parent.entries, name)
	if dir.base == "" {
		return nil
	}
	_, err := t.base.Lstat(joinPath(dir.base, name))
	switch {
	case err == nil:
		t.put(dir, name, &node{})
	case !errors.Is(err, fs.ErrNotExist):
		return withoutPath(err)
	}
	return nil
}

// changed reports whether what a path leads to, or anything below it, is not
// what the base has.
func (t *tree) changed(path string) bool {
	if !t.touched.Load() {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	w := t.walker()
	enter, passed := w.enter, false
	w.enter = func(dir *place, name string) (*place, Kind, error) {
		at, kind, err := enter(dir, name)
		if n := dir.node; n != nil && n.entries[name] != nil {
			passed = passed || n.entries[name].base == ""
		}
		return at, kind, err
	}
	dir, name, err := w.walk(path, true)
	if err != nil || name == "" {
		return passed || err == nil && dir.node.differs()
	}
	at, _, err := w.enter(dir, name)
	return passed || err == nil && at.node.differs()
}

// differs reports whether a node or one below it is more than a way.
func (n *node) differs() bool {
	if n == nil {
		return false
	}
	if n.kind != Directory || n.own {
		return true
	}
	for _, e := range n.entries {
		if e.differs() {
			return true
		}
	}
	return false
}
