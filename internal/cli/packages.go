package cli

import (
	"io/fs"
	"path/filepath"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/packages"
)

// openPackages opens the packages of a site as its lock says, from its directory or from the cache of this user: nothing is downloaded.
func (s *client) openPackages(site fs.FS) func(source string) (*lang.Package, error) {
	if s.packageOpener != nil {
		return s.packageOpener(site)
	}
	return (&packages.Opener{Site: site, Cache: s.packageCache()}).Open
}

// packageCache is where this user's packages are; "" where nobody says so.
func (s *client) packageCache() string {
	if cache := s.cacheDir(); cache != "" {
		return filepath.Join(cache, "packages")
	}
	return ""
}
