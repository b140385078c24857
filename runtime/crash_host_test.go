package runtime_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// ending is what becomes of a process, or of one of its operations.
type ending int

const (
	lives  ending = iota // nothing happens
	dies                 // the operation has no effect, nor has any after it
	halts                // it has half of its effect, and none after it has any
	misses               // it fails with an error, and those after it go well
	full                 // so do all others that write
)

// fate is what happens to one process: something, at one of its operations.
// Host and journal share the count.
type fate struct {
	at  int // the operation, from 1; 0: none
	how ending
	err error // of misses and full
	// torn is how many bytes of a write a process leaves that halts; 0: half.
	torn int
	// watch sees what the journal is about to do, after how many operations.
	watch func(op journal.Op, done int)

	mu    sync.Mutex
	count int
	op    string // the operation that it met
	dead  bool
	whole bool // it met an operation of which no half can be done
}

// errDead is what a dead process would be told, if anybody told it anything.
var errDead = errors.New("this process is dead")

// effect is how much of an operation is done.
type effect int

const (
	whole effect = iota
	half
	nothing
)

// decide counts an operation, and says how much of it is done.
func (f *fate) decide(op string, writes bool) (effect, error) {
	return f.decideFor(op, writes, false)
}

// decideFor also says whether half of the operation can be done.
func (f *fate) decideFor(op string, writes, halves bool) (effect, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	hit := f.count == f.at
	if hit {
		f.op = op
	}
	switch {
	case f.dead:
		return nothing, errDead
	case hit && (f.how == dies || f.how == halts):
		f.dead, f.whole = true, !halves
		if f.how == halts && halves {
			return half, errDead
		}
		return nothing, errDead
	case hit && f.how == misses && (writes || f.err == syscall.EIO), f.how == full && writes && f.count >= f.at:
		return nothing, f.err
	}
	return whole, nil
}

// done is how many operations there were.
func (f *fate) done() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// died reports whether the process is dead.
func (f *fate) died() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// met reports whether the process came so far as its fate.
func (f *fate) met() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.op != ""
}

// mortal is a world's host as one process sees it.
type mortal struct {
	host.Limited
	world *world
	fate  *fate
	names host.Namer
}

// ForRun gives names of the run to temporary files.
func (h *mortal) ForRun(id string) host.Host {
	return &mortal{world: h.world, fate: h.fate, names: h.world.ForRun(id)}
}

func (h *mortal) TempName() string {
	if h.names == nil {
		return h.Limited.TempName()
	}
	return h.names.TempName()
}

func (h *mortal) NoFollow() host.Host                   { return host.NoFollowByPath(h) }
func (h *mortal) OpenDir(path string) (host.Dir, error) { return host.DirByPath(h, path) }
func (h *mortal) OpenNoFollow(path string) (io.ReadCloser, host.Info, error) {
	return h.NoFollow().OpenNoFollow(path)
}

// read counts an operation that only looks.
func (h *mortal) read(op, path string) error {
	_, err := h.fate.decide(op+" "+path, false)
	if err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// write counts an operation that changes something, and does as much of it as
// is left to do. Each of them is atomic: half of one is nothing.
func (h *mortal) write(op, path string, do func() error) error {
	e, err := h.fate.decide(op+" "+path, true)
	if e == whole {
		return h.world.change(path, do)
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func (h *mortal) Lstat(path string) (host.Info, error) {
	if err := h.read("lstat", path); err != nil {
		return host.Info{}, err
	}
	return h.world.Memory.Lstat(path)
}

func (h *mortal) ReadDir(path string) ([]host.Entry, error) {
	if err := h.read("readdir", path); err != nil {
		return nil, err
	}
	return h.world.Memory.ReadDir(path)
}

func (h *mortal) ReadLink(path string) (string, error) {
	if err := h.read("readlink", path); err != nil {
		return "", err
	}
	return h.world.Memory.ReadLink(path)
}

func (h *mortal) Open(path string) (io.ReadCloser, error) {
	if err := h.read("open", path); err != nil {
		return nil, err
	}
	return h.world.Memory.Open(path)
}

func (h *mortal) WriteFile(ctx context.Context, path string, c host.Content, m host.Meta) error {
	e, err := h.fate.decideFor("write "+path, true, true)
	if e == half { // the temporary file is there, and has not got its name
		temp := filepath.Join(filepath.Dir(path), h.TempName())
		err = errors.Join(err, h.world.change(temp, func() error { return h.world.Memory.WriteFile(ctx, temp, host.Text("…"), m) }))
	}
	if e == whole {
		err = h.world.change(path, func() error { return h.world.Memory.WriteFile(ctx, path, c, m) })
	}
	return err
}

func (h *mortal) Mkdir(path string, m host.Meta) error {
	e, err := h.fate.decideFor("mkdir "+path, true, true)
	if e == half { // it is there under a temporary name, and nobody's but ours as yet
		temp := filepath.Join(filepath.Dir(path), h.TempName())
		err = errors.Join(err, h.world.change(temp, func() error { return h.world.Memory.Mkdir(temp, host.Meta{Mode: new(fs.FileMode(0o700))}) }))
	}
	if e == whole {
		err = h.world.change(path, func() error { return h.world.Memory.Mkdir(path, m) })
	}
	return err
}

func (h *mortal) Symlink(target, path string, m host.Meta) error {
	return h.write("symlink", path, func() error { return h.world.Memory.Symlink(target, path, m) })
}

func (h *mortal) SetMeta(path string, m host.Meta) error {
	return h.write("chown", path, func() error { return h.world.Memory.SetMeta(path, m) })
}

func (h *mortal) Remove(path string) error {
	return h.write("remove", path, func() error { return h.world.Memory.Remove(path) })
}

// Run starts a program of the world, which may be ended in its middle.
func (h *mortal) Run(_ context.Context, c host.Command) (host.Result, error) {
	e, err := h.fate.decideFor("run "+strings.Join(c.Argv, " "), true, true)
	var result host.Result
	if e != nothing {
		result = h.world.program(c.Argv, e)
	}
	return result, err
}

func (h *mortal) Query(ctx context.Context, q host.Query) (host.Result, error) {
	if err := h.read("query", strings.Join(q.Argv, " ")); err != nil {
		return host.Result{}, err
	}
	return h.world.Memory.Query(ctx, q)
}

func (h *mortal) User(name string) (host.User, error)   { return h.world.User(name) }
func (h *mortal) UserID(uid int) (host.User, error)     { return h.world.UserID(uid) }
func (h *mortal) Group(name string) (host.Group, error) { return h.world.Group(name) }
func (h *mortal) GroupID(gid int) (host.Group, error)   { return h.world.GroupID(gid) }
func (h *mortal) Actor() (uid, gid int)                 { return h.world.Actor() }

// Sync makes durable what was done on the host.
func (h *mortal) Sync() error {
	e, err := h.fate.decide("sync", true)
	if e == whole {
		h.world.sync()
	}
	return err
}
