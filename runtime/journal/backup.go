package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Former is how a path was before a run first changed it in a block that is to
// be confirmed.
type Former struct {
	Block  string      `json:"block"`
	Part   string      `json:"part"` // that was about to change it
	Path   string      `json:"path"` // see host.Resolve
	Kind   host.Kind   `json:"kind"` // "": nothing was there
	Mode   fs.FileMode `json:"mode,omitempty"`
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
	Target string      `json:"target,omitempty"` // of a symbolic link
	Size   int64       `json:"size,omitempty"`   // of a regular file
	Sum    string      `json:"sha256,omitempty"` // the name of its copy
}

// Backup keeps how paths were before a run changed them, in its folder: index.jsonl,
// a Former a line, in the order of the changes, and the files' contents
// by their digests. What Keep was called for outlives a loss of power on return.
type Backup struct {
	dir  string
	disk disk

	mu    sync.Mutex
	index *file // nil: nothing is kept by this process
	list  []Former
	known map[[2]string]bool // block and path
}

// NewBackup gives a Backup in a directory, which is made if there is none.
func NewBackup(dir string) (*Backup, error) {
	d, err := openDisk(dir, nil)
	return newBackup(d, filepath.Join(dir, "backup")), err
}

func newBackup(d disk, dir string) *Backup {
	return &Backup{dir: dir, disk: d, known: map[[2]string]bool{}}
}

// Backup gives the run's own, which is empty at first.
func (r *Run) Backup() *Backup {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backup == nil {
		r.backup = newBackup(r.folder.disk, r.folder.path(r.ID(), "backup"))
	}
	return r.backup
}

// Backup reads what a run of the folder has kept.
func (f *Folder) Backup(id string) (*Backup, error) {
	b := newBackup(f.disk, f.path(id, "backup"))
	_, err := b.load()
	return b, err
}

// load reads the index, and gives its length without a torn last line: what that
// speaks of was not done.
func (b *Backup) load() (whole int64, err error) {
	data, err := b.disk.readFile(filepath.Join(b.dir, "index.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it had not come to a change
	}
	if err != nil {
		return 0, err
	}
	b.list, b.known = nil, map[[2]string]bool{}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var x exactFormer
		if err := json.Unmarshal(line, &x); err != nil {
			return 0, fmt.Errorf("the backups in %s are damaged: %w", b.dir, err)
		}
		former := x.plain()
		b.list, b.known[[2]string{former.Block, former.Path}] = append(b.list, former), true
		whole += int64(len(line))
	}
	return whole, nil
}

// Keep keeps what is at a path, for each of the blocks that has not kept it
// before. It must have succeeded before the part changes it.
func (b *Backup) Keep(h host.Reader, blocks []string, part, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	path = host.Resolve(h, path)
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(block string) bool { return b.known[[2]string{block, path}] })
	if len(blocks) == 0 {
		return nil
	}
	if err := b.keep(h, blocks, part, path); err != nil {
		return fmt.Errorf("%s is not changed, since what is there could not be saved: %w", path, err)
	}
	for _, block := range blocks {
		b.known[[2]string{block, path}] = true
	}
	return nil
}

func (b *Backup) keep(h host.Reader, blocks []string, part, path string) error {
	if err := b.begin(); err != nil {
		return err
	}
	former, err := b.look(h, path)
	if err != nil {
		return err
	}
	former.Part, former.Path = part, path
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	for _, block := range blocks {
		former.Block = block
		if err := e.Encode(exact(former)); err != nil {
			return err
		}
	}
	_, err = b.index.Write(lines.Bytes())
	if err == nil {
		err = b.index.Sync()
	}
	if err != nil { // a part of it may be there; the next time begins anew
		return errors.Join(err, b.close())
	}
	for _, block := range blocks {
		former.Block = block
		b.list = append(b.list, former)
	}
	return nil
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
	if err != nil {
		return err
	}
	index, err := b.disk.open(filepath.Join(b.dir, "index.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	if err := index.Truncate(whole); err != nil {
		return errors.Join(err, index.Close())
	}
	if err := errors.Join(b.disk.sync(b.dir), b.disk.sync(filepath.Dir(b.dir))); err != nil {
		return errors.Join(err, index.Close())
	}
	b.index = index
	return nil
}

// look describes what is at a path, and copies a file's content.
func (b *Backup) look(h host.Reader, path string) (Former, error) {
	info, err := h.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return Former{}, nil
	}
	if err != nil {
		return Former{}, err
	}
	var in io.ReadCloser
	if info.Kind == host.Regular {
		// All that is kept is of one file, whoever changes what stands there meanwhile:
		// else somebody could have another's content put back as their own.
		if in, info, err = host.OpenStill(h, path); err != nil {
			return Former{}, err
		}
		defer in.Close()
	}
	former := Former{Kind: info.Kind, Mode: info.Mode, UID: info.UID, GID: info.GID}
	switch info.Kind {
	case host.Symlink:
		former.Target, err = h.ReadLink(path)
	case host.Regular:
		former.Size, former.Sum, err = b.copy(in)
	}
	return former, err
}

// copy puts a file's content into the directory, named by its digest.
func (b *Backup) copy(in io.Reader) (size int64, sum string, err error) {
	temp := filepath.Join(b.dir, tempPrefix+"copy")
	out, err := b.disk.open(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	buffered := bufio.NewWriterSize(out, 1<<18)
	size, err = io.Copy(io.MultiWriter(hash, buffered), in)
	if err = errors.Join(err, buffered.Flush()); err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return 0, "", errors.Join(err, b.disk.remove(temp))
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
	return errors.Join(err, b.disk.remove(b.dir))
}

func (b *Backup) close() error {
	if b.index == nil {
		return nil
	}
	index := b.index
	b.index = nil
	return index.Close()
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
		return nil, nil, err
	}
	var p private
	if r.folder.disk.readJSON(r.folder.path(id, secretsFile), &p) == nil {
		_ = p.restore(run) // what is missing stays masked
	}
	b, err := r.folder.Backup(id)
	return run, b, err
}
