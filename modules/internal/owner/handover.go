package owner

import (
	"context"
	"errors"

	"github.com/tenetcm/tenet/runtime/host"
)

// Doc is what the modules of files say about a change of owner, in the same words.
const Doc = `A mode that is not given loses its setuid and setgid bits when content, owner or group change. When the owner changes from an account that is not root, the right of group and others to write goes from a mode that is not given, and whoever is named in the access control list goes from that, since the account may have chosen both; and the file is written anew, since the account may have it open. The plan shows the mode; one that is given is what the file gets. File capabilities go with the content, the owner and the group that they were given to.`

// SetMeta gives what is at the path owner and mode, as host.Writer.SetMeta does. A regular
// file that leaves an account which is not root is written anew for that: the account may
// have it open, and would go on writing to what is another one's. Known is what the file
// holds, where somebody has read it: if it holds something else by then, that is an error.
func SetMeta(ctx context.Context, h host.Host, path string, m host.Meta, known *host.Content) error {
	if !mayHandOver(h, m) {
		return h.SetMeta(path, m)
	}
	at, err := host.OpenPlace(h, path)
	if err != nil {
		return err
	}
	return errors.Join(SetMetaIn(ctx, h, at.Dir, at.Name, m, known), at.Dir.Close())
}

// SetMetaIn is SetMeta for what has a name in an open directory.
func SetMetaIn(ctx context.Context, h host.Permissions, d host.Dir, name string, m host.Meta, known *host.Content) error {
	if !mayHandOver(h, m) {
		return d.SetMeta(name, m)
	}
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if !handsOver(info, m) {
		return d.SetMeta(name, m)
	}
	content, info, err := host.CopyContentIn(ctx, d, name)
	switch {
	case errors.Is(err, host.ErrUnforeseeable): // in a plan nobody has it open
		return d.SetMeta(name, m)
	case err != nil:
		return err
	case !handsOver(info, m): // something else has come in its place
		return d.SetMeta(name, m)
	case known != nil && known.IsRead():
		content = host.Stream(known.Size(), known.Sum(), content.Open)
	}
	return d.WriteFile(ctx, name, content, m, false)
}

// mayHandOver reports whether the acting account may give files of others away; who may not
// is refused as ever.
func mayHandOver(h host.Permissions, m host.Meta) bool {
	return m.UID != nil && h.Credentials().Privileged
}

// handsOver reports whether a regular file leaves an account which is not root.
func handsOver(info host.Info, m host.Meta) bool {
	return info.Kind == host.Regular && m.TakesOver(info)
}
