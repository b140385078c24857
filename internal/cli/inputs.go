package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/states"
)

// inputs are what the evaluation of a site has read: files, facts, and the values of variables.
// While all of them are the same, it would give the same again. A nil inputs records nothing.
type inputs struct {
	now func() time.Time

	mu     sync.Mutex
	sealed bool // what is read from now on is no input
	// open says that something was asked for that cannot be compared: secrets, programs, trees.
	open   bool
	dirs   map[string]fileState // directories that were opened, by their paths
	files  map[inputFile]fileState
	facts  map[string]factValue
	values lang.Target // those of variables and data
	origin string
}

type inputFile struct {
	dir  *inputFiles
	name string
}

type factValue struct {
	value any
	err   string
}

func newInputs(now func() time.Time) *inputs {
	return &inputs{now: now, dirs: map[string]fileState{}, files: map[inputFile]fileState{}, facts: map[string]factValue{}}
}

// refuse says that the evaluation depends on something that cannot be compared.
func (in *inputs) refuse() {
	if in == nil {
		return
	}
	in.mu.Lock()
	in.open = in.open || !in.sealed
	in.mu.Unlock()
}

// seal ends the recording, and reports whether all that was read can be compared.
func (in *inputs) seal() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.sealed = true
	return !in.open
}

// fileState tells versions of a file apart, and which file it is.
type fileState struct {
	exists                 bool
	mode                   fs.FileMode
	size                   int64
	device, inode          uint64
	modified, changed      syscall.Timespec
	link                   bool // what follows is of what a symbolic link leads to
	linkDevice, linkInode  uint64
	linkModified, linkSize int64
}

// settled is how long a file must have stayed the same before its times tell the next change.
const settled = 2 * time.Second

// stateOf gives the state of what look finds; ok says that a later change would show.
func stateOf(info fs.FileInfo, err error, now time.Time) (state fileState, ok bool) {
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, true
	}
	if err != nil {
		return fileState{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileState{}, false
	}
	state = fileState{exists: true, mode: info.Mode(), size: info.Size(), device: stat.Dev, inode: stat.Ino, modified: stat.Mtim, changed: stat.Ctim}
	return state, now.Sub(time.Unix(stat.Ctim.Unix())) >= settled
}

// directory records which directory was opened at a path, whatever is there by now, and gives
// its files, recorded.
func (in *inputs) directory(path string, root *os.Root, files fs.FS) fs.FS {
	if in == nil {
		return files
	}
	state, ok := directoryOf(root.Stat("."))
	in.mu.Lock()
	defer in.mu.Unlock()
	if first, known := in.dirs[path]; !ok || known && first != state {
		in.open = true
	}
	in.dirs[path] = state
	return &inputFiles{in: in, files: files}
}

// directoryOf tells which directory was looked at, whatever has changed in it.
func directoryOf(info fs.FileInfo, err error) (fileState, bool) {
	state, _ := stateOf(info, err, time.Time{})
	return fileState{exists: state.exists, device: state.device, inode: state.inode}, state.exists
}

// recordFacts records the facts that f is asked for.
func (in *inputs) recordFacts(f func(name string) (any, error)) func(name string) (any, error) {
	if in == nil || f == nil {
		return f
	}
	return func(name string) (any, error) {
		v, err := f(name)
		in.mu.Lock()
		defer in.mu.Unlock()
		if now := valueOf(v, err); !in.sealed {
			if first, known := in.facts[name]; known && !reflect.DeepEqual(first, now) {
				in.open = true
			}
			in.facts[name] = now
		}
		return v, err
	}
}

func valueOf(v any, err error) factValue {
	if err != nil {
		return factValue{err: err.Error()}
	}
	return factValue{value: v}
}

// recordTarget records what a target gives.
func (in *inputs) recordTarget(c *site) {
	if in == nil {
		return
	}
	in.origin, in.values = c.Origin, valuesOf(c.Target)
	c.Target.Facts = in.recordFacts(c.Target.Facts)
	secrets, inventory := c.Target.Secrets, c.Target.Inventory
	c.Target.Secrets = func(name string) (string, error) { in.refuse(); return secrets(name) }
	c.Target.Inventory = func(ctx context.Context, argv []string) ([]byte, error) { in.refuse(); return inventory(ctx, argv) }
}

// valuesOf leaves of a target what gives variables and data their values.
func valuesOf(t lang.Target) lang.Target {
	return lang.Target{Environment: maps.Clone(t.Environment), VarFiles: t.VarFiles, Vars: t.Vars, Data: t.Data}
}

// same reports whether all inputs are as they were: those that now is made of, and those that
// can be looked at.
func (in *inputs) same(now lang.Target, origin string) bool {
	if in.open || in.origin != origin || !reflect.DeepEqual(in.values, valuesOf(now)) {
		return false
	}
	for path, was := range in.dirs {
		if is, ok := directoryOf(os.Stat(path)); !ok || is != was {
			return false
		}
	}
	for file, was := range in.files {
		if is, _ := file.dir.state(file.name); is != was {
			return false
		}
	}
	for name, was := range in.facts {
		if !reflect.DeepEqual(valueOf(now.Facts(name)), was) {
			return false
		}
	}
	return true
}

// inputFiles are files that record which of them are asked for.
type inputFiles struct {
	in    *inputs
	files fs.FS
}

// note records the state of a file before it is read: a change in between shows later.
func (f *inputFiles) note(name string) {
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
	key := inputFile{f, name}
	if _, known := f.in.files[key]; known || f.in.sealed {
		return
	}
	state, ok := f.state(name)
	f.in.files[key], f.in.open = state, f.in.open || !ok
}

func (f *inputFiles) state(name string) (fileState, bool) {
	now := f.in.now()
	info, err := fs.Lstat(f.files, name)
	state, ok := stateOf(info, err, now)
	if !ok || state.mode.Type() != fs.ModeSymlink {
		return state, ok
	}
	info, err = fs.Stat(f.files, name)
	target, ok := stateOf(info, err, now)
	state.link, state.linkDevice, state.linkInode = target.exists, target.device, target.inode
	state.linkModified, state.linkSize = target.changed.Nano(), target.size
	return state, ok
}

// check takes note of a failure that may pass: what comes of it is not to be kept.
func (f *inputFiles) check(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.in.refuse()
	}
}

// Open is fs.FS.
func (f *inputFiles) Open(name string) (fs.File, error) {
	f.note(name)
	found, err := f.files.Open(name)
	f.check(err)
	return found, err
}

// Stat is fs.StatFS.
func (f *inputFiles) Stat(name string) (fs.FileInfo, error) {
	f.note(name)
	found, err := fs.Stat(f.files, name)
	f.check(err)
	return found, err
}

// Lstat is fs.ReadLinkFS.
func (f *inputFiles) Lstat(name string) (fs.FileInfo, error) {
	f.note(name)
	found, err := fs.Lstat(f.files, name)
	f.check(err)
	return found, err
}

// ReadLink is fs.ReadLinkFS.
func (f *inputFiles) ReadLink(name string) (string, error) {
	f.note(name)
	found, err := fs.ReadLink(f.files, name)
	f.check(err)
	return found, err
}

// ReadDir is fs.ReadDirFS.
func (f *inputFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	f.note(name)
	found, err := fs.ReadDir(f.files, name)
	f.check(err)
	return found, err
}

// ReadFile is fs.ReadFileFS.
func (f *inputFiles) ReadFile(name string) ([]byte, error) {
	f.note(name)
	found, err := fs.ReadFile(f.files, name)
	f.check(err)
	return found, err
}

// Tree is states.TreeFS. All that is below a directory is not looked at again.
func (f *inputFiles) Tree(name string) ([]states.TreeEntry, error) {
	f.in.refuse()
	return states.ReadTree(f.files, name)
}

// OpenFile is states.TreeFS.
func (f *inputFiles) OpenFile(name string) (io.ReadCloser, error) {
	f.note(name)
	found, err := states.OpenFile(f.files, name)
	f.check(err)
	return found, err
}
