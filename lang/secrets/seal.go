package secrets

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
)

// Name is the file's name, as it was given.
func (f *File) Name() string { return f.name }

// Header gives the text of the file without its values, which is such a file
// too: who may read the file opens with it what was sealed for it, wherever
// that lies.
func (f *File) Header() []byte {
	var out bytes.Buffer
	for _, line := range f.head {
		out.WriteString(line + "\n")
	}
	return out.Bytes()
}

// Seal encrypts data for those who may read the file. No private key is needed.
func (f *File) Seal(data []byte) ([]byte, error) {
	if f.recipient == nil {
		return nil, diag.Diagnostic{Severity: diag.Error, Summary: f.name + " has no @recipient to encrypt to", Range: diag.Range{File: f.name},
			Hint: "take the file's header from the history of the repository"}
	}
	return encryptBytes(data, f.recipient)
}

// Unseal opens what Seal has encrypted, if it is not longer than limit.
func (k *Key) Unseal(data []byte, limit int64) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(data), k.identity)
	if err != nil {
		return nil, fmt.Errorf("it cannot be decrypted: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("it cannot be decrypted: %w", err)
	}
	if int64(len(out)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return out, nil
}

// Files lists the files that were asked for secrets, by their paths.
func (s *Store) Files() []*File {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*File
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[name].file; f != nil {
			list = append(list, f)
		}
	}
	return list
}
