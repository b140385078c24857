package bundle

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/runtime/host"
)

// How long things are kept that nobody uses.
const (
	keepContent = 30 * 24 * time.Hour // that no bundle names
	keepRecord  = 90 * 24 * time.Hour // of executions and sites; as the journal keeps runs
	keepTemp    = time.Hour           // what was being written
	sweepEvery  = 24 * time.Hour
)

const lockName = contentDir + "/.lock"

// lock opens the file by which those who write keep off those who clear up.
func (f *folder) lock(how int) (func() error, error) {
	file, err := f.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(file.Fd()), how)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}

// share lets others write, and nobody clear up, until it is ended. Before that it
// clears up, if that was not done for a day.
func (f *folder) share() (func() error, error) {
	if err := f.sweep(sweepEvery); err != nil {
		return nil, err
	}
	return f.lock(unix.LOCK_SH)
}

// Forget removes what an execution needed, and contents that no bundle has named for
// a long time.
func (s *Store) Forget(execution string) error {
	if _, err := os.Lstat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.close()
	if validExecution(execution) {
		if err := f.root.Remove(recordPath(execution)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.sweep(sweepEvery)
}

// sweep removes what is kept for nobody, unless it was done lately or somebody writes.
func (f *folder) sweep(every time.Duration) error {
	now := time.Now()
	info, err := f.root.Lstat(lockName)
	// A time to come is one of a clock that was wrong.
	if err == nil && now.Sub(info.ModTime()) < every && !info.ModTime().After(now) {
		return nil
	}
	unlock, err := f.lock(unix.LOCK_EX | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	used, err := f.inUse(now)
	if err != nil {
		return err
	}
	for i := range 256 {
		dir := path.Join(contentDir, hex.EncodeToString([]byte{byte(i)}))
		if err := f.sweepDir(dir, now, used); err != nil {
			return err
		}
	}
	return f.root.Chtimes(lockName, now, now)
}

// inUse gives the contents that some bundle names. What is old among the records, or
// left of one that was not finished, is removed; one that cannot be read names nothing.
func (f *folder) inUse(now time.Time) (map[digest]bool, error) {
	used := map[digest]bool{}
	entries, err := f.list(bundlesDir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := path.Join(bundlesDir, e.Name())
		keep := keepRecord
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			keep = keepTemp
		}
		if gone, err := f.removeOld(name, now, keep); err != nil {
			return nil, err
		} else if gone {
			continue
		}
		switch {
		case strings.HasPrefix(e.Name(), sitePrefix):
			digests, err := readDigests(f.root, name)
			if err != nil {
				continue
			}
			for _, d := range digests {
				used[d] = true
			}
		case strings.HasSuffix(e.Name(), recordSuffix):
			if n, err := readNeeds(f.root, name); err == nil {
				n.use(f.store, used)
			}
		}
	}
	return used, nil
}

// use adds what an execution needs.
func (n *needs) use(s *Store, used map[digest]bool) {
	for _, f := range n.Files {
		used[f.SHA256] = true
	}
	for _, t := range n.Trees {
		used[t.SHA256] = true
		entries, err := s.list(t)
		if err != nil {
			continue // without its list nobody finds what is in it
		}
		for i := range entries {
			var d digest
			if entries[i].Kind == host.Regular && d.UnmarshalText([]byte(entries[i].SHA256)) == nil {
				used[d] = true
			}
		}
	}
}

func (f *folder) sweepDir(dir string, now time.Time, used map[digest]bool) error {
	entries, err := f.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		keep := keepContent
		var d digest
		if d.UnmarshalText([]byte(e.Name())) == nil {
			if used[d] {
				continue
			}
		} else if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			keep = keepTemp
		}
		if _, err := f.removeOld(path.Join(dir, e.Name()), now, keep); err != nil {
			return err
		}
	}
	return nil
}

// removeOld removes a file that nobody has touched for a time.
func (f *folder) removeOld(name string, now time.Time, keep time.Duration) (bool, error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if now.Sub(info.ModTime()) < keep || info.IsDir() {
		return false, nil
	}
	err = f.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err == nil, err
}
