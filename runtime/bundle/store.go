package bundle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/runtime/journal"
)

// Store keeps files by their digests in a folder of the machine, for its owner
// alone: DIR/content/ab/SHA256, and in DIR/bundles what executions and sites need.
// Several processes may use it at once.
//
// A content is checked when it is written and whenever it is read, and not in between:
// to read all of them at each run would cost more than the run.
type Store struct {
	Dir string // the state folder

	sync func(fd int) error // for tests; nil: syncfs
}

// Folders below the state folder.
const (
	contentDir = "content"
	bundlesDir = "bundles"
)

// folder is a Store that is open. What it does goes through os.Root: no symbolic link
// leads out of it.
type folder struct {
	store *Store
	root  *os.Root
	dirs  map[string]*os.Root // of contents, by the beginnings of their digests
}

// open opens the store, and makes what is not there.
func (s *Store) open() (*folder, error) {
	if err := journal.MakeFolder(s.Dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	f := &folder{store: s, root: root, dirs: map[string]*os.Root{}}
	for _, dir := range []string{contentDir, bundlesDir} {
		if err := f.private(dir); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

// private makes a directory that only its owner may look into.
func (f *folder) private(dir string) error {
	err := f.root.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := f.root.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: path.Join(f.root.Name(), dir), Err: errors.New("it is not a directory")}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return f.root.Chmod(dir, 0o700)
	}
	return nil
}

func (f *folder) close() error {
	var errs []error
	for _, dir := range f.dirs {
		errs = append(errs, dir.Close())
	}
	return errors.Join(append(errs, f.root.Close())...)
}

// dir gives the directory that a content is in.
func (f *folder) dir(d digest) (*os.Root, error) {
	name := d.String()[:2]
	if dir := f.dirs[name]; dir != nil {
		return dir, nil
	}
	full := path.Join(contentDir, name)
	if err := f.private(full); err != nil {
		return nil, err
	}
	dir, err := f.root.OpenRoot(full)
	if err == nil {
		f.dirs[name] = dir
	}
	return dir, err
}

// put writes a content. What comes is checked before it has its name.
func (f *folder) put(d digest, size int64, in io.Reader) error {
	dir, err := f.dir(d)
	if err != nil {
		return err
	}
	return atomicfile.ReplaceIn(dir, d.String(), atomicfile.Options{}, func(out *os.File) error {
		source := &measuringReader{in: io.LimitReader(in, size), sum: sha256.New()}
		n, err := io.Copy(out, source)
		switch {
		case source.err != nil:
			err = damaged("%v", source.err)
		case err == nil && n != size:
			err = damaged("a file of it is cut short")
		case err == nil && digest(source.sum.Sum(nil)) != d:
			err = damaged("a file of it is not the one that is listed")
		}
		return err
	})
}

// replace puts data at a path in one step.
func (f *folder) replace(name string, data []byte) error {
	return atomicfile.ReplaceIn(f.root, name, atomicfile.Options{}, atomicfile.Data(data))
}

// sync makes all that was written durable, at once.
func (f *folder) sync() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	sync := f.store.sync
	if sync == nil {
		sync = unix.Syncfs
	}
	return errors.Join(sync(int(dir.Fd())), dir.Close())
}

var errNoFile = errors.New("it is not a regular file")

// openFile opens a regular file to read, and nothing that a symbolic link leads to.
// What is no file, as a pipe that nobody writes to, keeps nobody waiting.
func openFile(root *os.Root, name string) (*os.File, error) {
	there, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, there)) {
		err = &fs.PathError{Op: "open", Path: file.Name(), Err: errNoFile}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// content opens a content by its digest. It is checked while it is read: instead of
// its end there is an error where it is damaged, and then it is removed, so that the
// next bundle brings it again.
func (s *Store) content(f file) (io.ReadCloser, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	at := contentPath(f.SHA256)
	in, err := openFile(root, at)
	if err != nil {
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile)
		if err = errors.Join(err, root.Close()); gone {
			err = &DamagedError{Name: f.Name, Gone: true}
		}
		return nil, err
	}
	return &reader{File: in, root: root, at: at, want: f, sum: sha256.New()}, nil
}

func contentPath(d digest) string {
	name := d.String()
	return path.Join(contentDir, name[:2], name)
}

// DamagedError says that a file that the machine keeps is not what was sent.
type DamagedError struct {
	Name string // of the file in the site
	Gone bool   // it is not there any more
}

// Error names the file, and says what helps.
func (e *DamagedError) Error() string {
	what := "damaged"
	if e.Gone {
		what = "gone"
	}
	return fmt.Sprintf("what this machine has kept of %s is %s; apply again, which brings it once more", e.Name, what)
}

// reader reads a content.
type reader struct {
	*os.File
	root *os.Root
	at   string
	want file
	sum  hash.Hash
	size int64
}

// Read gives the next bytes.
func (r *reader) Read(data []byte) (int, error) {
	n, err := r.File.Read(data)
	r.sum.Write(data[:n])
	r.size += int64(n)
	if err == io.EOF && (r.size != r.want.Size || digest(r.sum.Sum(nil)) != r.want.SHA256) {
		return n, errors.Join(&DamagedError{Name: r.want.Name}, r.root.Remove(r.at))
	}
	return n, err
}

// WriteTo is not the file's, which nothing would check.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{r})
}

// Close closes the file.
func (r *reader) Close() error { return errors.Join(r.File.Close(), r.root.Close()) }

// measuringReader reads, and remembers what it read and what kept it from that.
type measuringReader struct {
	in  io.Reader
	sum hash.Hash
	err error
}

// Read gives the next bytes.
func (m *measuringReader) Read(data []byte) (int, error) {
	n, err := m.in.Read(data)
	m.sum.Write(data[:n])
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}
