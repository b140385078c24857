package agent

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// errDead is what a disk answers once the power is cut.
var errDead = errors.New("the power is cut")

// errFull is what a disk answers that is full.
var errFull = errors.New("no space left on device")

// disk is a disk that loses what was not made durable, and fails from a chosen change on.
type disk struct {
	mu      sync.Mutex
	folders map[string]*memoryFolder
	changes int // that were made
	cutAt   int // the change that is not made any more; 0: none
	dead    bool
	full    bool // changes fail with errFull
}

func newDisk() *disk { return &disk{folders: map[string]*memoryFolder{}} }

// open opens a folder.
func (d *disk) open(path string) (folder, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[path]
	if f == nil {
		f = &memoryFolder{disk: d, files: map[string]*inode{}, durable: map[string]*inode{}}
		d.folders[path] = f
	}
	return f, nil
}

// change counts a change, and says whether it can be made. The lock is held.
func (d *disk) change() error {
	d.changes++
	if d.dead = d.dead || d.cutAt > 0 && d.changes >= d.cutAt; d.dead {
		return errDead
	}
	if d.full {
		return errFull
	}
	return nil
}

// setFull says whether the disk is full.
func (d *disk) setFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// kill ends what the process does, as kill -9 does: all that was written stays.
func (d *disk) kill() *disk { return d.restart(nil) }

// restart gives the disk as it is after the power was cut: of what was not durable some is there. Without randomness all is.
func (d *disk) restart(rng *rand.Rand) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
	next := newDisk()
	for path, f := range d.folders {
		kept := &memoryFolder{disk: next, files: map[string]*inode{}, durable: map[string]*inode{}}
		names := f.files
		if rng != nil {
			names = maps.Clone(f.durable)
			for _, change := range f.pending[:rng.IntN(len(f.pending)+1)] {
				change(names)
			}
		}
		for name, node := range names {
			data := slices.Clone(node.data)
			if rng != nil {
				data = node.lose(rng)
			}
			n := &inode{data: data, durable: slices.Clone(data)}
			kept.files[name], kept.durable[name] = n, n
		}
		next.folders[path] = kept
	}
	return next
}

// inode is a file.
type inode struct{ data, durable []byte }

// lose gives what a loss of power leaves: what is durable, and some of what was written since: a part of it, and blocks that have not
// arrived in a file that is as long as it was to be.
func (n *inode) lose(rng *rand.Rand) []byte {
	if slices.Equal(n.data, n.durable) || rng.IntN(3) == 0 {
		return slices.Clone(n.durable)
	}
	common := 0
	for common < min(len(n.data), len(n.durable)) && n.data[common] == n.durable[common] {
		common++
	}
	cut := common + rng.IntN(len(n.data)-common+1)
	left := slices.Clone(n.data[:cut])
	if rng.IntN(2) == 0 {
		left = append(left, make([]byte, rng.IntN(len(n.data)-cut+1))...)
	}
	return left
}

// memoryFolder is a folder of a disk.
type memoryFolder struct {
	disk    *disk
	files   map[string]*inode
	durable map[string]*inode         // by their names, as they are on the disk
	pending []func(map[string]*inode) // changes of names that are not there yet, in their order
}

func (f *memoryFolder) Names() ([]string, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.dead {
		return nil, errDead
	}
	return slices.Sorted(maps.Keys(f.files)), nil
}

// rename changes a name. The lock is held.
func (f *memoryFolder) rename(change func(map[string]*inode)) {
	change(f.files)
	f.pending = append(f.pending, change)
}

func (f *memoryFolder) Open(name string, create bool) (file, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.dead {
		return nil, errDead
	}
	node := f.files[name]
	if node == nil {
		if !create {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		if err := f.disk.change(); err != nil {
			return nil, err
		}
		node = &inode{}
		f.rename(func(names map[string]*inode) { names[name] = node })
	}
	return &memoryFile{f.disk, node}, nil
}

func (f *memoryFolder) Remove(name string) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.change(); err != nil {
		return err
	}
	if f.files[name] == nil {
		return fs.ErrNotExist
	}
	f.rename(func(names map[string]*inode) { delete(names, name) })
	return nil
}

func (f *memoryFolder) Replace(name string, data []byte) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.change(); err != nil {
		return err
	}
	node := &inode{data: slices.Clone(data), durable: slices.Clone(data)}
	f.rename(func(names map[string]*inode) { names[name] = node })
	if err := f.disk.change(); err != nil { // it is there, and not durable
		return err
	}
	f.sync()
	return nil
}

func (f *memoryFolder) sync() { f.durable, f.pending = maps.Clone(f.files), nil }

func (f *memoryFolder) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.change(); err != nil {
		return err
	}
	f.sync()
	return nil
}

// memoryFile is an open file.
type memoryFile struct {
	disk *disk
	node *inode
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.dead {
		return 0, errDead
	}
	if at >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.change()
	if err != nil && f.disk.changes > f.disk.cutAt { // the write that is cut has begun
		return 0, err
	}
	if end := int(at) + len(p); end > len(f.node.data) {
		f.node.data = append(f.node.data, make([]byte, end-len(f.node.data))...)
	}
	copy(f.node.data[at:], p)
	return len(p), err
}

func (f *memoryFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.change(); err != nil {
		return err
	}
	f.node.data = append(slices.Clone(f.node.data[:min(int(size), len(f.node.data))]), make([]byte, max(0, int(size)-len(f.node.data)))...)
	return nil
}

func (f *memoryFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.change(); err != nil {
		return err
	}
	f.node.durable = slices.Clone(f.node.data)
	return nil
}

func (f *memoryFile) Close() error { return nil }

// die cuts the power at once.
func (d *disk) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *disk) isDead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// durableCopy gives what a loss of power would leave now, if it took all that is not durable.
func (d *disk) durableCopy() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newDisk()
	for path, f := range d.folders {
		kept := &memoryFolder{disk: next, files: map[string]*inode{}, durable: map[string]*inode{}}
		for name, node := range f.durable {
			n := &inode{data: slices.Clone(node.durable), durable: slices.Clone(node.durable)}
			kept.files[name], kept.durable[name] = n, n
		}
		next.folders[path] = kept
	}
	return next
}
