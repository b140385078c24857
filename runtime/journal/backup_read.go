package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/runtime/host"
)

// Backup reads what a run of the folder has kept. Wrong tells what of it cannot be
// believed.
func (f *Folder) Backup(id string) (*Backup, error) {
	b := f.newBackup(id)
	_, err := b.load()
	return b, err
}

// Wrong is an error about the lines of the index that cannot be believed. What they
// say of a path is not among the list: nothing may be changed by it.
func (b *Backup) Wrong() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

// load reads the index, and gives its length without a torn last line: what that
// speaks of was not done.
func (b *Backup) load() (whole int64, err error) {
	name := filepath.Join(b.dir, "index.jsonl")
	data, err := b.disk.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it had not come to a change
	}
	if err != nil {
		return 0, err
	}
	b.list, b.known, b.wrong = nil, map[[2]string]bool{}, nil
	number, lines := 0, sealedLines{}
	for line := range bytes.Lines(data) {
		if isTorn(line) {
			break
		}
		number++
		whole += int64(len(line))
		former, err := b.readFormer(line, &lines)
		if err != nil {
			b.wrong = Join(b.wrong, fmt.Errorf("line %d of %s is not acted upon: %w", number, name, err))
			continue
		}
		b.list, b.known[[2]string{former.Block, former.Path}] = append(b.list, former), true
	}
	b.refuseRepeated(name)
	return whole, nil
}

// readFormer reads a line of the index, after those before it.
func (b *Backup) readFormer(line []byte, lines *sealedLines) (Former, error) {
	if err := lines.check(line); err != nil {
		return Former{}, err
	}
	if !lines.sealed {
		return b.readOlder(line)
	}
	var x exactFormer
	if err := json.Unmarshal(line, &x); err != nil {
		return Former{}, err
	}
	f := x.plain()
	return f, f.check()
}

// check refuses what this version does not write.
func (f Former) check() error {
	kinds := []host.Kind{Absent, host.Regular, host.Directory, host.Symlink, host.Other}
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("it says that a %q was at %s, which this version does not know", f.Kind, f.Path)
	case f.Block == "", !strings.HasPrefix(f.Path, "/"):
		return fmt.Errorf("it is about the path %q of the block %q", f.Path, f.Block)
	case f.Kind == host.Regular && (!isDigest(f.Sum) || f.Size < 0):
		return fmt.Errorf("it names no copy of %s", f.Path)
	}
	return nil
}

// exactFormer is a Former as it is written: JSON has no bytes that are not UTF-8,
// and paths and links may hold any.
type exactFormer struct {
	Former
	PathBytes   []byte `json:"path_bytes,omitempty"`
	TargetBytes []byte `json:"target_bytes,omitempty"`
}

func exact(f Former) exactFormer {
	x := exactFormer{Former: f}
	if !utf8.ValidString(f.Path) {
		x.PathBytes = []byte(f.Path)
	}
	if !utf8.ValidString(f.Target) {
		x.TargetBytes = []byte(f.Target)
	}
	return x
}

func (x exactFormer) plain() Former {
	if x.PathBytes != nil {
		x.Path = string(x.PathBytes)
	}
	if x.TargetBytes != nil {
		x.Target = string(x.TargetBytes)
	}
	return x.Former
}
