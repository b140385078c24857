package lang

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Package is what a source stands for that lies elsewhere, in a registry or in a repository of Git.
type Package struct {
	Name   string // its path in the directory of all packages, none of which is in another one's
	Files  fs.FS
	Signer string // whose signature of it was verified; none: nobody's
}

// IsPackage reports whether a source of a component or a collection is a package.
func IsPackage(source string) bool {
	return strings.HasPrefix(source, "oci://") || strings.HasPrefix(source, "git::")
}

// openedPackage is a package that a site uses.
type openedPackage struct {
	Package
	source string
}

// packageOf gives the name of the directory of a package. Its error has a hint.
func (d *directories) packageOf(source string) (string, error) {
	d.mu.Lock()
	for name, p := range d.packages {
		if p.source == source {
			d.mu.Unlock()
			return name, d.unsigned(p)
		}
	}
	d.mu.Unlock()
	if d.options.OpenPackage == nil {
		return "", &diag.HintError{Message: fmt.Sprintf("%q is a package, and packages cannot be used here", source), Hint: "name a directory of the site"}
	}
	p, err := d.options.OpenPackage(source)
	if err != nil {
		return "", err
	}
	name := path.Join(packagesName, p.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	opened := &openedPackage{*p, source}
	d.packages[name] = opened
	return name, d.unsigned(opened)
}

// packageAround gives the name of the package in which a directory or a file lies; empty: in none.
func (d *directories) packageAround(name string) string {
	if !strings.HasPrefix(name, packagesName+"/") {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; name != packagesName; name = path.Dir(name) {
		if d.packages[name] != nil {
			return name
		}
	}
	return ""
}

// openInPackage opens a directory of a package by its name.
func (d *directories) openInPackage(name string) (fs.FS, error) {
	root := d.packageAround(name)
	if root == "" {
		return nil, fs.ErrNotExist
	}
	d.mu.Lock()
	files := d.packages[root].Files
	d.mu.Unlock()
	if name == root {
		return files, nil
	}
	return fs.Sub(files, strings.TrimPrefix(name, root+"/"))
}

// demandSignatures has packages refused that nobody has signed, from now on, and reports those that are in use already.
func (d *directories) demandSignatures(signers string, at diag.Range) (list diag.List) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.signers = signers
	for _, name := range slices.Sorted(maps.Keys(d.packages)) {
		if err := d.unsigned(d.packages[name]); err != nil {
			list.Add(diag.Diagnose(err, at))
		}
	}
	return list
}

// unsigned is the error that nobody has signed a package of a site that demands it, or somebody who does not count.
func (d *directories) unsigned(p *openedPackage) error {
	switch {
	case d.signers == "":
		return nil
	case p.Signer == "":
		return &diag.HintError{Message: fmt.Sprintf("%s is not signed by anybody whom %s names", p.source, d.signers), Hint: "tenet get looks for signatures: have its author sign it, or leave signers out"}
	case d.options.CheckSigner == nil:
		return nil
	}
	if err := d.options.CheckSigner(d.signers, p.Signer); err != nil {
		return &diag.HintError{Message: fmt.Sprintf("%s is signed by %s, who does not count: %v", p.source, p.Signer, err), Hint: "tenet get looks for other signatures of it"}
	}
	return nil
}
