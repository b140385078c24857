package cli

import (
	"io/fs"
	"os"
	"path"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages"
)

// packSite makes an archive of a site's directory, with other contents of some of its files, and with the packages that only the cache has: a server downloads none.
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
	p := &sitefiles.Packer{Name: dir, Contents: contents}
	if err := p.Add(root.FS(), "."); err != nil {
		return nil, err
	}
	l, err := packages.Lock(root.FS())
	if err != nil {
		return nil, err
	}
	opener := &packages.Opener{Site: root.FS(), Cache: cache}
	for _, of := range l.Packages {
		opened, err := opener.Open(of.Source)
		if err != nil {
			return nil, err
		}
		to := path.Join(packages.Vendor, opened.Name)
		if _, err := fs.Stat(root.FS(), to); err == nil {
			continue
		}
		if err := p.Add(opened.Files, to); err != nil {
			return nil, err
		}
	}
	return p.Bytes()
}
