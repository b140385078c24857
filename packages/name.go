// Package packages gives a site the packages that it uses: as tenet.lock says, from the directory vendor of the site or from a cache. It
// downloads nothing; package get does.
package packages

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Vendor is the directory of a site in which packages may lie, each at its Name.
const Vendor = "vendor"

// Name gives the path at which the package of a source lies in vendor and in the cache. No package has a path in another one's: @ stands in the last
// element alone, before the version.
//
//	oci://registry.example/acme/nginx:1.4                        oci/registry.example/acme/nginx@1.4
//	git::https://example.org/net.git//components/vlan?ref=v1.4   git/https/example.org/net.git@v1.4+components%2Fvlan
func Name(source string) (string, error) {
	place, version, dir := "", "", ""
	if rest, ok := strings.CutPrefix(source, "oci://"); ok {
		if place, version = cutVersion(rest); version == "" {
			place = ""
		} else {
			place = "oci/" + place
		}
	} else if rest, ok := strings.CutPrefix(source, "git::"); ok {
		place, version, dir = cutGit(rest)
	}
	steps := strings.Split(place, "/")
	for i := range steps {
		steps[i] = escape(steps[i])
	}
	last := &steps[len(steps)-1]
	if *last += "@" + escape(version); dir != "" {
		*last += "+" + escape(dir)
	}
	name := strings.Join(steps, "/")
	if place == "" || strings.HasPrefix(*last, "@") || !fs.ValidPath(name) || len(name) > 500 {
		return "", &diag.HintError{Message: fmt.Sprintf("%q is no source of a package", source), Hint: `write "oci://REGISTRY/REPOSITORY:TAG", or "git::https://…//DIR?ref=TAG"`}
	}
	return name, nil
}

// cutVersion cuts a tag or a digest from the end of a reference. There is none, if one is not well-formed.
func cutVersion(reference string) (place, version string) {
	if place, version, ok := strings.Cut(reference, "@"); ok && strings.Contains(version, ":") {
		return place, version
	} else if i := strings.LastIndex(reference, ":"); i > strings.LastIndex(reference, "/") && !ok {
		return reference[:i], reference[i+1:]
	}
	return "", ""
}

// cutGit divides the address of a repository, which may have no version: then it is what its HEAD is. There is no place, if it is not well-formed.
func cutGit(address string) (place, version, dir string) {
	address, version, versioned := strings.Cut(address, "?ref=")
	scheme, at, _ := strings.Cut(address, "://")
	at, dir, inner := strings.Cut(at, "//")
	path, isFile := strings.CutPrefix(at, "/")
	isKnown := scheme == "file" && isFile || (scheme == "https" || scheme == "http" || scheme == "ssh") && !isFile
	if !isKnown || versioned && version == "" || inner && (!fs.ValidPath(dir) || dir == ".") || strings.Contains(address, "?") {
		return "", "", ""
	}
	return "git/" + scheme + "/" + path, version, dir
}

// escape leaves what file systems, people and this form can do with.
func escape(s string) string {
	return strings.NewReplacer("+", "%2B", "@", "%40", ":", "%3A").Replace(url.PathEscape(s))
}
