package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
)

const recordSuffix = ".json"

// recordPath is where it stands what an execution needs.
func recordPath(execution string) string { return path.Join(bundlesDir, execution+recordSuffix) }

const sitePrefix = "site-"

// sitePath is where the digests of a site's last bundle stand.
func sitePath(site string) string {
	sum := sha256.Sum256([]byte(site))
	return path.Join(bundlesDir, sitePrefix+hex.EncodeToString(sum[:16]))
}

// Have lists what the last bundle of a site left, as Hello.Have wants it.
func (s *Store) Have(site string) []byte {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil // the store is new, or cannot be used: to receive something will say why
	}
	defer root.Close()
	digests, err := readDigests(root, sitePath(site))
	if err != nil {
		return nil // then all is sent
	}
	have := make([]byte, 0, len(digests)*wire.HaveSize)
	for _, d := range digests {
		have = append(have, d[:wire.HaveSize]...)
	}
	return have
}

// KeepLast keeps the contents of a site's last bundle for as long as it is called again within keepRecord, whatever bundles come after that: until it is
// called after a later one.
func (s *Store) KeepLast(site string) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.close()
	unlock, err := f.share()
	if err != nil {
		return err
	}
	defer unlock()
	data, err := readAll(f.root, sitePath(site), planfile.MaxEntries*int64(len(digest{})))
	if errors.Is(err, fs.ErrNotExist) { // it has no contents
		return nil
	}
	if err != nil {
		return err
	}
	kept := sitePath("kept " + site)
	if before, err := readAll(f.root, kept, planfile.MaxEntries*int64(len(digest{}))); err == nil && bytes.Equal(before, data) {
		now := time.Now()
		return f.root.Chtimes(kept, now, now)
	}
	return f.replace(kept, data)
}

// readDigests reads a file of digests.
func readDigests(root *os.Root, name string) ([]digest, error) {
	data, err := readAll(root, name, planfile.MaxEntries*int64(len(digest{})))
	if err != nil {
		return nil, err
	}
	var list []digest
	for ; len(data) >= len(digest{}); data = data[len(digest{}):] {
		list = append(list, digest(data))
	}
	return list, nil
}

func readAll(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err == nil && int64(len(data)) > limit {
		err = damaged("%s is larger than it can be", name)
	}
	return data, err
}

// remember notes the contents of a site's last bundle. Those of the bundle before
// that are needed no longer were in use until now.
func (f *folder) remember(site string, due map[digest]int64) (changed bool, err error) {
	list := make([]digest, 0, len(due))
	for d := range due {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	now := time.Now()
	before, err := readDigests(f.root, sitePath(site))
	if err == nil && slices.Equal(before, list) {
		return false, f.root.Chtimes(sitePath(site), now, now)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		before = nil // it is written anew
	}
	for _, d := range before {
		if _, ok := due[d]; ok {
			continue
		}
		if err := f.root.Chtimes(contentPath(d), now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	data := make([]byte, 0, len(list)*len(digest{}))
	for _, d := range list {
		data = append(data, d[:]...)
	}
	return true, f.replace(sitePath(site), data)
}

// manyContents is from how many on it is cheaper to list directories than to look for
// each content.
const manyContents = 1000

// present tells which contents are in the store. Of a few the size is looked at too.
func (f *folder) present(due map[digest]int64) (func(digest) bool, error) {
	if len(due) < manyContents {
		return func(d digest) bool {
			info, err := f.root.Lstat(contentPath(d))
			return err == nil && info.Mode().IsRegular() && info.Size() == due[d]
		}, nil
	}
	names := map[digest]bool{}
	for i := range 256 {
		entries, err := f.list(path.Join(contentDir, hex.EncodeToString([]byte{byte(i)})))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			var d digest
			if e.Type().IsRegular() && d.UnmarshalText([]byte(e.Name())) == nil {
				names[d] = true
			}
		}
	}
	return func(d digest) bool { return names[d] }, nil
}

// list lists a directory, in no order. One that is not there is empty.
func (f *folder) list(name string) ([]fs.DirEntry, error) {
	dir, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := dir.ReadDir(-1)
	return entries, errors.Join(err, dir.Close())
}

// Open gives the files and modules of a bundle that was received, by its execution:
// its Run, Places and Rows are nil, since the journal has them. What the machine does
// not have is fs.ErrNotExist.
func (s *Store) Open(execution string) (*Bundle, error) {
	if !validExecution(execution) {
		return nil, &fs.PathError{Op: "open", Path: execution, Err: fs.ErrNotExist}
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	n, err := readNeeds(root, recordPath(execution))
	if err != nil {
		return nil, err
	}
	b := n.bundle(s, nil)
	b.Execution = execution
	return b, nil
}

func readNeeds(root *os.Root, name string) (*needs, error) {
	data, err := readAll(root, name, maxHeader)
	if err != nil {
		return nil, err
	}
	n := &needs{}
	if err := strictly(data, n); err != nil {
		return nil, damaged("%s cannot be read: %v", name, err)
	}
	if n.Format != Format {
		return nil, &planfile.FormatError{Format: n.Format, Known: Format, Program: "another version"}
	}
	return n, n.check()
}
