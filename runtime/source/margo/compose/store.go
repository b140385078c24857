// Package compose makes of what a manager wants a site that runs it: deployments of type compose, of which each component is a
// std/margo_compose. It fetches their packages, and tells from the events of a run where each component stands.
package compose

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Types of the packages in a registry.
const (
	TypeArtifact = "application/vnd.org.margo.component.compose+json"
	TypeLayer    = "application/vnd.org.margo.component.compose.tar+gzip"
)

// Limits of a package.
const (
	maxPackage  = 256 << 20
	maxUnpacked = 1 << 30
	maxEntries  = 100_000
)

// Store has the packages that were fetched: each in a file that its digest names, and which one belongs to which component. What a tag
// stood for when a document was first applied it stands for as long as the document is that.
type Store struct {
	Dir    string
	Client *oci.Client
}

// Package is one that is there.
type Package struct {
	Path   string
	Digest rc2.Digest
}

// record is what is kept of a component.
type record struct {
	Reference string     `json:"reference"`
	Digest    rc2.Digest `json:"digest"`
}

func (s *Store) file(d rc2.Digest) string { return filepath.Join(s.Dir, d.Hex()+".tar.gz") }

func (s *Store) record(deployment, reference string) string {
	sum := sha256.Sum256([]byte(deployment + "\x00" + reference))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:])+".json")
}

// Get gives the package of a component, and fetches it where it is not there. revision is the document that wants it.
func (s *Store) Get(ctx context.Context, revision string, c rc2.Component) (Package, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Package{}, err
	}
	reference := c.Repository + ":" + c.Revision
	if p, err := s.known(s.record(revision, reference)); err != nil || p.Path != "" {
		return p, err
	}
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return Package{}, err
	}
	temporary, err := os.CreateTemp(s.Dir, atomicfile.TempPrefix)
	if err != nil {
		return Package{}, err
	}
	defer os.Remove(temporary.Name()) // it has another name by then, or is of no use
	digest, err := s.Client.Fetch(ctx, ref, oci.Artifact{Type: TypeArtifact, Layer: TypeLayer, Limit: maxPackage}, temporary)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = check(temporary.Name())
	}
	if err != nil {
		return Package{}, fmt.Errorf("the package %s: %w", reference, err)
	}
	p := Package{s.file(rc2.Digest(digest)), rc2.Digest(digest)}
	if err := os.Rename(temporary.Name(), p.Path); err != nil {
		return Package{}, err
	}
	data, err := json.Marshal(record{reference, p.Digest})
	if err != nil {
		return Package{}, err
	}
	return p, atomicfile.Replace(s.record(revision, reference), atomicfile.Options{Durable: true}, atomicfile.Data(data))
}

// known gives the package of a record, if both are there and whole.
func (s *Store) known(name string) (Package, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Package{}, nil
	}
	var r record
	if err != nil || json.Unmarshal(data, &r) != nil || len(r.Digest.Hex()) != 2*sha256.Size {
		return Package{}, err // a damaged record is as good as none
	}
	file, err := os.Open(s.file(r.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return Package{}, nil
	}
	if err != nil {
		return Package{}, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	if err = errors.Join(err, file.Close()); err != nil || hex.EncodeToString(sum.Sum(nil)) != r.Digest.Hex() {
		return Package{}, err
	}
	return Package{s.file(r.Digest), r.Digest}, nil
}

// Clean removes all but the packages that were given for these documents.
func (s *Store) Clean(keep []Used) error {
	used := map[string]bool{}
	for _, u := range keep {
		used[filepath.Base(s.record(u.Revision, u.Component.Repository+":"+u.Component.Revision))] = true
		used[filepath.Base(u.Package.Path)] = true
	}
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !used[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

// Used is a package in use.
type Used struct {
	Revision  string
	Component rc2.Component
	Package   Package
}

// check looks whether a package has the form of a Compose Archive. What leads out of it is refused as it is unpacked.
func check(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("it is no gzip: %w", err)
	}
	files, top, found := tar.NewReader(io.LimitReader(unzipped, maxUnpacked)), "", false
	for n := 0; ; n++ {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("its archive is broken, or has more than %d bytes: %w", int64(maxUnpacked), err)
		}
		if n > maxEntries {
			return fmt.Errorf("its archive has more than %d entries", maxEntries)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		clean := path.Clean(h.Name)
		if clean == "." && h.Typeflag == tar.TypeDir {
			continue
		}
		first, rest, _ := strings.Cut(clean, "/")
		switch {
		case path.IsAbs(h.Name) || first == "..":
			return fmt.Errorf("its entry %.80q leads out of it", h.Name)
		case top != "" && top != first, rest == "" && h.Typeflag != tar.TypeDir:
			return fmt.Errorf("at its top are %.80q and %.80q, where one directory is wanted", top, first)
		}
		top = first
		found = found || rest == "compose.yaml" && h.Typeflag == tar.TypeReg
	}
	if !found {
		return errors.New("there is no compose.yaml in the directory at its top")
	}
	return nil
}
