package host

import "io"

// OpenDir is DirOpener.OpenDir. While nothing is written here, the base is read
// directly.
func (s *Shadow) OpenDir(path string) (Dir, error) { return s.openDir(s, path) }

// OpenDir is DirOpener.OpenDir.
func (v doubtfulView) OpenDir(path string) (Dir, error) { return v.openDir(v, path) }

func (s *Shadow) openDir(view Host, path string) (Dir, error) {
	s.trace.lookBelow(path)
	if s.touched.Load() {
		d, err := DirByPath(view, path)
		if below, ok := d.(*pathDir); ok {
			below.isShadow = true
		}
		return d, err
	}
	base, err := s.host.OpenDir(path)
	if err != nil {
		s.trace.look(path, err)
		return nil, err
	}
	straight := view.NoFollow()
	return &shadowDir{pathDir: pathDir{r: straight, w: straight, path: Resolve(s, path), isShadow: true}, shadow: s, base: base}, nil
}

// shadowDir reads the base while the shadow is untouched.
type shadowDir struct {
	pathDir
	shadow *Shadow
	base   Dir
}

// reader is what is read now.
func (d *shadowDir) reader() DirReader {
	if d.shadow.untouched() {
		return d.base
	}
	return &d.pathDir
}

// Entries is DirReader.Entries.
func (d *shadowDir) Entries() ([]Entry, error) { return d.reader().Entries() }

// Lstat is DirReader.Lstat.
func (d *shadowDir) Lstat(name string) (Info, error) { return d.reader().Lstat(name) }

// ReadLink is DirReader.ReadLink.
func (d *shadowDir) ReadLink(name string) (string, error) { return d.reader().ReadLink(name) }

// Open is DirReader.Open.
func (d *shadowDir) Open(name string) (io.ReadCloser, Info, error) { return d.reader().Open(name) }

// Enter is DirReader.Enter.
func (d *shadowDir) Enter(name string) (Dir, error) {
	if !d.shadow.untouched() {
		return d.pathDir.Enter(name)
	}
	base, err := d.base.Enter(name)
	if err != nil {
		return nil, err
	}
	path := d.path
	if name != "." {
		path = joinPath(d.path, name)
	}
	return &shadowDir{pathDir: pathDir{r: d.r, w: d.w, path: path, isShadow: true}, shadow: d.shadow, base: base}, nil
}

// Close is Dir.Close.
func (d *shadowDir) Close() error { return d.base.Close() }
