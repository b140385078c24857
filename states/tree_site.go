package states

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenetcm/tenet/runtime/host"
)

// ReadTree lists a directory of a site with all that is below it, for NewTree, in
// the order of the names. Every file is read. Symbolic links are listed, never
// followed. What cannot be copied (devices, sockets, names that are no UTF-8) is
// an error.
func ReadTree(site fs.FS, dir string) ([]TreeEntry, error) {
	if known, ok := site.(TreeFS); ok {
		return known.Tree(dir)
	}
	return readTree(context.Background(), siteReader{site}, dir)
}

// OpenFile opens a regular file of a site.
func OpenFile(site fs.FS, name string) (io.ReadCloser, error) {
	if known, ok := site.(TreeFS); ok {
		return known.OpenFile(name)
	}
	return site.Open(name)
}

func readTree(ctx context.Context, r host.Reader, dir string) ([]TreeEntry, error) {
	d, err := host.OpenDir(r, path.Join("/", dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer d.Close()
	entries, err := host.ReadTree(ctx, d, host.TreeOptions{Mounts: true})
	for i := range entries {
		e := &entries[i]
		e.UID, e.GID = 0, 0
		switch {
		case !utf8.ValidString(e.Name):
			return nil, fmt.Errorf("the name %q in %s is no UTF-8", e.Name, dir)
		case !utf8.ValidString(e.Target):
			return nil, fmt.Errorf("the target of the symbolic link %q in %s is no UTF-8", e.Name, dir)
		case e.Kind == host.Other:
			return nil, fmt.Errorf("%s is a device, a socket or a pipe, which cannot be copied", path.Join(dir, e.Name))
		}
	}
	return entries, err
}

// treeDigest is the SHA-256 of what TreeText gives.
func treeDigest(entries []TreeEntry) string {
	sum, line := sha256.New(), []byte(nil)
	for i := range entries {
		line = appendEntry(line[:0], &entries[i])
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// WithTrees gives a site's files that remember the entries of the directories for
// which they were asked. Where the site is a directory of this machine, r reads it
// as "/", which is faster; nil: the files themselves are read. All reading ends with
// ctx.
func WithTrees(ctx context.Context, site fs.FS, r host.Reader) fs.FS {
	if r == nil {
		r = siteReader{site}
	}
	return &treesFS{FS: site, ctx: ctx, reader: r, known: map[string][]TreeEntry{}}
}

type treesFS struct {
	fs.FS
	ctx    context.Context
	reader host.Reader
	mu     sync.Mutex
	known  map[string][]TreeEntry
}

// Tree is TreeFS.Tree.
func (f *treesFS) Tree(dir string) ([]TreeEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if entries, ok := f.known[dir]; ok {
		return entries, nil
	}
	entries, err := readTree(f.ctx, f.reader, dir)
	if err == nil {
		f.known[dir] = entries
	}
	return entries, err
}

// OpenFile is TreeFS.OpenFile.
func (f *treesFS) OpenFile(name string) (io.ReadCloser, error) {
	file, err := f.reader.Open(path.Join("/", name))
	if err != nil {
		return nil, err
	}
	return fileWithin(f.ctx, file), nil
}

// Open is fs.FS.
func (f *treesFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return siteFile{file, host.ReaderWithin(f.ctx, file)}, nil
}

// siteFile is a file that is read no longer than somebody waits for it.
type siteFile struct {
	fs.File
	within io.Reader
}

// Read is fs.File.
func (f siteFile) Read(p []byte) (int, error) { return f.within.Read(p) }

// ReadDir is fs.ReadDirFile.
func (f siteFile) ReadDir(n int) ([]fs.DirEntry, error) {
	d, ok := f.File.(fs.ReadDirFile)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return d.ReadDir(n)
}

// fileWithin is a file that is read no longer than ctx lasts; also in the middle, where
// that can be done.
func fileWithin(ctx context.Context, f io.ReadCloser) io.ReadCloser {
	within := struct {
		io.Reader
		io.Closer
	}{host.ReaderWithin(ctx, f), f}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return within
	}
	return struct {
		io.Reader
		io.Closer
		io.ReaderAt
	}{within.Reader, f, at}
}

// Lstat is fs.ReadLinkFS.
func (f *treesFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

// ReadLink is fs.ReadLinkFS.
func (f *treesFS) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// Stat is fs.StatFS.
func (f *treesFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// ReadDir is fs.ReadDirFS.
func (f *treesFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }

// ReadFile is fs.ReadFileFS.
func (f *treesFS) ReadFile(name string) ([]byte, error) { return fs.ReadFile(f.FS, name) }

// siteReader reads any files as a host's.
type siteReader struct{ site fs.FS }

func (r siteReader) name(p string) string {
	if p == "/" {
		return "."
	}
	return strings.TrimPrefix(p, "/")
}

func kindOfMode(mode fs.FileMode) host.Kind {
	switch mode.Type() {
	case 0:
		return host.Regular
	case fs.ModeDir:
		return host.Directory
	case fs.ModeSymlink:
		return host.Symlink
	}
	return host.Other
}

// Lstat is host.Reader's.
func (r siteReader) Lstat(p string) (host.Info, error) {
	info, err := fs.Lstat(r.site, r.name(p))
	if err != nil {
		return host.Info{}, err
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return host.Info{Kind: kindOfMode(info.Mode()), Mode: info.Mode() & bits, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// ReadDir is host.Reader's.
func (r siteReader) ReadDir(p string) ([]host.Entry, error) {
	list, err := fs.ReadDir(r.site, r.name(p))
	out := make([]host.Entry, len(list))
	for i, e := range list {
		out[i] = host.Entry{Name: e.Name(), Kind: kindOfMode(e.Type())}
	}
	return out, err
}

// ReadLink is host.Reader's.
func (r siteReader) ReadLink(p string) (string, error) { return fs.ReadLink(r.site, r.name(p)) }

// Open is host.Reader's.
func (r siteReader) Open(p string) (io.ReadCloser, error) { return r.site.Open(r.name(p)) }
