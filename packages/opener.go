package packages

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/lock"
)

// Opener opens the packages of a site, whose files have to be those of its lock.
type Opener struct {
	Site  fs.FS  // the directory of the site, with tenet.lock and vendor
	Cache string // a directory with packages; empty: there is none

	once sync.Once
	lock *lock.Lock
	err  error
}

// Codes of errors of Open.
const (
	CodeUnlocked = "package_unlocked" // the source is not in the lock
	CodeMissing  = "package_missing"  // its files are not here
	CodeDiffers  = "package_differs"  // its files are others than those of the lock
)

// Lock reads the lock of a site; one that is not there is empty.
func Lock(site fs.FS) (*lock.Lock, error) {
	data, err := readBounded(site, lock.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return &lock.Lock{}, nil
	}
	if err != nil {
		return nil, &diag.HintError{Message: fmt.Sprintf("%s cannot be read: %v", lock.Name, err), Hint: "check that it is a file, and may be read"}
	}
	l, list := lock.Read(lock.Name, data)
	if list.HasErrors() {
		return nil, &diag.HintError{Message: fmt.Sprintf("%s: %s", list[0].Range, list[0].Summary), Hint: list[0].Hint}
	}
	return l, nil
}

// readBounded reads a file of which no more than a lock may have is wanted.
func readBounded(site fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(site, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case info.Size() > lock.MaxBytes:
		return nil, fmt.Errorf("it is longer than %d bytes", lock.MaxBytes)
	}
	return fs.ReadFile(site, name)
}

// Open opens the package of a source, for lang.Options. Its errors have a code and a hint.
func (o *Opener) Open(source string) (*lang.Package, error) {
	name, err := Name(source)
	if err != nil {
		return nil, err
	}
	if o.once.Do(func() { o.lock, o.err = Lock(o.Site) }); o.err != nil {
		return nil, o.err
	}
	of := o.lock.Find(source)
	if of == nil {
		return nil, &diag.HintError{Code: CodeUnlocked, Message: fmt.Sprintf("%s is not in %s", source, lock.Name), Hint: "tenet get brings packages, and notes there what they are"}
	}
	p := &lang.Package{Name: name, Signer: of.Signer}
	vendored := path.Join(Vendor, name)
	if info, err := fs.Stat(o.Site, vendored); err == nil && info.IsDir() {
		if p.Files, err = fs.Sub(o.Site, vendored); err == nil {
			err = check(p.Files, of, vendored, "tenet get --vendor brings them back; who wants other files gives their package another version")
		}
		return p, err
	}
	dir := CachePath(o.Cache, of.Digest)
	if info, err := os.Stat(dir); o.Cache == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.HintError{Code: CodeMissing, Message: fmt.Sprintf("%s is not here", source), Hint: cmp.Or(map[bool]string{true: "tenet get --vendor puts it into the directory of the site"}[o.Cache == ""], "tenet get brings it")}
	} else if err != nil || !info.IsDir() {
		return nil, &diag.HintError{Code: CodeMissing, Message: fmt.Sprintf("%s cannot be read in the cache: %v", source, cmp.Or(err, errors.New(dir+" is no directory"))), Hint: "remove it, and run tenet get"}
	}
	p.Files = os.DirFS(dir)
	return p, check(p.Files, of, dir, "remove that directory, and run tenet get")
}

// CachePath is where the cache has the files of a digest.
func CachePath(cache, digest string) string {
	return filepath.Join(cache, "sha256", filepath.Base(digest[len("sha256:"):]))
}

// check compares files with the lock.
func check(files fs.FS, of *lock.Package, place, hint string) error {
	digest, err := archive.Digest(files)
	if _, there := fs.Stat(files, Vendor); err == nil && there == nil { // which the digest leaves out
		err = fmt.Errorf("it has a directory %s, which no package has", Vendor)
	}
	if err != nil {
		return &diag.HintError{Code: CodeDiffers, Message: fmt.Sprintf("the files of %s in %s cannot be checked: %v", of.Source, place, err), Hint: cmp.Or(diag.HintOf(err), hint)}
	}
	if digest != of.Digest {
		return &diag.HintError{Code: CodeDiffers, Message: fmt.Sprintf("the files of %s in %s are not those of %s: %s, and not %s", of.Source, place, lock.Name, digest, of.Digest), Hint: hint}
	}
	return nil
}
