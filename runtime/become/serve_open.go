package become

import (
	"context"
	"errors"
	"io"

	"github.com/tenetcm/tenet/runtime/host"
)

// open carries out what is about open files, and opens them.
func (r *request) open(_ context.Context, h host.Host, out *reply) ([]byte, error) {
	path := string(r.call.Path)
	switch r.call.Op {
	case "open":
		f, err := h.Open(path)
		if err != nil {
			return nil, err
		}
		return r.firstPiece(f, out)
	case "open_still":
		f, i, err := host.OpenNoFollow(h, path)
		if err != nil {
			return nil, err
		}
		out.Info = infoOf(i)
		return r.firstPiece(f, out)
	case "read":
		r.mu.Lock()
		f := r.files[r.call.File]
		r.mu.Unlock()
		if f == nil {
			return nil, errors.New("the file is not open")
		}
		return r.read(f, pieceSize, out)
	case "close":
		return nil, r.closeFile(r.call.File)
	}
	return nil, errUnknownCall
}

// firstSize is how much of a file comes at once when it is opened.
const firstSize = 32 << 10

// firstPiece reads the first piece of a file: most have no other.
func (r *request) firstPiece(f io.ReadCloser, out *reply) ([]byte, error) {
	out.Open = r.keepFile(f)
	r.call.File = out.Open
	data, err := r.read(f, firstSize, out)
	if err != nil {
		return nil, errors.Join(err, r.closeFile(out.Open))
	}
	return data, nil
}

// read reads a piece. A file that has ended is closed.
func (r *request) read(f io.Reader, size int, out *reply) ([]byte, error) {
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		out.End = true
		err = r.closeFile(r.call.File)
	}
	return data[:n], err
}

func (s *server) closeFile(number uint64) error {
	s.mu.Lock()
	f := s.files[number]
	delete(s.files, number)
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.Close()
}

// directory carries out what is about open directories, and opens them.
func (r *request) directory(ctx context.Context, h host.Host, out *reply) ([]byte, error) {
	name := string(r.call.Path)
	if r.call.Op == "open_dir" {
		d, err := host.OpenDir(h, name)
		if err == nil {
			out.Open = r.keepDir(d)
		}
		return nil, err
	}
	r.mu.Lock()
	d := r.dirs[r.call.Dir]
	if r.call.Op == "dir_close" {
		delete(r.dirs, r.call.Dir)
	}
	r.mu.Unlock()
	switch {
	case d == nil && r.call.Dir == 0:
		return nil, errUnknownCall
	case d == nil:
		return nil, errors.New("the directory is not open")
	}
	switch r.call.Op {
	case "dir_close":
		return nil, d.Close()
	case "dir_entries":
		list, err := d.Entries()
		out.entries(list)
		return nil, err
	case "dir_lstat":
		i, err := d.Lstat(name)
		out.Info = infoOf(i)
		return nil, err
	case "dir_readlink":
		target, err := d.ReadLink(name)
		out.Text = text(target)
		return nil, err
	case "dir_open":
		f, i, err := d.Open(name)
		out.Info = infoOf(i)
		if err != nil {
			return nil, err
		}
		return r.firstPiece(f, out)
	case "dir_enter":
		below, err := d.Enter(name)
		if err == nil {
			out.Open = r.keepDir(below)
		}
		return nil, err
	}
	return nil, r.directoryWrite(ctx, d, name)
}

func (r *request) directoryWrite(ctx context.Context, d host.Dir, name string) error {
	switch r.call.Op {
	case "dir_write":
		return d.WriteFile(ctx, name, r.content(ctx), r.call.Meta, r.call.Fresh)
	case "dir_mkdir":
		return d.Mkdir(name, r.call.Meta)
	case "dir_symlink":
		return d.Symlink(string(r.call.Target), name, r.call.Meta)
	case "dir_set_meta":
		return d.SetMeta(name, r.call.Meta)
	case "dir_remove":
		return d.Remove(name)
	}
	return errUnknownCall
}

// machine carries out what is about services and network devices.
func (r *request) machine(ctx context.Context, h host.Host, out *reply) ([]byte, error) {
	switch r.call.Op {
	case "links", "link_add", "link_change", "link_delete":
		return nil, r.links(ctx, h, out)
	case "init", "services", "service", "service_do", "init_refresh":
	default:
		return nil, errUnknownCall
	}
	init, err := host.InitOf(ctx, h, r.call.User)
	if err != nil {
		return nil, err
	}
	switch r.call.Op {
	case "init":
		out.Text = text(init.System())
	case "services":
		out.Services, err = init.Services(ctx)
	case "service":
		var one host.Service
		one, err = init.Service(ctx, string(r.call.Path))
		out.Services = []host.Service{one}
	case "service_do":
		err = init.Do(ctx, r.call.Verb, string(r.call.Path))
	case "init_refresh":
		err = init.Refresh(ctx)
	}
	return nil, err
}

func (r *request) links(ctx context.Context, h host.Host, out *reply) error {
	links, err := host.LinksOf(ctx, h)
	if err != nil {
		return err
	}
	switch r.call.Op {
	case "links":
		out.Links, err = links.List(ctx)
	case "link_add":
		err = links.Add(ctx, r.call.Links[0])
	case "link_change":
		err = links.Change(ctx, r.call.Links[0], r.call.Links[1])
	case "link_delete":
		err = links.Delete(ctx, string(r.call.Path))
	}
	return err
}
