// Package owner turns the names of users and groups into the numbers that
// files carry, and back.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// UID gives the number of a user, given by name or, where no user has that
// name, by number. A user that the host does not know is an error that wraps
// fs.ErrNotExist.
func UID(h host.Accounts, name string) (int, error) {
	u, err := h.User(name)
	return number("user", name, u.UID, err)
}

// GID is UID for groups.
func GID(h host.Accounts, name string) (int, error) {
	g, err := h.Group(name)
	return number("group", name, g.GID, err)
}

func number(what, name string, id int, err error) (int, error) {
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("looking up the %s %q: %w", what, name, err)
	}
	if n, nerr := strconv.ParseUint(name, 10, 31); nerr == nil {
		return int(n), nil
	}
	return 0, check.NotOnHost(what, strconv.Quote(name))
}

// Meta resolves what a file shall have. Nothing is changed, so that a name
// unknown to the host ends a part before its first act.
func Meta(h host.Accounts, owner, group *string, mode *fs.FileMode) (host.Meta, error) {
	m := host.Meta{Mode: mode}
	if owner != nil {
		uid, err := UID(h, *owner)
		if err != nil {
			return m, err
		}
		m.UID = &uid
	}
	if group != nil {
		gid, err := GID(h, *group)
		if err != nil {
			return m, err
		}
		m.GID = &gid
	}
	return m, nil
}

// User says who owns what has this uid, in the words of want: want itself when
// it is the same user, else the user's name, or the number of one without. It
// is nil when want is, since what is not managed need not be looked up.
func User(h host.Accounts, uid int, want *string) *string {
	if want == nil {
		return nil
	}
	if id, err := UID(h, *want); err == nil && id == uid {
		return want
	}
	if u, err := h.UserID(uid); err == nil {
		return new(u.Name)
	}
	return new(strconv.Itoa(uid))
}

// Group is User for groups.
func Group(h host.Accounts, gid int, want *string) *string {
	if want == nil {
		return nil
	}
	if id, err := GID(h, *want); err == nil && id == gid {
		return want
	}
	if g, err := h.GroupID(gid); err == nil {
		return new(g.Name)
	}
	return new(strconv.Itoa(gid))
}

// ListLost shows who is named in the access control list of what is at a path, where they go
// with its owner; see host.Meta.TakesOver.
func ListLost(h host.Host, path string, is host.Info, want *string) []states.Change {
	if want == nil {
		return nil
	}
	uid, err := UID(h, *want)
	if err != nil || !(host.Meta{UID: &uid}).TakesOver(is) {
		return nil // the act tells the error
	}
	list := h.Access(path).List
	if list == "" {
		return nil
	}
	return []states.Change{{Attribute: "acl", From: list}}
}

// Unusual gives the owner and the group of what is at the path, nil for what a new
// one would get there: those of the acting user, and the group of a directory that
// hands its own on.
func Unusual(h host.Host, name string) (user, group *string) {
	info, err := h.Lstat(name)
	if err != nil {
		return nil, nil
	}
	uid, gid := h.Actor()
	if parent, err := h.Lstat(path.Dir(name)); err == nil && parent.Mode&fs.ModeSetgid != 0 {
		gid = parent.GID
	}
	if info.UID != uid {
		user = User(h, info.UID, new(""))
	}
	if info.GID != gid {
		group = Group(h, info.GID, new(""))
	}
	return user, group
}
