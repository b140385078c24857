package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
)

// Runners finds the program for a system and an architecture. Its fields are not
// changed once it is used; its methods may be called from several goroutines.
type Runners struct {
	Dirs    []string // looked through in this order for tenet-runner-OS-ARCH
	Self    string   // this program, which is a runner too where system and architecture fit; empty: none
	Version string   // that runners must have; empty: any
	Digests string   // the file that keeps their digests from one time to the next; empty: none

	// Builder builds those that there are not; nil: nobody does.
	Builder Builder

	loadDigests sync.Once // Digests is read
	mu          sync.Mutex
	entries     map[string]*entry     // by path
	fileDigests map[string]fileDigest // likewise
}

// Builder builds runners where they are needed, and keeps them.
type Builder interface {
	// Cached gives the path of one that was built before; "": there is none.
	Cached(os, arch string) string
	// Build builds one, unless it is kept; note is called if that takes its time. The error says
	// why there is none.
	Build(ctx context.Context, os, arch string, note func()) (path string, err error)
}

// Runner is a program that can be sent.
type Runner struct {
	Path   string
	SHA256 string // hex
	Size   int64
}

// entry is what is known of a file, as long as it stays what it is.
type entry struct {
	once    sync.Once
	info    fs.FileInfo
	runner  *Runner
	err     error
	packing sync.Once
	packed  []byte
	packErr error
}

// platform is a machine as "uname -sm" names it, with a line under the blank, and as
// runners for it are named.
type platform struct{ uname, os, arch string }

func platforms() []platform {
	return []platform{
		{"Linux_x86_64", "linux", "amd64"},
		{"Linux_aarch64", "linux", "arm64"},
		{"Linux_armv8l", "linux", "armv7"},
		{"Linux_armv7l", "linux", "armv7"},
		{"Linux_armv6l", "linux", "armv6"},
		{"Linux_riscv64", "linux", "riscv64"},
		{"Linux_i686", "linux", "386"},
		{"Linux_i586", "linux", "386"},
		{"Linux_i386", "linux", "386"},
		{"Linux_ppc64le", "linux", "ppc64le"},
		{"Linux_s390x", "linux", "s390x"},
		{"Linux_loongarch64", "linux", "loong64"},
	}
}

// PackLevel is how well runners are packed for the way: a better level would take
// longer than the network does for what it spares.
const PackLevel = 3

// IsPlatform reports whether there can be runners for a system and an architecture, as
// Find has them.
func IsPlatform(os, arch string) bool {
	return slices.ContainsFunc(platforms(), func(p platform) bool { return p.os == os && p.arch == arch })
}

// NoRunnerError says that there is no runner for a machine.
type NoRunnerError struct {
	OS, Arch string
	Why      string // what is wrong with the one that there is; empty: there is none
}

// Error says it.
func (e *NoRunnerError) Error() string {
	text := fmt.Sprintf("there is no runner for %s %s", e.OS, e.Arch)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Unwrap adds the code, and how to build one.
func (e *NoRunnerError) Unwrap() error {
	return &diag.HintError{Code: codeArch, Message: e.Error(),
		Hint: fmt.Sprintf("where Go and tenet's source are, tenet runner build --os %s --arch %s --out DIR builds one; then give --runner-dir DIR here", e.OS, e.Arch)}
}

// Find gives the runner for a system and an architecture, as Go names them but that
// an ARM of 32 bits is "armv7" or "armv6". The error, a *NoRunnerError, says how to
// build one.
func (r *Runners) Find(os, arch string) (*Runner, error) {
	e, err := r.find(os, arch)
	if err != nil {
		return nil, err
	}
	return e.runner, nil
}

func (r *Runners) find(system, arch string) (*entry, error) {
	names := []string{"tenet-runner-" + system + "-" + arch}
	if arch == "armv7" { // it runs what is made for its elders
		names = append(names, "tenet-runner-"+system+"-armv6")
	}
	for _, dir := range r.Dirs {
		for _, name := range names {
			e, err := r.look(filepath.Join(dir, name))
			switch {
			case err == nil:
				return e, nil
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
				return nil, &NoRunnerError{system, arch, err.Error()}
			}
		}
	}
	own := runtime.GOARCH
	if own == "arm" {
		own = "armv7"
	}
	why := ""
	if r.Self != "" && system == runtime.GOOS && arch == own {
		err := checkStatic(r.Self)
		if err == nil {
			var e *entry
			if e, err = r.look(r.Self); err == nil {
				return e, nil
			}
		}
		why = err.Error()
	}
	if r.Builder != nil {
		if path := r.Builder.Cached(system, arch); path != "" {
			return r.look(path)
		}
	}
	return nil, &NoRunnerError{system, arch, why}
}

// findOrBuild is find, and builds the runner where there is none.
func (r *Runners) findOrBuild(ctx context.Context, system, arch string, note func()) (*entry, error) {
	e, err := r.find(system, arch)
	none, missing := errors.AsType[*NoRunnerError](err)
	if !missing || r.Builder == nil {
		return e, err
	}
	path, err := r.Builder.Build(ctx, system, arch, note)
	if err != nil {
		if none.Why != "" {
			none.Why += "; "
		}
		none.Why += err.Error()
		return nil, none
	}
	return r.look(path)
}

// checkStatic reports a program that needs libraries, which other machines may not have.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("%s needs libraries of this machine: build it with CGO_ENABLED=0 go build", path)
	}
	return nil
}

// look reads a file once, and anew where it has become another.
func (r *Runners) look(path string) (*entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	if r.entries == nil {
		r.entries = map[string]*entry{}
	}
	e := r.entries[path]
	if e == nil || !os.SameFile(e.info, info) || e.info.Size() != info.Size() || !e.info.ModTime().Equal(info.ModTime()) {
		e = &entry{info: info}
		r.entries[path] = e
	}
	r.mu.Unlock()
	e.once.Do(func() {
		if sum := r.recall(path, info); sum != "" {
			e.runner = &Runner{path, sum, info.Size()}
			return
		}
		if e.runner, e.err = digest(path); e.err == nil {
			r.keep(path, info, e.runner.SHA256)
		}
	})
	return e, e.err
}

func digest(path string) (*Runner, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return &Runner{path, hex.EncodeToString(sum.Sum(nil)), size}, nil
}

// read gives the program as it is sent, which is what its digest says: a file that
// was replaced meanwhile is none.
func (e *entry) read() ([]byte, error) {
	data, err := os.ReadFile(e.runner.Path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != e.runner.SHA256 {
		return nil, fmt.Errorf("%s has changed while it was used", e.runner.Path)
	}
	return data, nil
}

// compress is the program, packed once.
func (e *entry) compress() ([]byte, error) {
	e.packing.Do(func() {
		data, err := e.read()
		if err != nil {
			e.packErr = err
			return
		}
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, PackLevel)
		if err != nil {
			e.packErr = err
			return
		}
		_, err = w.Write(data)
		e.packErr = errors.Join(err, w.Close())
		e.packed = out.Bytes()
	})
	return e.packed, e.packErr
}

// table lists the runners for startScript.
func (r *Runners) table() string {
	out := make([]string, len(platforms()))
	var wait fault.Group
	for i, p := range platforms() {
		wait.Go(func() { // each is read whole, the first time
			if e, err := r.find(p.os, p.arch); err == nil {
				out[i] = p.uname + "=" + e.runner.SHA256
			}
		})
	}
	wait.Wait()
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " ")
}

// forUname gives the runner for a machine as startScript names it, and builds it where there is none.
func (r *Runners) forUname(ctx context.Context, uname string, note func()) (*entry, error) {
	for _, p := range platforms() {
		if p.uname == uname {
			return r.findOrBuild(ctx, p.os, p.arch, note)
		}
	}
	system, arch, _ := strings.Cut(uname, "_")
	return nil, &NoRunnerError{OS: strings.ToLower(system), Arch: arch, Why: "tenet is not made for such machines"}
}
