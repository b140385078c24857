package host

import (
	"fmt"
	"io/fs"
	"syscall"
)

// What a tree knows of rights: whether the kernel would let the acting user make a
// change, as Local makes it. A Shadow notes what would be refused, and makes the
// change all the same, since a plan shows what is wanted; a Memory that was told
// who acts refuses it.

// rights is whose rights count for a tree, as one account sees it.
type rights struct {
	of     func() Credentials
	base   Permissions // nil: nothing below
	refuse func(*Refusal) error
}

// access says what a place allows: by what was made of it here, or by the base.
func (t *tree) access(at *place) Access {
	a := fullAccess()
	if at.base != "" && t.rights.base != nil {
		a = t.rights.base.Access(at.base)
	}
	if at.node != nil && at.node.own {
		a.Names = t.rights.of().hasAccess(at.node.info, 0o3)
		if a.List != "" { // which goes where it is taken over here
			if was, err := t.base.Lstat(at.base); err != nil || (Meta{UID: &at.node.info.UID}).TakesOver(was) {
				a.List = ""
			}
		}
	}
	return a
}

// search is an error where a directory that was changed here may not be passed; of
// others the base tells.
func (t *tree) search(dir *place) error { return t.permit(dir, 0o1) }

// permit is an error where the mode that something got here denies these bits.
func (t *tree) permit(at *place, bits fs.FileMode) error {
	if t.rights == nil || at.node == nil || !at.node.own || t.rights.of().hasAccess(at.node.info, bits) {
		return nil
	}
	return syscall.EACCES
}

// check asks a question about rights, and tells a refusal.
func (t *tree) check(ask func() *Refusal) error {
	t.writes++
	if t.rights == nil {
		return nil
	}
	if r := ask(); r != nil {
		return t.rights.refuse(r)
	}
	return nil
}

// mayReplace says why a name in a directory may not be made, or what has it be
// replaced or removed; at is nil where nothing has it.
func (t *tree) mayReplace(path string, dir, at *place) *Refusal {
	in := t.access(dir)
	parent, _ := splitPath(path)
	switch {
	case in.ReadOnly:
		return readOnlyRefusal(path)
	case in.Immutable:
		return flagRefusal(path, "the directory "+parent, "immutable", "i", parent)
	case !in.Names:
		return &Refusal{Path: path, Denied: "write " + path}
	case in.AppendOnly:
		return flagRefusal(path, "the directory "+parent, "append-only", "a", parent)
	case at == nil:
		return nil
	}
	if r := t.flagRefusalAt(path, at); r != nil {
		return r
	}
	c := t.rights.of()
	where, err := t.describe(dir)
	if err != nil || c.Privileged || where.Mode&fs.ModeSticky == 0 || where.UID == c.UID {
		return nil
	}
	if what, err := t.describe(at); err != nil || what.UID == c.UID {
		return nil
	}
	return &Refusal{Path: path, Denied: fmt.Sprintf("replace or remove %s, which belongs to another account in a sticky directory", path)}
}

// flagRefusalAt says why nobody may change what is at a place.
func (t *tree) flagRefusalAt(path string, at *place) *Refusal {
	switch a := t.access(at); {
	case a.ReadOnly:
		return readOnlyRefusal(path)
	case a.Immutable:
		return flagRefusal(path, path, "immutable", "i", path)
	case a.AppendOnly:
		return flagRefusal(path, path, "append-only", "a", path)
	}
	return nil
}

func flagRefusal(path, what, flag, letter, of string) *Refusal {
	return &Refusal{Path: path, Code: "immutable",
		Obstacle: fmt.Sprintf("%s is %s", what, flag), Cure: fmt.Sprintf("chattr -%s %s makes it changeable", letter, of)}
}

func readOnlyRefusal(path string) *Refusal {
	return &Refusal{Path: path, Code: "read_only",
		Obstacle: path + " is on a file system that is mounted read-only", Cure: "mount it read-write first"}
}

// mayMake says why something new may not be put into a directory with this owner
// and mode.
func (t *tree) mayMake(path string, dir, at *place, now Info, m Meta) *Refusal {
	if r := t.mayReplace(path, dir, at); r != nil {
		return r
	}
	c := t.rights.of()
	if at != nil && at.kind() == Regular && m.UID != nil && *m.UID != now.UID && !c.Privileged {
		if old, err := t.describe(at); err == nil && old.UID == *m.UID {
			return &Refusal{Path: path, Denied: fmt.Sprintf("replace %s, which belongs to another account and stays its", path)}
		}
	}
	return c.refusalToGive(path, now, m)
}

// maySet says why owner and mode of what is at a place may not be changed.
func (t *tree) maySet(path string, at *place, now Info, m Meta) *Refusal {
	if now.Kind == Symlink {
		m.Mode = nil
	}
	if m == (Meta{}) {
		return nil
	}
	if r := t.flagRefusalAt(path, at); r != nil {
		return r
	}
	return t.rights.of().refusalToGive(path, now, m)
}

// refusalToGive says why the account may not give something that is there another owner or
// mode. The kernel asks who owns it even where the new owner is the one it has.
func (c Credentials) refusalToGive(path string, now Info, m Meta) *Refusal {
	if c.Privileged {
		return nil
	}
	refused := func(what string) *Refusal { return &Refusal{Path: path, Denied: what} }
	group := *or(m.GID, now.GID)
	switch {
	case m == (Meta{}):
		return nil
	case now.UID != c.UID:
		return refused("change owner or mode of " + path + ", which belongs to another account")
	case m.UID != nil && *m.UID != now.UID:
		return refused(fmt.Sprintf("give %s to another owner", path))
	case group != now.GID && !c.isInGroup(group):
		return refused(fmt.Sprintf("give %s to a group that it is not in", path))
	case m.Mode != nil && *m.Mode&fs.ModeSetgid != 0 && !c.isInGroup(group):
		return refused(fmt.Sprintf("set the setgid bit of %s, whose group it is not in", path))
	}
	return nil
}
