package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// What is put back goes where it came from. Where the directory belongs to somebody else
// they may have put another in its place meanwhile, or a link: what was in their own file
// would then be written over one that they may not touch.

// errMoved is that of a path that leads elsewhere than it did.
var errMoved = errors.New("somebody has put another directory, or a link, in the place of one on the way to it, so it is not put back")

// errNoPlace says that there is no directory in which something could stand.
var errNoPlace = errors.New("the directory that it was in is not there")

// place opens the directory in which a path stood that is to be put back: the very one that
// it was when the path was kept, or one that nobody else can have put there. Who opens it
// closes it.
func (u *undo) place(h host.Host, f journal.Former) (host.Place, error) {
	at, err := host.OpenPlace(h.NoFollow(), f.Path)
	switch {
	case host.IsLink(err):
		return host.Place{}, errMoved
	case isNoDirectory(err):
		return host.Place{}, fmt.Errorf("%w: %w", errNoPlace, err)
	case err != nil:
		return host.Place{}, err
	}
	now, err := at.Dir.Lstat(".")
	if err == nil && u.isSame(f, now) {
		return at, nil
	}
	if err = journal.Join(err, at.Dir.Close()); err != nil {
		return host.Place{}, err
	}
	at.Dir, err = openOwn(h, path.Dir(f.Path))
	return at, err
}

// isSame reports whether a directory is the one that a path was kept in, or what this undo
// has made in the place of that.
func (u *undo) isSame(f journal.Former, now host.Info) bool {
	if again, ok := u.restoredDirs[f.Dir.File()]; ok && f.Dir != (journal.DirID{}) {
		return again.Is(now, journal.BootID())
	}
	return f.Dir.Is(now, f.Boot)
}

// openOwn opens a directory step by step, if all on the way to it belong to root or the
// acting account, and nobody else may rename what is in them.
func openOwn(h host.Host, dir string) (host.Dir, error) {
	uid, _ := h.Actor()
	at, err := h.OpenDir("/")
	steps := strings.FieldsFunc(dir, func(r rune) bool { return r == '/' })
	for i := 0; err == nil; i++ {
		var info host.Info
		if info, err = at.Lstat("."); err == nil && !isOwn(info, uid) {
			err = errMoved
		}
		if err == nil && i == len(steps) {
			return at, nil
		}
		var next host.Dir
		if err == nil {
			next, err = at.Enter(steps[i])
		}
		err = journal.Join(err, at.Close())
		at = next
	}
	return nil, err
}

// isOwn reports whether nobody but root and an account may rename what is in a directory.
func isOwn(dir host.Info, uid int) bool {
	return (dir.UID == 0 || dir.UID == uid) && (dir.Mode&0o022 == 0 || dir.Mode&fs.ModeSticky != 0)
}

// redirectedPath says why what stands at some paths is not to be removed: somebody else has, or
// may have, put a link on the way to it since it was made.
func redirectedPath(h host.Host, paths []string) string {
	for _, name := range paths {
		if link := linkOfOthers(h, name); link != "" {
			return "the link " + link + " on the way to it was put there by somebody else, or may have been; remove what is meant by hand, and let go of it with tenet forget"
		}
	}
	return ""
}

// linkOfOthers gives the first symbolic link on the way to a path, its end apart, that others
// than root and the acting account decide about; empty: there is none. What is removed by
// mistake is lost, so that a link is refused here also where it leads to what is its owner's.
func linkOfOthers(h host.Host, name string) string {
	uid, _ := h.Actor()
	_, links := host.Way(h, name)
	for _, link := range links {
		dir, err := h.Lstat(path.Dir(link))
		if err != nil || !isOwn(dir, uid) {
			return link
		}
		if is, err := h.Lstat(link); err != nil || is.UID != 0 && is.UID != uid {
			return link
		}
	}
	return ""
}
