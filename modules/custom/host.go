package custom

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// machine is the host as a module's functions see it: the methods of host.Host.
type machine struct {
	ctx  context.Context
	host host.Host
}

// hostError carries an error of the host through Starlark, to come out as it
// is.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }
func (e *hostError) Unwrap() error { return e.err }

// fromHost marks an error of the host.
func fromHost(err error) error {
	if err == nil {
		return nil
	}
	return &hostError{err}
}

// String is for errors.
func (m machine) String() string { return "<host>" }

// Type is the type's name in Starlark.
func (m machine) Type() string { return "host" }

// Freeze does nothing: what changes is the machine.
func (m machine) Freeze() {}

// Truth is always true.
func (m machine) Truth() starlark.Bool { return true }

// Hash refuses to make a key of it.
func (m machine) Hash() (uint32, error) { return 0, errors.New("unhashable type: host") }

// method is a function of the host.
type method func(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

func (m machine) methods() map[string]method {
	return map[string]method{
		"lstat": m.lstat, "stat": m.stat, "list": m.list, "readlink": m.readlink,
		"read_file": m.readFile, "content": m.content,
		"write_file": m.writeFile, "mkdir": m.mkdir, "symlink": m.symlink, "set_meta": m.setMeta, "remove": m.remove,
		"user": m.user, "group": m.group,
		"run": m.run, "query": m.query,
	}
}

// Attr gives a method.
func (m machine) Attr(name string) (starlark.Value, error) {
	call := m.methods()[name]
	if call == nil {
		return nil, nil
	}
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := context.Cause(m.ctx); err != nil {
			return nil, &hostError{err}
		}
		return call(args, kwargs)
	}), nil
}

// AttrNames lists the methods.
func (m machine) AttrNames() []string { return sortedKeys(m.methods()) }

// lstat is lstat(path): what stands there, or None.
func (m machine) lstat(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackArgs("lstat", args, kwargs, "path", &name); err != nil {
		return nil, err
	}
	info, err := m.host.Lstat(name)
	return m.describe(info, err)
}

// maxLinks is how many symbolic links stat follows, as Linux does.
const maxLinks = 40

// stat is lstat that follows symbolic links.
func (m machine) stat(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackArgs("stat", args, kwargs, "path", &name); err != nil {
		return nil, err
	}
	for range maxLinks {
		info, err := m.host.Lstat(name)
		if err != nil || info.Kind != host.Symlink {
			return m.describe(info, err)
		}
		target, err := m.host.ReadLink(name)
		if err != nil {
			return nil, fromHost(err)
		}
		if !path.IsAbs(target) {
			target = path.Dir(name) + "/" + target // the host resolves "..", after links
		}
		name = target
	}
	return nil, fromHost(&fs.PathError{Op: "stat", Path: name, Err: errors.New("too many symbolic links")})
}

func (m machine) describe(info host.Info, err error) (starlark.Value, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return starlark.None, nil
	}
	if err != nil {
		return nil, fromHost(err)
	}
	return information{info, m.host}, nil
}

// list is list(path, default): the entries of a directory.
func (m machine) list(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var otherwise starlark.Value
	if err := starlark.UnpackArgs("list", args, kwargs, "path", &name, "default?", &otherwise); err != nil {
		return nil, err
	}
	entries, err := m.host.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) && otherwise != nil {
		return otherwise, nil
	}
	if err != nil {
		return nil, fromHost(err)
	}
	list := make([]starlark.Value, len(entries))
	for i, e := range entries {
		list[i] = record("entry", starlark.StringDict{
			"name": starlark.String(e.Name), "kind": starlark.String(e.Kind),
		})
	}
	return starlark.NewList(list), nil
}

func (m machine) readlink(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackArgs("readlink", args, kwargs, "path", &name); err != nil {
		return nil, err
	}
	target, err := m.host.ReadLink(name)
	return starlark.String(target), fromHost(err)
}

// readFile is read_file(path, default): the text of a file, of any bytes.
func (m machine) readFile(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var otherwise starlark.Value
	if err := starlark.UnpackArgs("read_file", args, kwargs, "path", &name, "default?", &otherwise); err != nil {
		return nil, err
	}
	data, err := host.ReadFile(m.host, name, host.InlineLimit+1)
	if errors.Is(err, fs.ErrNotExist) && otherwise != nil {
		return otherwise, nil
	}
	if err != nil {
		return nil, fromHost(err)
	}
	if len(data) > host.InlineLimit {
		return nil, fromHost(&fs.PathError{Op: "read_file", Path: name,
			Err: errors.New("the file is larger than " + strconv.Itoa(host.InlineLimit) + " bytes; content(path) is for such")})
	}
	return starlark.String(data), nil
}

// content is content(path): what a file holds, without holding it.
func (m machine) content(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackArgs("content", args, kwargs, "path", &name); err != nil {
		return nil, err
	}
	info, err := m.host.Lstat(name)
	if err != nil {
		return nil, fromHost(err)
	}
	c, err := host.ReadContent(m.ctx, m.host, name, info)
	return content{c}, fromHost(err)
}

// record is a struct with a name for errors.
func record(name string, fields starlark.StringDict) starlark.Value {
	return starlarkstruct.FromStringDict(starlark.String(name), fields)
}

// information is what lstat gives. The accounts' names are looked up when they
// are asked for.
type information struct {
	host.Info
	accounts host.Accounts
}

// String is for errors.
func (i information) String() string { return "<" + string(i.Kind) + ">" }

// Type is the type's name in Starlark.
func (i information) Type() string { return "stat" }

// Freeze does nothing: it never changes.
func (i information) Freeze() {}

// Truth is always true.
func (i information) Truth() starlark.Bool { return true }

// Hash refuses to make a key of it.
func (i information) Hash() (uint32, error) { return 0, errors.New("unhashable type: stat") }

// AttrNames lists what Attr gives.
func (i information) AttrNames() []string {
	return []string{"gid", "group", "group_as", "kind", "mode", "owner", "owner_as", "size", "uid"}
}

// Attr gives what is known of the file.
func (i information) Attr(name string) (starlark.Value, error) {
	anyone := ""
	switch name {
	case "kind":
		return starlark.String(i.Kind), nil
	case "mode":
		return starlark.String(states.FormatMode(i.Mode)), nil
	case "size":
		return starlark.MakeInt64(i.Size), nil
	case "uid":
		return starlark.MakeInt(i.UID), nil
	case "gid":
		return starlark.MakeInt(i.GID), nil
	case "owner":
		return starlark.String(*owner.User(i.accounts, i.UID, &anyone)), nil
	case "group":
		return starlark.String(*owner.Group(i.accounts, i.GID, &anyone)), nil
	case "owner_as":
		return i.nameAs(name, func(want *string) *string { return owner.User(i.accounts, i.UID, want) }), nil
	case "group_as":
		return i.nameAs(name, func(want *string) *string { return owner.Group(i.accounts, i.GID, want) }), nil
	}
	return nil, nil
}

// nameAs is owner_as(want): want itself where it is the same account, None for
// None, else the account's name.
func (i information) nameAs(name string, in func(want *string) *string) starlark.Value {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var want starlark.Value
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "want", &want); err != nil {
			return nil, err
		}
		if want == starlark.None {
			return want, nil
		}
		text, err := account(want)
		if err != nil {
			return nil, err
		}
		return starlark.String(*in(&text)), nil
	})
}
