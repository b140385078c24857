package get

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/lock"
)

// kinds are the folders of vendor that hold packages.
func kinds() []string { return []string{"oci", "git"} }

// draftPrefix begins the names of packages that are not whole yet.
const draftPrefix = ".draft-"

// IsVendored reports whether packages lie in the directory of a site.
func IsVendored(site fs.FS) bool {
	for _, kind := range kinds() {
		if info, err := fs.Stat(site, path.Join(packages.Vendor, kind)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// Vendor puts the packages of a lock, all of which were opened, into the directory of a site, and removes others from there. Each is there whole or not at
// all. No link is followed.
func (g *Getter) Vendor(site *os.Root, l *lock.Lock) error {
	for _, kind := range append(kinds(), "") {
		dir := path.Join(packages.Vendor, kind)
		if info, err := site.Lstat(dir); err == nil && !info.IsDir() {
			return &diag.HintError{Message: dir + " is no directory", Hint: "move it out of the way: packages come there"}
		}
	}
	wanted := map[string]bool{}
	for _, p := range l.Packages {
		o := g.opened[p.Source]
		to := path.Join(packages.Vendor, o.name)
		wanted[to] = true
		if there, err := fs.Sub(site.FS(), to); err == nil {
			if digest, err := archive.Digest(there); err == nil && digest == p.Digest {
				continue
			}
		}
		if err := replace(site, to, o.files); err != nil {
			return err
		}
	}
	former, err := packages.Lock(site.FS())
	if err != nil {
		return err
	}
	for _, p := range former.Packages { // and nothing else that lies there
		name, err := packages.Name(p.Source)
		if to := path.Join(packages.Vendor, name); err == nil && !wanted[to] {
			err = errors.Join(site.RemoveAll(to), removeEmpty(site, path.Dir(to)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes a directory of vendor, and those around it, in which nothing is.
func removeEmpty(site *os.Root, dir string) error {
	for ; dir != packages.Vendor && dir != "."; dir = path.Dir(dir) {
		entries, err := fs.ReadDir(site.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || len(entries) > 0 {
			return err
		}
		if err := site.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// replace puts files in the place of a folder.
func replace(site *os.Root, to string, files fs.FS) error {
	draft := path.Join(path.Dir(to), draftPrefix+rand.Text())
	err := sitefiles.MakeDirectories(site, draft)
	if err == nil {
		err = copyFiles(site, draft, files)
	}
	if err == nil {
		err = site.RemoveAll(to)
	}
	if err == nil {
		err = site.Rename(draft, to)
	}
	if err != nil {
		err = errors.Join(err, site.RemoveAll(draft))
	}
	return err
}

func copyFiles(site *os.Root, to string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		in, err := files.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		return sitefiles.Write(site, path.Join(to, name), sitefiles.IsExecutable(info.Mode()), in)
	})
}
