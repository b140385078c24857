package journal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// digestKeyFile holds the key of this machine's digests of secrets, which stand in records that others may see: without it, nobody can find
// out by trying what a short one is the digest of.
const digestKeyFile = "digest.key"

const digestKeySize = 32

// digestKey gives that key; nil: there is none yet, or it was lost, and no digest is known by another one.
func (f *Folder) digestKey() ([]byte, error) {
	data, err := f.disk.readFile(filepath.Join(f.dir, digestKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the key of digests cannot be read: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != digestKeySize {
		return nil, nil // as a loss of power can leave it
	}
	return key, nil
}

// DigestKey gives the key by which secrets are digested, and makes it durably where there is none.
func (r *Run) DigestKey() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, err := r.folder.digestKey()
	if err != nil || key != nil {
		return key, err
	}
	key = make([]byte, digestKeySize)
	rand.Read(key)
	return key, r.folder.disk.replace(filepath.Join(r.folder.dir, digestKeyFile), []byte(hex.EncodeToString(key)+"\n"), true)
}
