package cli

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages"
)

// maxSite is how many bytes of a site are packed.
const maxSite = 256 << 20

// sitePacker makes an archive of a site: the same for the same files.
type sitePacker struct {
	dir      string
	contents map[string][]byte // of files, in the place of what they have
	out      bytes.Buffer
	tar      *tar.Writer
}

// packSite makes an archive of a site's directory, without what is there of version control, with other contents of some of its files, and with the packages that
// only the cache has.
func packSite(dir string, contents map[string][]byte, cache string) ([]byte, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &diag.HintError{Message: dir + " is one file, and a server takes the whole directory of a site", Hint: "name the directory"}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p := &sitePacker{dir: dir, contents: contents}
	p.tar = tar.NewWriter(&p.out)
	err = p.addAll(root.FS(), ".")
	if err == nil {
		err = p.addPackages(root.FS(), cache)
	}
	return p.out.Bytes(), errors.Join(err, p.tar.Close())
}

// addAll adds files below a directory of the archive.
func (p *sitePacker) addAll(files fs.FS, below string) error {
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		to := path.Join(below, name)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (to == ".git" || to == ".hg" || to == ".jj"):
			return fs.SkipDir
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return &diag.HintError{Message: filepath.Join(p.dir, to) + " is neither a plain file nor a directory: a server takes no others", Hint: "put the file itself in its place"}
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, isGiven := p.contents[to]
		if !isGiven {
			data, err = fs.ReadFile(files, name)
		}
		if err != nil {
			return err
		}
		return p.add(to, sitefiles.IsExecutable(info.Mode()), data)
	})
}

func (p *sitePacker) add(name string, executable bool, data []byte) error {
	if p.out.Len()+len(data) > maxSite {
		return &diag.HintError{Message: fmt.Sprintf("%s has more than %d MiB", p.dir, maxSite>>20), Hint: "put large files elsewhere, and have hosts fetch them"}
	}
	err := p.tar.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "./"), Mode: int64(sitefiles.ModeOf(executable)), Size: int64(len(data)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = p.tar.Write(data)
	}
	return err
}

// addPackages adds the packages of the lock that are not in the site's directory: a server downloads none.
func (p *sitePacker) addPackages(site fs.FS, cache string) error {
	l, err := packages.Lock(site)
	if err != nil {
		return err
	}
	opener := &packages.Opener{Site: site, Cache: cache}
	for _, of := range l.Packages {
		opened, err := opener.Open(of.Source)
		if err != nil {
			return err
		}
		to := path.Join(packages.Vendor, opened.Name)
		if _, err := fs.Stat(site, to); err == nil {
			continue
		}
		if err := p.addAll(opened.Files, to); err != nil {
			return err
		}
	}
	return nil
}
