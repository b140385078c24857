package runtime_test

import (
	"context"
	"io"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
)

// meddled is a host on which somebody else acts before each operation: by a path or in an
// open directory, whichever way it was come by.
type meddled struct {
	host.Host
	meddle *meddling
}

// meddling counts operations, and acts before some of them.
type meddling struct {
	mu   sync.Mutex
	done int
	act  func(operation int)
}

func (m *meddling) step() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.act(m.done)
}

func (h *meddled) NoFollow() host.Host               { return &meddled{h.Host.NoFollow(), h.meddle} }
func (h *meddled) ForRun(id string) host.Host        { return &meddled{h.Host.ForRun(id), h.meddle} }
func (h *meddled) Remove(path string) error          { h.meddle.step(); return h.Host.Remove(path) }
func (h *meddled) Actor() (int, int)                 { return h.Host.Actor() }
func (h *meddled) ReadLink(p string) (string, error) { h.meddle.step(); return h.Host.ReadLink(p) }

// Query answers as true and false do, which no tree of files has.
func (h *meddled) Query(_ context.Context, q host.Query) (host.Result, error) {
	h.meddle.step()
	if q.Argv[0] == "false" {
		return host.Result{ExitCode: 1}, nil
	}
	return host.Result{}, nil
}

func (h *meddled) Lstat(path string) (host.Info, error) {
	h.meddle.step()
	return h.Host.Lstat(path)
}

func (h *meddled) ReadDir(path string) ([]host.Entry, error) {
	h.meddle.step()
	return h.Host.ReadDir(path)
}

func (h *meddled) Open(path string) (io.ReadCloser, error) {
	h.meddle.step()
	return h.Host.Open(path)
}

func (h *meddled) OpenNoFollow(path string) (io.ReadCloser, host.Info, error) {
	h.meddle.step()
	return h.Host.OpenNoFollow(path)
}

func (h *meddled) WriteFile(ctx context.Context, path string, c host.Content, m host.Meta) error {
	h.meddle.step()
	return h.Host.WriteFile(ctx, path, c, m)
}

func (h *meddled) Mkdir(path string, m host.Meta) error {
	h.meddle.step()
	return h.Host.Mkdir(path, m)
}

func (h *meddled) Symlink(target, path string, m host.Meta) error {
	h.meddle.step()
	return h.Host.Symlink(target, path, m)
}

func (h *meddled) SetMeta(path string, m host.Meta) error {
	h.meddle.step()
	return h.Host.SetMeta(path, m)
}

func (h *meddled) OpenDir(path string) (host.Dir, error) {
	h.meddle.step()
	d, err := h.Host.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &meddledDir{d, h.meddle}, nil
}

type meddledDir struct {
	host.Dir
	meddle *meddling
}

func (d *meddledDir) Entries() ([]host.Entry, error) { d.meddle.step(); return d.Dir.Entries() }
func (d *meddledDir) Remove(name string) error       { d.meddle.step(); return d.Dir.Remove(name) }

func (d *meddledDir) Lstat(name string) (host.Info, error) {
	d.meddle.step()
	return d.Dir.Lstat(name)
}

func (d *meddledDir) Open(name string) (io.ReadCloser, host.Info, error) {
	d.meddle.step()
	return d.Dir.Open(name)
}

func (d *meddledDir) Enter(name string) (host.Dir, error) {
	d.meddle.step()
	below, err := d.Dir.Enter(name)
	if err != nil {
		return nil, err
	}
	return &meddledDir{below, d.meddle}, nil
}

func (d *meddledDir) WriteFile(ctx context.Context, name string, c host.Content, m host.Meta, fresh bool) error {
	d.meddle.step()
	return d.Dir.WriteFile(ctx, name, c, m, fresh)
}

func (d *meddledDir) Mkdir(name string, m host.Meta) error {
	d.meddle.step()
	return d.Dir.Mkdir(name, m)
}

func (d *meddledDir) Symlink(target, name string, m host.Meta) error {
	d.meddle.step()
	return d.Dir.Symlink(target, name, m)
}

func (d *meddledDir) SetMeta(name string, m host.Meta) error {
	d.meddle.step()
	return d.Dir.SetMeta(name, m)
}
