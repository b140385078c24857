package journal

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Absent is the Kind of a path at which nothing was. It is a word, so that nothing
// is removed for want of one.
const Absent host.Kind = "absent"

// Former is how a path was before a run first changed it in a block that is to
// be confirmed.
type Former struct {
	Block  string      `json:"block"`
	Part   string      `json:"part"` // that was about to change it
	Path   string      `json:"path"` // see host.Resolve
	Kind   host.Kind   `json:"kind"`
	Mode   fs.FileMode `json:"mode,omitempty"`
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
	Target string      `json:"target,omitempty"` // of a symbolic link
	Size   int64       `json:"size,omitempty"`   // of a regular file
	Sum    string      `json:"sha256,omitempty"` // the name of its copy
	// Dir is the directory in which the path's last name stands: what was there goes back
	// into that and into no other. ID is the directory at the path itself. Both hold for
	// the time since the kernel was started, Boot; later a device may have another number.
	Dir  DirID  `json:"directory,omitzero"`
	ID   DirID  `json:"id,omitzero"`
	Boot string `json:"boot,omitempty"`
	// Older is set where a version of tenet has written it whose records have no digests.
	// Only the part's own paths may be changed by it.
	Older bool `json:"-"`
}

// Backup keeps how paths were before a run changed them, in its folder: index.jsonl,
// a Former a line, in the order of the changes, and the files' contents
// by their digests. What Keep was called for outlives a loss of power on return.
type Backup struct {
	dir  string
	disk disk
	// stateRun reads what the run was to do.
	stateRun func() (*states.StateRun, error)

	mu    sync.Mutex
	index *file // nil: nothing is kept by this process
	list  []Former
	known map[[2]string]bool // block and path
	wrong error              // what of the index cannot be believed
}

// NewBackup gives a Backup in a directory, which is made if there is none.
func NewBackup(dir string) (*Backup, error) {
	d, err := openDisk(dir, nil)
	noRun := func() (*states.StateRun, error) { return nil, ErrNoRun }
	return &Backup{dir: filepath.Join(dir, "backup"), disk: d, stateRun: noRun, known: map[[2]string]bool{}}, err
}

// newBackup gives that of a run.
func (f *Folder) newBackup(id string) *Backup {
	run := sync.OnceValues(func() (*states.StateRun, error) { return f.StateRun(id) })
	return &Backup{dir: f.path(id, "backup"), disk: f.disk, stateRun: run, known: map[[2]string]bool{}}
}

// Backup gives the run's own, which is empty at first.
func (r *Run) Backup() *Backup {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backup == nil {
		r.backup = r.folder.newBackup(r.ID())
	}
	return r.backup
}

// Keep keeps what stands at a place, for each of the blocks that has not kept it
// before. It must have succeeded before the part changes it.
func (b *Backup) Keep(ctx context.Context, h host.Host, blocks []string, part string, at host.Place) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	path := host.Resolve(h, at.Path)
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(block string) bool { return b.known[[2]string{block, path}] })
	if len(blocks) == 0 {
		return nil
	}
	if err := b.keep(ctx, h, blocks, part, path, at); err != nil {
		return fmt.Errorf("%s is not changed, since what is there could not be saved: %w", path, err)
	}
	for _, block := range blocks {
		b.known[[2]string{block, path}] = true
	}
	return nil
}

func (b *Backup) keep(ctx context.Context, h host.Host, blocks []string, part, path string, at host.Place) error {
	if err := b.begin(); err != nil {
		return err
	}
	straight, err := placeOf(h, path, at)
	if err != nil {
		return err
	}
	former, err := b.look(ctx, straight)
	if err = Join(err, straight.Dir.Close()); err != nil {
		return err
	}
	former.Part, former.Path, former.Boot = part, path, BootID()
	return b.write(former, blocks)
}

// write appends a line for each of the blocks.
func (b *Backup) write(former Former, blocks []string) error {
	var lines []byte
	for _, block := range blocks {
		former.Block = block
		line, err := seal(exact(former))
		if err != nil {
			return err
		}
		lines = append(lines, line...)
	}
	_, err := b.index.Write(lines)
	if err == nil {
		err = b.index.Sync()
	}
	if err != nil { // a part of it may be there; the next time begins anew
		return Join(err, b.close())
	}
	for _, block := range blocks {
		former.Block = block
		b.list = append(b.list, former)
	}
	return nil
}

// placeOf opens a place by the path without links under which it is kept. If that leads
// to another directory, somebody is moving them just now.
func placeOf(h host.Host, path string, at host.Place) (host.Place, error) {
	straight, err := host.OpenPlace(h.NoFollow(), path)
	if err != nil {
		return host.Place{}, err
	}
	name := "."
	if at.Name == "." {
		name = straight.Name
	}
	here, err := straight.Dir.Lstat(name)
	there, wrong := at.Dir.Lstat(".")
	if err = Join(err, wrong); err == nil && here.ID != there.ID {
		err = errors.New("another directory was put in the place of the one that it is in")
	}
	if err != nil {
		return host.Place{}, Join(err, straight.Dir.Close())
	}
	return straight, nil
}

// begin makes the directory and the index.
func (b *Backup) begin() error {
	if b.index != nil {
		return nil
	}
	if b.disk.root == nil { // one of its own
		d, err := openDisk(filepath.Dir(b.dir), nil)
		if err != nil {
			return err
		}
		b.disk = d
	}
	if err := b.disk.mkdir(b.dir); err != nil {
		return err
	}
	whole, err := b.load() // of a process before, if the run is resumed
	if err = cmp.Or(err, b.wrong); err != nil {
		return err
	}
	index, err := b.disk.open(filepath.Join(b.dir, "index.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	if err := index.Truncate(whole); err != nil {
		return Join(err, index.Close())
	}
	if err := Join(b.disk.sync(b.dir), b.disk.sync(filepath.Dir(b.dir))); err != nil {
		return Join(err, index.Close())
	}
	b.index = index
	return nil
}

// look describes what stands at a place, and copies a file's content. All that is kept is
// of one file in one directory, whoever changes what stands there meanwhile: else
// somebody could have another's content put back as their own.
func (b *Backup) look(ctx context.Context, at host.Place) (Former, error) {
	dir, err := at.Dir.Lstat(".")
	if err != nil {
		return Former{}, err
	}
	info, err := at.Dir.Lstat(at.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return Former{Kind: Absent, Dir: IDOf(dir)}, nil
	}
	if err != nil {
		return Former{}, err
	}
	var in io.ReadCloser
	if info.Kind == host.Regular {
		if in, info, err = at.Dir.Open(at.Name); err != nil {
			return Former{}, err
		}
		defer in.Close()
	}
	former := Former{Kind: info.Kind, Mode: info.Mode, UID: info.UID, GID: info.GID, Dir: IDOf(dir)}
	switch info.Kind {
	case host.Symlink:
		former.Target, err = at.Dir.ReadLink(at.Name)
	case host.Regular:
		former.Size, former.Sum, err = b.copy(boundedReader(ctx, in, info.Size))
	case host.Directory:
		former.ID = IDOf(info)
	}
	return former, err
}

// boundedReader lets a long copy end with ctx. A short one is made also when the run is about to
// end, so that a part comes to its own end.
func boundedReader(ctx context.Context, in io.Reader, size int64) io.Reader {
	if size <= host.InlineLimit {
		return in
	}
	return host.ReaderWithin(ctx, in)
}

// copy puts a file's content into the directory, named by its digest.
func (b *Backup) copy(in io.Reader) (size int64, sum string, err error) {
	temp := filepath.Join(b.dir, tempPrefix+"copy")
	out, err := b.disk.open(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	to, end := io.Writer(out), func() error { return nil }
	if host.IsSparse(in) {
		holes := &host.HoleWriter{To: out}
		to, end = holes, func() error { return holes.End(out.Truncate) }
	}
	buffered := bufio.NewWriterSize(to, 1<<18)
	size, err = io.Copy(io.MultiWriter(hash, buffered), in)
	if err = Join(err, buffered.Flush()); err == nil {
		err = end()
	}
	if err == nil {
		err = out.Sync()
	}
	if err = Join(err, out.Close()); err != nil {
		return 0, "", Join(err, b.disk.remove(temp))
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	if err := b.disk.rename(temp, filepath.Join(b.dir, sum)); err != nil {
		return 0, "", err
	}
	return size, sum, b.disk.sync(b.dir)
}

// Of lists what was kept for a block, in the order of the changes.
func (b *Backup) Of(block string) []Former {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.list), func(f Former) bool { return f.Block != block })
}

// Content gives what a regular file held.
func (b *Backup) Content(f Former) host.Content {
	return host.Stream(f.Size, f.Sum, func() (io.ReadCloser, error) {
		return b.disk.read(filepath.Join(b.dir, f.Sum))
	})
}

// Dir is the directory.
func (b *Backup) Dir() string { return b.dir }

// Remove removes all that was kept. The Backup can be used anew afterwards.
func (b *Backup) Remove() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.close()
	b.list, b.known = nil, map[[2]string]bool{}
	return Join(err, b.disk.remove(b.dir))
}

func (b *Backup) close() error {
	if b.index == nil {
		return nil
	}
	index := b.index
	b.index = nil
	return index.Close()
}

// Since lists the runs from one of them up to this one.
func (r *Run) Since(id string) ([]string, error) {
	ids, err := r.folder.ids()
	return slices.DeleteFunc(ids, func(other string) bool { return other < id || other > r.ID() }), err
}

// Former reads what an earlier run was to do, and what it has kept. Sensitive values
// that are not on record any more are Masked.
func (r *Run) Former(id string) (*states.StateRun, *Backup, error) {
	run, err := r.folder.StateRun(id)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (what was there is kept in %s until the run is cleaned)", err, r.folder.path(id, "backup"))
	}
	var p private
	if r.folder.disk.readJSON(r.folder.path(id, secretsFile), &p) == nil {
		_ = p.restore(run) // what is missing stays masked
	}
	b, err := r.folder.Backup(id)
	return run, b, err
}
