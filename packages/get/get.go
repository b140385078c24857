// Package get brings the packages that a site uses: it finds out what their sources stand for, downloads them into a cache, each once, and notes in a lock what they
// are. Nothing else downloads packages.
package get

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/lock"
	"github.com/tenetcm/tenet/packages/signature"
)

// Found is what a source stands for at present.
type Found struct {
	From    string // digest of the manifest, or the commit
	Version string // as its author numbers it; empty: he does not
}

// Origin is where packages of one kind come from.
type Origin interface {
	// Resolve finds out what a source stands for.
	Resolve(ctx context.Context, source string) (Found, error)
	// Fetch makes a folder that is not there yet of what a source stood for, whole or not at all, and gives the digest of its files. If want is not empty, another digest is an
	// error.
	Fetch(ctx context.Context, source, from, want, dir string) (digest string, err error)
	// Signer tells whose signature of it one of the allowed signers has made; an error, if there is none that counts. files is the digest of its files.
	Signer(ctx context.Context, source, from, files string, signers *Signers) (string, error)
}

// Signers is a file of allowed signers: see package signature.
type Signers struct {
	Name string // for messages
	Data []byte
}

// lacks reports whether the key of a signer is not in the file, or not any more.
func (s *Signers) lacks(signer string) bool {
	allowed, err := signature.ParseSigners(s.Name, s.Data, nil)
	words := strings.Fields(signer)
	if err != nil || len(words) == 0 {
		return true
	}
	_, err = allowed.Find(words[len(words)-1], "", time.Time{})
	return err != nil
}

// allow is an error unless a key may sign now, for Git. A commit's own date says nothing: who has the key writes it.
func (s *Signers) allow(fingerprint string) error {
	allowed, err := signature.ParseSigners(s.Name, s.Data, nil)
	if err == nil {
		_, err = allowed.Find(fingerprint, "git", time.Now())
	}
	return err
}

// Getter brings the packages of one site.
type Getter struct {
	Site    fs.FS             // with the lock as it was, and vendor
	Cache   string            // the directory of packages, which has to be there or is made
	Origins map[string]Origin // by how sources begin: "oci://", "git::"
	Signers *Signers          // nil: nobody's signature is looked for
	// Updates tells whether a source is to be resolved anew; nil: none is that is in the lock.
	Updates func(source string) bool
	// Note tells what goes on; nil: nobody.
	Note func(text string)

	mu     sync.Mutex
	former *lock.Lock
	opened map[string]*opening
	bytes  int64 // of what was brought
	swept  bool  // what others have left in the cache is removed
}

// opening is a package that is being opened, once, whoever asks.
type opening struct {
	sync.Once
	of      lock.Package
	name    string
	files   fs.FS
	err     error
	brought bool
}

// Open opens the package of a source for lang.Options, for as long as ctx lasts, and brings it if it is not here.
func (g *Getter) Open(ctx context.Context) func(source string) (*lang.Package, error) {
	return func(source string) (*lang.Package, error) {
		g.mu.Lock()
		if g.opened == nil {
			g.opened = map[string]*opening{}
		}
		o := g.opened[source]
		if o == nil {
			o = &opening{}
			if len(g.opened) >= maxPackages {
				o.err = &diag.HintError{Message: fmt.Sprintf("%s is one package too many: a site has %d at most", source, maxPackages), Hint: "a package names others: look which names so many"}
				o.Do(func() {})
			}
			g.opened[source] = o
		}
		g.mu.Unlock()
		if o.Do(func() { o.err = g.open(ctx, source, o) }); o.err != nil {
			return nil, o.err
		}
		return &lang.Package{Name: o.name, Files: o.files, Signer: o.of.Signer}, nil
	}
}

func (g *Getter) open(ctx context.Context, source string, o *opening) (err error) {
	if o.name, err = packages.Name(source); err != nil {
		return err
	}
	former, err := g.Former()
	if err != nil {
		return err
	}
	origin := g.origin(source)
	if origin == nil {
		return &diag.HintError{Message: fmt.Sprintf("%s cannot be brought here", source), Hint: "sources begin with oci:// or git::"}
	}
	known := former.Find(source)
	if known != nil && (g.Updates == nil || !g.Updates(source)) {
		o.of = *known
	} else {
		g.note("looking for " + source)
		found, err := origin.Resolve(ctx, source)
		if err != nil {
			return err
		}
		o.of = lock.Package{Source: source, From: found.From, Version: found.Version}
		if known != nil && known.From == found.From {
			o.of = *known
		}
	}
	if err := g.bring(ctx, origin, o); err != nil {
		return err
	}
	return g.sign(ctx, origin, &o.of)
}

func (g *Getter) origin(source string) Origin {
	for prefix, origin := range g.Origins {
		if strings.HasPrefix(source, prefix) {
			return origin
		}
	}
	return nil
}

// bring has the files of a package in the cache, and notes their digest.
func (g *Getter) bring(ctx context.Context, origin Origin, o *opening) error {
	if o.of.Digest != "" {
		if vendored, err := fs.Sub(g.Site, packages.Vendor+"/"+o.name); err == nil {
			if digest, err := archive.Digest(vendored); err == nil && digest == o.of.Digest {
				o.files = vendored
				return nil
			}
		}
		dir := packages.CachePath(g.Cache, o.of.Digest)
		if digest, err := archive.Digest(os.DirFS(dir)); err == nil && digest == o.of.Digest {
			o.files = os.DirFS(dir)
			return nil
		}
		if err := os.RemoveAll(dir); err != nil { // it is damaged, if it is there
			return err
		}
	}
	g.note("bringing " + o.of.Source)
	if err := os.MkdirAll(filepath.Join(g.Cache, "sha256"), 0o755); err != nil {
		return err
	}
	if err := g.removeDrafts(); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(g.Cache, draftPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	files := filepath.Join(draft, "files")
	digest, err := origin.Fetch(ctx, o.of.Source, o.of.From, o.of.Digest, files)
	if err != nil {
		return err
	}
	o.of.Digest, o.brought = digest, true
	dir := packages.CachePath(g.Cache, digest)
	if there, err := archive.Digest(os.DirFS(dir)); err != nil || there != digest { // else another site uses it, or another process was faster
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.Rename(files, dir); err != nil {
			return err
		}
	}
	o.files = os.DirFS(dir)
	return g.weigh(o)
}

// draftAge is from when on nobody works on a draft any more: a download takes some minutes.
const draftAge = 24 * time.Hour

// removeDrafts removes, once, what processes have left in the cache that were killed: each may be as large as a package.
func (g *Getter) removeDrafts() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.swept {
		return nil
	}
	g.swept = true
	entries, err := os.ReadDir(g.Cache)
	for _, e := range entries {
		info, failed := e.Info()
		if failed != nil || !strings.HasPrefix(e.Name(), draftPrefix) || time.Since(info.ModTime()) < draftAge {
			continue // one that is gone was another process's
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(g.Cache, e.Name())))
	}
	return err
}

// Limits of what one site may bring: packages name others, and whoever has made one of them says which.
const (
	maxPackages = 300
	maxBytes    = 2 << 30
)

// weigh refuses packages that are too much together.
func (g *Getter) weigh(o *opening) error {
	var bytes int64
	err := fs.WalkDir(o.files, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bytes += bytes; err == nil && g.bytes > maxBytes {
		err = &diag.HintError{Message: fmt.Sprintf("with %s the packages of the site have more than %d MiB", o.of.Source, maxBytes>>20), Hint: "a package names others: look which brings so much"}
	}
	return err
}

// sign notes who has signed a package, if anybody has to. What the lock says of it was looked at when it was written.
func (g *Getter) sign(ctx context.Context, origin Origin, of *lock.Package) (err error) {
	switch {
	case g.Signers == nil:
		of.Signer = ""
	case of.Signer == "" || g.Signers.lacks(of.Signer) || g.Updates != nil && g.Updates(of.Source):
		of.Signer, err = origin.Signer(ctx, of.Source, of.From, of.Digest, g.Signers)
	}
	return err
}

func (g *Getter) note(text string) {
	if g.Note != nil {
		g.Note(text)
	}
}

// Former gives the lock as it was.
func (g *Getter) Former() (*lock.Lock, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	if g.former == nil {
		g.former, err = packages.Lock(g.Site)
	}
	return g.former, err
}

// Lock gives the lock of all that was opened. The error is what could not be.
func (g *Getter) Lock() (*lock.Lock, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := &lock.Lock{}
	var failed []error
	for _, o := range g.opened {
		if o.err != nil {
			failed = append(failed, o.err)
			continue
		}
		out.Set(o.of)
	}
	return out, errors.Join(failed...)
}
