package custom

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// meta holds the keyword arguments of what writes.
type meta struct{ mode, owner, group starlark.Value }

// pairs lists them for UnpackArgs.
func (a *meta) pairs(before ...any) []any {
	return append(before, "mode?", &a.mode, "owner?", &a.owner, "group?", &a.group)
}

// resolve looks up the accounts. Nothing is changed before.
func (m machine) resolve(a meta) (host.Meta, error) {
	var mode *fs.FileMode
	if isGiven(a.mode) {
		text, ok := starlark.AsString(a.mode)
		if !ok {
			return host.Meta{}, fmt.Errorf(`a mode is a string of octal digits, such as "0644", not a value of type %s`, a.mode.Type())
		}
		parsed, err := states.ParseMode(text)
		if err != nil {
			return host.Meta{}, err
		}
		mode = &parsed
	}
	var names [2]*string
	for i, v := range []starlark.Value{a.owner, a.group} {
		if !isGiven(v) {
			continue
		}
		name, err := account(v)
		if err != nil {
			return host.Meta{}, err
		}
		names[i] = &name
	}
	resolved, err := owner.Meta(m.host, names[0], names[1], mode)
	return resolved, fromHost(err)
}

// isGiven reports whether an optional argument was given.
func isGiven(v starlark.Value) bool { return v != nil && v != starlark.None }

// account is the name or the number of a user or a group.
func account(v starlark.Value) (string, error) {
	switch v := v.(type) {
	case starlark.String:
		return string(v), nil
	case starlark.Int:
		return v.String(), nil
	}
	return "", fmt.Errorf("an account is a name or a number, not a value of type %s", v.Type())
}

func (m machine) writeFile(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var text starlark.Value
	var a meta
	if err := starlark.UnpackArgs("write_file", args, kwargs, a.pairs("path", &name, "content", &text)...); err != nil {
		return nil, err
	}
	var c host.Content
	switch text := text.(type) {
	case starlark.String:
		c = host.Text(string(text))
	case starlark.Bytes:
		c = host.Text(string(text))
	case content:
		c = text.Content
	default:
		return nil, fmt.Errorf("write_file: content is a string or a content, not a value of type %s", text.Type())
	}
	resolved, err := m.resolve(a)
	if err != nil {
		return nil, err
	}
	return starlark.None, fromHost(states.DirectoryError(m.host, path.Dir(name), m.host.WriteFile(m.ctx, name, c, resolved)))
}

func (m machine) mkdir(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var a meta
	if err := starlark.UnpackArgs("mkdir", args, kwargs, a.pairs("path", &name)...); err != nil {
		return nil, err
	}
	resolved, err := m.resolve(a)
	if err != nil {
		return nil, err
	}
	return starlark.None, fromHost(states.DirectoryError(m.host, path.Dir(name), m.host.Mkdir(name, resolved)))
}

func (m machine) symlink(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var target, name string
	var a meta
	err := starlark.UnpackArgs("symlink", args, kwargs, "target", &target, "path", &name, "owner?", &a.owner, "group?", &a.group)
	if err != nil {
		return nil, err
	}
	resolved, err := m.resolve(a)
	if err != nil {
		return nil, err
	}
	return starlark.None, fromHost(states.DirectoryError(m.host, path.Dir(name), m.host.Symlink(target, name, resolved)))
}

func (m machine) setMeta(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var a meta
	if err := starlark.UnpackArgs("set_meta", args, kwargs, a.pairs("path", &name)...); err != nil {
		return nil, err
	}
	resolved, err := m.resolve(a)
	if err != nil {
		return nil, err
	}
	return starlark.None, fromHost(owner.SetMeta(m.ctx, m.host, name, resolved, nil))
}

func (m machine) remove(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackArgs("remove", args, kwargs, "path", &name); err != nil {
		return nil, err
	}
	return starlark.None, fromHost(m.host.Remove(name))
}

// user is user(name or uid), or None.
func (m machine) user(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var who starlark.Value
	if err := starlark.UnpackArgs("user", args, kwargs, "name", &who); err != nil {
		return nil, err
	}
	u, err := lookup(who, m.host.User, m.host.UserID)
	if u == nil || err != nil {
		return starlark.None, err
	}
	return record("user", starlark.StringDict{
		"name": starlark.String(u.Name), "uid": starlark.MakeInt(u.UID), "gid": starlark.MakeInt(u.GID),
		"comment": starlark.String(u.Comment), "home": starlark.String(u.Home), "shell": starlark.String(u.Shell),
	}), nil
}

// group is group(name or gid), or None.
func (m machine) group(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var who starlark.Value
	if err := starlark.UnpackArgs("group", args, kwargs, "name", &who); err != nil {
		return nil, err
	}
	g, err := lookup(who, m.host.Group, m.host.GroupID)
	if g == nil || err != nil {
		return starlark.None, err
	}
	members := make([]starlark.Value, len(g.Members))
	for i, name := range g.Members {
		members[i] = starlark.String(name)
	}
	return record("group", starlark.StringDict{
		"name": starlark.String(g.Name), "gid": starlark.MakeInt(g.GID), "members": starlark.NewList(members),
	}), nil
}

// lookup finds an account by name or number; nil: there is none.
func lookup[T any](who starlark.Value, byName func(string) (T, error), byID func(int) (T, error)) (*T, error) {
	var found T
	var err error
	switch who := who.(type) {
	case starlark.String:
		found, err = byName(string(who))
	case starlark.Int:
		id, ierr := starlark.AsInt32(who)
		if ierr != nil {
			return nil, ierr
		}
		found, err = byID(id)
	default:
		return nil, fmt.Errorf("an account is a name or a number, not a value of type %s", who.Type())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fromHost(err)
	}
	return &found, nil
}
