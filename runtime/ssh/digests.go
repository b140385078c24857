package ssh

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tenetcm/tenet/internal/atomicfile"
)

// A digest that was made is kept, since reading all runners takes longer than much of
// what tenet is asked for. A wrong one does no harm but a runner that is sent in vain:
// read checks it before it sends, and the runner itself before it acts.

// fileDigest is a file's digest, and what the file was then.
type fileDigest struct {
	Size    int64  `json:"size"`
	Inode   uint64 `json:"inode"`
	Changed int64  `json:"changed"` // ctime, in nanoseconds: nobody can set it back
	SHA256  string `json:"sha256"`
}

func fileDigestOf(info fs.FileInfo) (fileDigest, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileDigest{}, false
	}
	return fileDigest{Size: info.Size(), Inode: stat.Ino, Changed: stat.Ctim.Nano()}, true
}

// recall gives the digest of a file that is as it was. r.mu is not held.
func (r *Runners) recall(path string, info fs.FileInfo) string {
	r.loadDigests.Do(func() {
		data, err := os.ReadFile(r.Digests)
		if err != nil || json.Unmarshal(data, &r.fileDigests) != nil {
			r.fileDigests = nil // it is made anew
		}
	})
	now, ok := fileDigestOf(info)
	r.mu.Lock()
	was := r.fileDigests[path]
	r.mu.Unlock()
	now.SHA256 = was.SHA256
	if !ok || now != was || len(was.SHA256) != 64 {
		return ""
	}
	return was.SHA256
}

// keep stores a digest. It is no failure where that is not possible.
func (r *Runners) keep(path string, info fs.FileInfo, sha256 string) {
	now, ok := fileDigestOf(info)
	if r.Digests == "" || !ok {
		return
	}
	now.SHA256 = sha256
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fileDigests == nil {
		r.fileDigests = map[string]fileDigest{}
	}
	r.fileDigests[path] = now
	for path := range r.fileDigests {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			delete(r.fileDigests, path)
		}
	}
	data, err := json.Marshal(r.fileDigests)
	if err != nil || os.MkdirAll(filepath.Dir(r.Digests), 0o700) != nil {
		return
	}
	_ = atomicfile.Replace(r.Digests, atomicfile.Options{}, atomicfile.Data(data)) // without it they are computed again
}
