package become

import (
	"context"
	"io"

	"github.com/tenetcm/tenet/runtime/host"
)

// directory is a directory that the other process holds open.
type directory struct {
	*machine
	number uint64
}

// OpenDir is host.DirOpener.OpenDir.
func (m *machine) OpenDir(path string) (host.Dir, error) {
	r, _, err := m.ask(context.Background(), call{Op: "open_dir", Path: text(path)})
	if err != nil {
		return nil, err
	}
	return &directory{m, r.Open}, nil
}

func (d *directory) newCall(op, name string) call {
	return call{Op: op, Dir: d.number, Path: text(name)}
}

func (d *directory) do(c call) (*reply, error) {
	r, _, err := d.ask(context.Background(), c)
	return r, err
}

// Close is host.Dir.Close.
func (d *directory) Close() error {
	_, err := d.do(d.newCall("dir_close", ""))
	return err
}

// Entries is host.DirReader.Entries.
func (d *directory) Entries() ([]host.Entry, error) {
	r, err := d.do(d.newCall("dir_entries", ""))
	return r.list(), err
}

// Lstat is host.DirReader.Lstat.
func (d *directory) Lstat(name string) (host.Info, error) {
	r, err := d.do(d.newCall("dir_lstat", name))
	if err != nil {
		return host.Info{}, err
	}
	return r.Info.host(), nil
}

// ReadLink is host.DirReader.ReadLink.
func (d *directory) ReadLink(name string) (string, error) {
	r, err := d.do(d.newCall("dir_readlink", name))
	return string(r.Text), err
}

// Open is host.DirReader.Open.
func (d *directory) Open(name string) (io.ReadCloser, host.Info, error) {
	r, data, err := d.ask(context.Background(), d.newCall("dir_open", name))
	f, err := d.newFile(r, data, err)
	return f, r.Info.host(), err
}

// Enter is host.DirReader.Enter.
func (d *directory) Enter(name string) (host.Dir, error) {
	r, err := d.do(d.newCall("dir_enter", name))
	if err != nil {
		return nil, err
	}
	return &directory{d.machine, r.Open}, nil
}

// WriteFile is host.DirWriter.WriteFile.
func (d *directory) WriteFile(ctx context.Context, name string, c host.Content, meta host.Meta, fresh bool) error {
	to := d.newCall("dir_write", name)
	to.Meta, to.Fresh = meta, fresh
	call, options := writeCall(to, c)
	_, _, err := d.callWith(ctx, call, options)
	return err
}

// Mkdir is host.DirWriter.Mkdir.
func (d *directory) Mkdir(name string, meta host.Meta) error {
	c := d.newCall("dir_mkdir", name)
	c.Meta = meta
	_, err := d.do(c)
	return err
}

// Symlink is host.DirWriter.Symlink.
func (d *directory) Symlink(target, name string, meta host.Meta) error {
	c := d.newCall("dir_symlink", name)
	c.Target, c.Meta = text(target), meta
	_, err := d.do(c)
	return err
}

// SetMeta is host.DirWriter.SetMeta.
func (d *directory) SetMeta(name string, meta host.Meta) error {
	c := d.newCall("dir_set_meta", name)
	c.Meta = meta
	_, err := d.do(c)
	return err
}

// Remove is host.DirWriter.Remove.
func (d *directory) Remove(name string) error {
	_, err := d.do(d.newCall("dir_remove", name))
	return err
}
