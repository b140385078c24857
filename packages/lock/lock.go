// Package lock reads and writes tenet.lock: what each source of a site stands for, by the digest of its files. The file is HCL, written by
// tenet get and read by people in reviews:
//
//	package "oci://registry.example/acme/nginx:1.4" {
//	  version = "1.4.2"
//	  digest  = "sha256:…"                       # of the files: see package archive
//	  from    = "sha256:…"                       # the manifest in the registry, or the commit
//	  signer  = "release@acme.example SHA256:…"  # who has signed it, and by which key
//	}
package lock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// Name is that of the file, in the directory of the site.
const Name = "tenet.lock"

// Limits of a lock.
const (
	MaxBytes    = 1 << 20
	maxPackages = 2000
)

// Package is what a source stands for.
type Package struct {
	Source  string `hcl:"source,label"`
	Version string `hcl:"version,optional"` // as its author numbers it
	Digest  string `hcl:"digest"`           // of its files, as package archive computes it
	From    string `hcl:"from"`             // digest of the manifest, or the commit
	Signer  string `hcl:"signer,optional"`  // whose signature was verified; none: nobody's

	DefRange hcl.Range `hcl:",def_range"`
}

// Range is where the package stands in the file.
func (p *Package) Range() diag.Range { return expr.Range(p.DefRange) }

// Lock is a lock. The zero value is that of a site without packages.
type Lock struct {
	Packages []Package // by their sources
}

// isDigest reports whether a text is a digest of files or of a manifest.
func isDigest(text string) bool {
	sum, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(sum) == 64 && isHexadecimal(sum)
}

// isCommit reports whether a text names a commit, by either hash that Git has.
func isCommit(text string) bool { return (len(text) == 40 || len(text) == 64) && isHexadecimal(text) }

func isHexadecimal(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// Read reads a lock. The list says what is wrong in it, at its place; the lock is nil then.
func Read(name string, data []byte) (*Lock, diag.List) {
	var list diag.List
	refuse := func(at hcl.Range, format string, args ...any) {
		list.Add(diag.Diagnostic{Summary: fmt.Sprintf(format, args...), Range: expr.Range(at), Hint: "tenet get writes this file: take it from the repository again, or remove it and run tenet get"})
	}
	if len(data) > MaxBytes {
		refuse(hcl.Range{Filename: name}, "the lock is longer than %d bytes", MaxBytes)
		return nil, list
	}
	file, diags := hclsyntax.ParseConfig(data, name, hcl.InitialPos)
	var body struct {
		Packages []Package `hcl:"package,block"`
	}
	if !diags.HasErrors() {
		diags = append(diags, gohcl.DecodeBody(file.Body, nil, &body)...)
	}
	for _, d := range diags {
		at := hcl.Range{Filename: name}
		if d.Subject != nil {
			at = *d.Subject
		}
		refuse(at, "the lock cannot be read: %s", strings.TrimSuffix(d.Detail, "."))
	}
	if len(body.Packages) > maxPackages {
		refuse(hcl.Range{Filename: name}, "the lock has more than %d packages", maxPackages)
	}
	if list.HasErrors() {
		return nil, list
	}
	slices.SortStableFunc(body.Packages, bySource)
	for i, p := range body.Packages {
		switch {
		case i > 0 && body.Packages[i-1].Source == p.Source:
			refuse(p.DefRange, "%s is in the lock twice", p.Source)
		case !isDigest(p.Digest):
			refuse(p.DefRange, "the digest of %s is none: sha256: and 64 hexadecimal digits", p.Source)
		case !isDigest(p.From) && !isCommit(p.From):
			refuse(p.DefRange, "where %s comes from is no digest and no commit", p.Source)
		}
	}
	if list.HasErrors() {
		return nil, list
	}
	return &Lock{body.Packages}, nil
}

// Find finds what a source stands for; nil: it is not in the lock.
func (l *Lock) Find(source string) *Package {
	i, found := slices.BinarySearchFunc(l.Packages, source, func(p Package, s string) int { return strings.Compare(p.Source, s) })
	if !found {
		return nil
	}
	return &l.Packages[i]
}

// Set puts a package in the place of what its source stood for.
func (l *Lock) Set(p Package) {
	i, found := slices.BinarySearchFunc(l.Packages, p, bySource)
	if found {
		l.Packages[i] = p
		return
	}
	l.Packages = slices.Insert(l.Packages, i, p)
}

const heading = "# Written by tenet get. It belongs into the repository of the site.\n"

// Bytes gives the file: the same bytes for the same packages.
func (l *Lock) Bytes() []byte {
	f := hclwrite.NewEmptyFile()
	for _, p := range l.Packages {
		f.Body().AppendNewline()
		b := f.Body().AppendNewBlock("package", []string{p.Source}).Body()
		for _, a := range []struct{ name, value string }{{"version", p.Version}, {"digest", p.Digest}, {"from", p.From}, {"signer", p.Signer}} {
			if a.value != "" {
				b.SetAttributeValue(a.name, cty.StringVal(a.value))
			}
		}
	}
	return append([]byte(heading), hclwrite.Format(f.Bytes())...)
}

func bySource(a, b Package) int { return strings.Compare(a.Source, b.Source) }
