package host

import (
	"context"
	"errors"
	"strings"
	"syscall"
)

// Watcher is told what a host is about to do. Its functions may be called from
// several goroutines.
type Watcher struct {
	// Change is called before anything changes what stands at a place, temporary
	// files apart. The change is made in the very directory that the place has, which
	// stays open until Change returns. It is not made if Change gives an error, but
	// that is given instead.
	Change func(at Place) error
	// Run is called before a program is started that may change the host.
	Run func()
}

// Watched gives a host that tells a watcher before it changes anything, by whatever way:
// by a path, in an open directory, without following links, or in a run.
func Watched(h Host, w Watcher) Host { return &watched{Host: h, watcher: w} }

type watched struct {
	Host
	watcher Watcher
}

// isTempName reports whether a name has the form that TempName gives, in whatever run.
func isTempName(name string) bool {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	return ok && isRandom(rest[strings.LastIndexByte(rest, '-')+1:])
}

// tell tells of a place that is about to be changed.
func (w Watcher) tell(at Place) error {
	if isTempName(at.Name) {
		return nil
	}
	return w.Change(at)
}

// change opens the place of a path, tells of it, and lets it be changed there.
func (w *watched) change(op, path string, errRoot error, change func(at Place) error) error {
	clean, err := checkWritable(op, path, errRoot)
	if err != nil {
		return err
	}
	at, err := OpenPlace(w.Host, clean)
	if err != nil {
		return pathError(op, path, err)
	}
	at.Path = path
	err = w.watcher.tell(at)
	if err == nil {
		err = pathError(op, path, change(at))
	}
	return errors.Join(err, at.Dir.Close())
}

// WriteFile is Writer.WriteFile.
func (w *watched) WriteFile(ctx context.Context, path string, c Content, m Meta) error {
	return w.change("write", path, syscall.EISDIR, func(at Place) error { return at.Dir.WriteFile(ctx, at.Name, c, m, false) })
}

// Mkdir is Writer.Mkdir.
func (w *watched) Mkdir(path string, m Meta) error {
	return w.change("mkdir", path, syscall.EEXIST, func(at Place) error { return at.Dir.Mkdir(at.Name, m) })
}

// Symlink is Writer.Symlink.
func (w *watched) Symlink(target, path string, m Meta) error {
	return w.change("symlink", path, syscall.EISDIR, func(at Place) error { return at.Dir.Symlink(target, at.Name, m) })
}

// SetMeta is Writer.SetMeta.
func (w *watched) SetMeta(path string, m Meta) error {
	return w.change("chown", path, nil, func(at Place) error { return at.Dir.SetMeta(at.Name, m) })
}

// Remove is Writer.Remove.
func (w *watched) Remove(path string) error {
	return w.change("remove", path, syscall.EBUSY, func(at Place) error { return at.Dir.Remove(at.Name) })
}

// Run is Processes.Run.
func (w *watched) Run(ctx context.Context, c Command) (Result, error) {
	if !c.Check {
		w.watcher.Run()
	}
	return w.Host.Run(ctx, c)
}

// OpenDir is DirOpener.OpenDir.
func (w *watched) OpenDir(path string) (Dir, error) {
	d, err := w.Host.OpenDir(path)
	if err != nil {
		return nil, err
	}
	for strings.HasSuffix(path, "/.") { // as OpenPlace has it
		path = path[:max(1, len(path)-2)]
	}
	return &watchedDir{d, w.watcher, path}, nil
}

// NoFollow is NoFollower.NoFollow.
func (w *watched) NoFollow() Host { return &watched{w.Host.NoFollow(), w.watcher} }

// ForRun is Runner.ForRun.
func (w *watched) ForRun(id string) Host { return &watched{w.Host.ForRun(id), w.watcher} }

// watchedDir is an open directory of a watched host.
type watchedDir struct {
	Dir
	watcher Watcher
	path    string
}

func (d *watchedDir) tell(name string) error {
	at := Place{Dir: d.Dir, Name: name, Path: d.path}
	if name != "." {
		at.Path = joinPath(d.path, name)
	}
	return d.watcher.tell(at)
}

// Enter is DirReader.Enter.
func (d *watchedDir) Enter(name string) (Dir, error) {
	below, err := d.Dir.Enter(name)
	if err != nil {
		return nil, err
	}
	path := d.path
	if name != "." {
		path = joinPath(d.path, name)
	}
	return &watchedDir{below, d.watcher, path}, nil
}

// WriteFile is DirWriter.WriteFile.
func (d *watchedDir) WriteFile(ctx context.Context, name string, c Content, m Meta, fresh bool) error {
	if err := d.tell(name); err != nil {
		return err
	}
	return d.Dir.WriteFile(ctx, name, c, m, fresh)
}

// Mkdir is DirWriter.Mkdir.
func (d *watchedDir) Mkdir(name string, m Meta) error {
	if err := d.tell(name); err != nil {
		return err
	}
	return d.Dir.Mkdir(name, m)
}

// Symlink is DirWriter.Symlink.
func (d *watchedDir) Symlink(target, name string, m Meta) error {
	if err := d.tell(name); err != nil {
		return err
	}
	return d.Dir.Symlink(target, name, m)
}

// SetMeta is DirWriter.SetMeta.
func (d *watchedDir) SetMeta(name string, m Meta) error {
	if err := d.tell(name); err != nil {
		return err
	}
	return d.Dir.SetMeta(name, m)
}

// Remove is DirWriter.Remove.
func (d *watchedDir) Remove(name string) error {
	if err := d.tell(name); err != nil {
		return err
	}
	return d.Dir.Remove(name)
}
