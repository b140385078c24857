package journal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// processGone is why a run is Interrupted whose process died.
const processGone = "its process was gone"

// prepare makes the folder ready for a run: its lock is held, and shows the holder
// from now on.
func (f *Folder) prepare(lock *file, h *holder) (*Ledger, error) {
	if err := claim(lock, h); err != nil {
		return nil, err
	}
	if err := f.migrate(lock); err != nil {
		return nil, err
	}
	return f.recover()
}

// recover takes note of how the runs have ended that owed.json does not know
// of, and removes what dead processes of ours have left in the folder. The lock
// is held, so that nobody writes: a run that says it is running is dead.
func (f *Folder) recover() (*Ledger, error) {
	l, err := f.cached()
	if err != nil {
		return nil, err
	}
	through := l.Through
	ids, err := f.ids()
	if err != nil {
		return nil, err
	}
	if err := f.sweep(f.dir, filepath.Join(f.dir, "runs"), filepath.Join(f.dir, "managed"), f.manifestDir()); err != nil {
		return nil, err
	}
	open := l.Open
	for _, id := range ids {
		if l.has(id) {
			continue
		}
		if err := f.bury(id); err != nil {
			return nil, fmt.Errorf("run %s, which has died, cannot be closed: %w", id, err)
		}
		if err := f.replay(l, id, true); err != nil {
			return nil, err
		}
	}
	l.Open = nil
	if l.Through == through && len(open) == 0 {
		return l, nil
	}
	// Their records may be removed from now on.
	if err := f.recordManaged(); err != nil {
		return nil, err
	}
	l.base = l.Through
	return l, f.writeLedger(l, !l.Empty())
}

// bury gives a run an end whose process died before it could.
func (f *Folder) bury(id string) error {
	if err := f.sweep(f.path(id)); err != nil {
		return err
	}
	s, err := f.head(id)
	if err == nil && s.State != Running && s.State != "" {
		return nil
	}
	if err != nil {
		s = Status{} // it cannot go on: see resumable
	}
	if err := f.cutTorn(f.path(id, "events.jsonl")); err != nil {
		return err
	}
	s.Format, s.Run, s.State, s.Error = StatusFormat, id, Interrupted, processGone
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return f.disk.replace(f.path(id, "status.json"), append(data, '\n'), false)
}

// cutTorn cuts a last line that was not written to its end.
func (f *Folder) cutTorn(path string) error {
	in, err := f.disk.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	size, block := info.Size(), make([]byte, 1<<16)
	keep := int64(0)
	for end := size; end > 0; {
		from := max(0, end-int64(len(block)))
		n, err := in.ReadAt(block[:end-from], from)
		if err != nil {
			return err
		}
		if at := bytes.LastIndexByte(block[:n], '\n'); at >= 0 {
			keep = from + int64(at) + 1
			break
		}
		end = from
	}
	rest := make([]byte, size-keep)
	if _, err := in.ReadAt(rest, keep); err != nil {
		return err
	}
	if keep == size || !isTorn(rest) {
		return nil // what is damaged is told by whoever reads it
	}
	out, err := f.disk.open(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	return Join(out.Truncate(keep), out.Close())
}

// sweep removes from directories of ours what a process has left in them that
// died as it replaced a file or removed a run. Whatever else is there is not ours.
func (f *Folder) sweep(dirs ...string) error {
	for _, dir := range dirs {
		entries, err := f.disk.list(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !isTemp(e) {
				continue
			}
			if err := f.disk.remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTemp reports whether something has the name of a file that is being replaced or
// written, or of a run that is being removed.
func isTemp(e fs.DirEntry) bool {
	rest, ok := strings.CutPrefix(e.Name(), tempPrefix)
	if !ok {
		return e.Name() == "run.json.new" && !e.IsDir()
	}
	if e.IsDir() {
		_, ok := counter(rest)
		return ok
	}
	random, err := hex.DecodeString(rest)
	return err == nil && len(random) == tempRandom
}
