package host

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// walker goes along a path one component at a time, below a root that neither
// ".." nor a symbolic link leads out of. It knows no files: T is a place, and
// the functions say what is there. It is the one resolver for trees in memory
// and, where the kernel has no openat2, for directories below a root.
type walker[T any] struct {
	root T
	// enter gives the place of a name in a directory, and what stands there.
	// Nothing there is an error that wraps fs.ErrNotExist.
	enter func(dir T, name string) (T, Kind, error)
	// link gives the target of the symbolic link at a place.
	link func(at T) (string, error)
	// leave is called once for each place that enter gave, except those that
	// walk returns. Nil: there is nothing to release.
	leave func(at T)
	// describe describes a place, for what decides whether a link is followed; see trust.
	describe func(at T) (Info, error)
	actor    int // the acting user
	// straight refuses symbolic links instead of following them: ELOOP.
	straight bool
}

// walk goes to the last component of the path, which need not exist, and gives
// its directory and name. The name is empty where the path ends at a directory
// without naming it ("/", "/a/.."). Symbolic links before the last component
// are followed, the last one if follow is set. Errors carry no path.
func (w walker[T]) walk(path string, follow bool) (T, string, error) {
	way := []T{w.root}
	trust := trust{actor: w.actor}
	name, err := w.along(&way, path, follow, &trust)
	if err == nil {
		err = w.reached(way[len(way)-1], name, follow, &trust)
	}
	if err != nil {
		w.cut(&way, 1)
		return w.root, "", err
	}
	end := len(way) - 1
	for _, at := range way[min(1, end):end] {
		w.release(at)
	}
	return way[end], name, nil
}

// along does the work of walk; way holds the directories from the root.
func (w walker[T]) along(way *[]T, path string, follow bool, trust *trust) (string, error) {
	links := 0
	for rest := path; ; {
		name, behind, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		rest = strings.Trim(behind, "/")
		switch {
		case name == "":
			return "", nil
		case name == ".":
			continue
		case name == "..":
			w.cut(way, max(1, len(*way)-1))
			continue
		case len(name) > maxName:
			return "", syscall.ENAMETOOLONG
		case rest == "" && !follow:
			return name, nil
		}
		at, kind, err := w.enter((*way)[len(*way)-1], name)
		if err != nil {
			if rest == "" && errors.Is(err, fs.ErrNotExist) {
				return name, nil
			}
			return "", err
		}
		if kind == Directory && rest != "" {
			*way = append(*way, at)
			continue
		}
		target := ""
		switch {
		case kind == Symlink && w.straight:
			err = syscall.ELOOP
		case kind == Symlink:
			if target, err = w.link(at); err == nil {
				err = w.trusts((*way)[len(*way)-1], at, name, target, trust)
			}
		}
		w.release(at)
		switch {
		case err != nil:
			return "", err
		case kind != Symlink && rest == "":
			return name, nil
		case kind != Symlink:
			return "", syscall.ENOTDIR
		case target == "":
			return "", syscall.ENOENT
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if target[0] == '/' {
			w.cut(way, 1)
		}
		rest = target + "/" + rest
	}
}

// cut shortens the way to its first n places.
func (w walker[T]) cut(way *[]T, n int) {
	for _, at := range (*way)[n:] {
		w.release(at)
	}
	*way = (*way)[:n]
}

func (w walker[T]) release(at T) {
	if w.leave != nil {
		w.leave(at)
	}
}

// trusts asks whether a link in a directory is to be followed.
func (w walker[T]) trusts(dir, link T, name, target string, trust *trust) error {
	in, err := w.describe(dir)
	if err != nil {
		return withoutPath(err)
	}
	is, err := w.describe(link)
	if err != nil {
		return withoutPath(err)
	}
	return trust.follow(name, target, in, is)
}

// reached asks whether links that somebody else decides about may lead where they led.
func (w walker[T]) reached(dir T, name string, follow bool, trust *trust) error {
	if trust.link == "" {
		return nil
	}
	in, err := w.describe(dir)
	if err != nil {
		return withoutPath(err)
	}
	own := in.UID == trust.by
	if name != "" && follow {
		at, kind, err := w.enter(dir, name)
		if err == nil {
			is, derr := w.describe(at)
			w.release(at)
			if derr != nil {
				return withoutPath(derr)
			}
			// What goes on below a directory goes by that one, whoever has the one around it.
			own = is.UID == trust.by || own && kind != Directory
		}
	}
	if !own {
		return trust.refuse() // it is not to be made there either
	}
	return nil
}
