package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
)

// Store gives the secrets of a site. It opens the files whose secrets are asked
// for, each once, and no other. Site is required; a Store may be used by several
// goroutines.
type Store struct {
	// Site is the site's root, which no link may lead out of.
	Site fs.FS
	// Identities gives the keys that may open files. It is called once, when
	// the first secret is asked for. Nil: there are none.
	Identities func() ([]Identity, error)

	mu    sync.Mutex
	files map[string]*storedFile
	keys  []Identity
	asked bool
	err   error
}

// storedFile is a file that was asked for.
type storedFile struct {
	file   *File
	list   diag.List
	err    error
	digest string
	key    *Key
	keyErr error
	opened bool
}

// Value gives the value of a secret: what a lang.Target's Secrets gives.
func (s *Store) Value(secret string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, name, err := s.find(secret)
	if err != nil {
		return "", err
	}
	if !file.opened {
		file.opened = true
		file.key, file.keyErr = s.open(file)
	}
	if file.keyErr != nil {
		return "", file.keyErr
	}
	return file.key.Value(name)
}

// Check says whether there is such a secret, for which no key is needed; the
// text is always empty: what a lang.Target's Secrets gives where they are hidden.
func (s *Store) Check(secret string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, err := s.find(secret)
	return "", err
}

// Digests gives the digests "sha256:…" of the files, as they are encrypted, that
// were asked for secrets, by their paths.
func (s *Store) Digests() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for name := range maps.Keys(s.files) {
		if s.files[name].digest != "" {
			out[name] = s.files[name].digest
		}
	}
	return out
}

// find gives the file and the name in it of a secret that is there, and whose
// line can be read.
func (s *Store) find(secret string) (*storedFile, string, error) {
	path, name, err := Locate(secret)
	if err != nil {
		return nil, "", err
	}
	file := s.files[path]
	if file == nil {
		if s.files == nil {
			s.files = map[string]*storedFile{}
		}
		file = s.load(path)
		s.files[path] = file
	}
	if file.err != nil {
		return nil, "", file.err
	}
	line := file.file.line(name)
	switch {
	case line != nil && line.problem != nil:
		return nil, "", *line.problem
	case line == nil && len(file.list) > 0: // it may be in what cannot be read
		return nil, "", file.list
	case line == nil:
		return nil, "", file.file.notFound(name)
	}
	return file, name, nil
}

func (s *Store) load(path string) *storedFile {
	data, err := ReadFile(s.Site, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &storedFile{err: diag.Diagnostic{Severity: diag.Error, Summary: "there are no secrets in " + path + ", since there is no such file",
			Hint: "tenet secret set " + QualifiedName(path, "NAME") + " makes it"}}
	case err != nil:
		return &storedFile{err: err}
	}
	sum := sha256.Sum256(data)
	out := &storedFile{digest: "sha256:" + hex.EncodeToString(sum[:])}
	out.file, out.list = Parse(path, data)
	return out
}

// open gets a file's key.
func (s *Store) open(f *storedFile) (*Key, error) {
	if len(f.file.keys) == 0 || f.file.recipient == nil {
		return nil, f.list
	}
	if !s.asked {
		s.asked = true
		if s.Identities != nil {
			s.keys, s.err = s.Identities()
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	return f.file.Open(s.keys)
}

// ReadFile reads a regular file of a site that is not too large for one of
// secrets.
func ReadFile(site fs.FS, path string) ([]byte, error) {
	wrong := func(err error) error {
		return diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("%s cannot be read: %v", path, err), Range: diag.Range{File: path},
			Hint: "it must be a plain file, not larger than 64 MiB, that no link leads out of the site for"}
	}
	info, err := fs.Stat(site, path) // opening a pipe would wait
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, wrong(err)
	case !info.Mode().IsRegular():
		return nil, wrong(errors.New("it is no regular file"))
	}
	f, err := site.Open(path)
	if err != nil {
		return nil, wrong(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, wrong(err)
	}
	return data, nil
}
