package host

import (
	"context"
	"io"
	"path"
	"strings"
)

// Watcher is told what a host is about to do. Its functions may be called from
// several goroutines.
type Watcher struct {
	// Path is called before anything changes what stands at a path, temporary
	// files apart. The change is not made if it gives an error, but that is given
	// instead.
	Path func(path string) error
	// Run is called before a program is started that may change the host.
	Run func()
}

// Watched gives a host that tells a watcher before it changes anything.
func Watched(h Host, w Watcher) Host { return &watched{Host: h, watcher: w} }

type watched struct {
	Host
	watcher Watcher
}

func (w *watched) tell(name string) error {
	if ours(path.Base(name)) {
		return nil
	}
	return w.watcher.Path(name)
}

// ours reports whether a name has the form that TempName gives, in whatever run.
func ours(name string) bool {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	return ok && isRandom(rest[strings.LastIndexByte(rest, '-')+1:])
}

// WriteFile is Writer.WriteFile.
func (w *watched) WriteFile(ctx context.Context, path string, c Content, m Meta) error {
	if err := w.tell(path); err != nil {
		return err
	}
	return w.Host.WriteFile(ctx, path, c, m)
}

// Mkdir is Writer.Mkdir.
func (w *watched) Mkdir(path string, m Meta) error {
	if err := w.tell(path); err != nil {
		return err
	}
	return w.Host.Mkdir(path, m)
}

// Symlink is Writer.Symlink.
func (w *watched) Symlink(target, path string, m Meta) error {
	if err := w.tell(path); err != nil {
		return err
	}
	return w.Host.Symlink(target, path, m)
}

// SetMeta is Writer.SetMeta.
func (w *watched) SetMeta(path string, m Meta) error {
	if err := w.tell(path); err != nil {
		return err
	}
	return w.Host.SetMeta(path, m)
}

// Remove is Writer.Remove.
func (w *watched) Remove(path string) error {
	if err := w.tell(path); err != nil {
		return err
	}
	return w.Host.Remove(path)
}

// Run is Processes.Run.
func (w *watched) Run(ctx context.Context, c Command) (Result, error) {
	w.watcher.Run()
	return w.Host.Run(ctx, c)
}

// TempName is Namer.TempName.
func (w *watched) TempName() string { return TempName(w.Host) }

// Actor is that of the host; root of one that does not know.
func (w *watched) Actor() (uid, gid int) {
	if a, ok := w.Host.(Actor); ok {
		return a.Actor()
	}
	return 0, 0
}

// MayWrite is Permissions.MayWrite; a host that does not know says yes.
func (w *watched) MayWrite(path string) bool {
	p, ok := w.Host.(Permissions)
	return !ok || p.MayWrite(path)
}

// Sync is Syncer.Sync.
func (w *watched) Sync() error {
	if s, ok := w.Host.(Syncer); ok {
		return s.Sync()
	}
	return nil
}

func (w *watched) opener(path string) (func() (io.ReadCloser, error), error) {
	if o, ok := w.Host.(opener); ok {
		return o.opener(path)
	}
	return func() (io.ReadCloser, error) { return w.Host.Open(path) }, nil
}
