package swap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// refuseShared refuses a path on which another account decides what it leads to: mkswap,
// swapon and swapoff take nothing but paths, so that this account could have them overwrite,
// or take into use, what it names meanwhile.
func refuseShared(h host.Host, name string) error {
	real, links := host.Way(h, name)
	for _, at := range append(links, real) {
		for dir := at; dir != "/"; {
			dir = path.Dir(dir)
			info, err := h.Lstat(dir)
			if err != nil {
				return err
			}
			if why := writableBy(h, info); why != "" {
				return &states.FinalError{Err: &diag.HintError{
					Err:  fmt.Errorf("the directory %s %s, who could put another file or device in the place of %s while it is made a swap area", dir, why, name),
					Hint: "name a path that root alone can change, such as /var/swapfile, or take the right to write from the others",
				}}
			}
		}
	}
	return nil
}

// writableBy says who else than root and the acting account can change what is in a directory;
// empty: nobody. The sticky bit does not help where nothing is yet.
func writableBy(h host.Host, dir host.Info) string {
	switch {
	case !isOwn(h, dir):
		return "belongs to the user " + *owner.User(h, dir.UID, new(""))
	case dir.Mode&host.WriteBits != 0:
		return fmt.Sprintf("has mode %s, so that it can be written by others than its owner", states.FormatMode(dir.Mode))
	}
	return ""
}

func isOwn(h host.Actor, info host.Info) bool {
	uid, _ := h.Actor()
	return info.UID == 0 || info.UID == uid
}

// isExposed reports whether another account may have the file open, and would read the memory
// of all processes by that, or change it.
func isExposed(h host.Actor, f observation) bool {
	return f.kind == host.Regular && (!isOwn(h, f.info) || f.info.Mode&0o077 != 0)
}

// ownMeta is that of a swap file: memory of all processes is in it.
func ownMeta() host.Meta { return host.Meta{Mode: new(fs.FileMode(0o600)), UID: new(0), GID: new(0)} }

// settle makes the file what it is to be before it becomes an area, in the one directory that
// it opens.
func settle(ctx context.Context, h host.Host, f observation, want Swap, remake bool) error {
	at, err := host.OpenPlace(h, want.Path)
	if err != nil {
		return err
	}
	if remake {
		err = makeFile(ctx, at, f, want)
	} else {
		err = at.Dir.SetMeta(at.Name, ownMeta())
	}
	if err = errors.Join(err, at.Dir.Close()); err != nil || !remake {
		return err
	}
	return h.Sync() // each zero has its place on the disk before the kernel asks for that
}

// makeFile makes a file of zeros, each of which has its place on the disk: a swap file
// has no holes. It appears as large as it is to be, or not at all.
func makeFile(ctx context.Context, at host.Place, f observation, want Swap) error {
	size := f.info.Size
	if want.Size != nil {
		var err error
		if size, err = parseSize(*want.Size); err != nil {
			return err
		}
		if f.kind != "" { // there may be no room for both
			if err := at.Dir.Remove(at.Name); err != nil {
				return err
			}
		}
	}
	zeros := host.Unread(size, func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeroReader{}, size)), nil
	})
	return at.Dir.WriteFile(ctx, at.Name, zeros, ownMeta(), want.Size != nil)
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
