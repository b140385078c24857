// Package runnerbuild builds the program that is brought to hosts, of the source that this program
// comes from, and keeps it: by what it was built from, so that no other source's is ever taken.
package runnerbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/internal/child"
)

// Builder builds runners. Its fields are not changed once it is used; its methods may be called from
// several goroutines.
type Builder struct {
	Cache   string // the folder that keeps them; empty: none does, and nothing is built
	Source  string // the module's folder; empty: it is looked for
	Version string // of this program, which they get

	once sync.Once
	dir  string // where they are
	err  error  // why there is none

	mu       sync.Mutex
	failures map[string]error // by name: what does not build is not tried for each host
}

// Dir gives the source's folder, and the one that keeps what is built of it. The error says why
// nothing can be built.
func (b *Builder) Dir() (from, kept string, err error) {
	b.once.Do(func() {
		if b.Source == "" {
			b.Source = source()
		}
		switch {
		case b.Cache == "":
			b.err = errors.New("there is no HOME to keep it in")
		case b.Source == "":
			b.err = errors.New("tenet's own source is not here to build it of")
		case !isSource(b.Source):
			b.err = fmt.Errorf("%s is not the source of tenet", b.Source)
		}
		if b.err == nil {
			b.err = fits(b.Source)
		}
		if b.err == nil {
			b.dir, b.err = digest(b.Source)
			b.dir = filepath.Join(b.Cache, b.Version+"-"+b.dir)
		}
	})
	return b.Source, b.dir, b.err
}

// Cached gives the runner that was built before; "": there is none.
func (b *Builder) Cached(system, arch string) string {
	if !b.keeps() {
		return ""
	}
	_, dir, err := b.Dir()
	path := filepath.Join(dir, name(system, arch))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// keeps reports whether any source's runner of this version may be kept: mostly there is none, and no
// source need be looked for.
func (b *Builder) keeps() bool {
	entries, err := os.ReadDir(b.Cache)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), b.Version+"-") })
}

func name(system, arch string) string { return "tenet-runner-" + system + "-" + arch }

// Build gives the path of the runner for a system and an architecture, named as the ssh package has
// them, and builds it unless it was built before; note is called if that takes its time. Who comes
// second waits for the first, in whatever process.
func (b *Builder) Build(ctx context.Context, system, arch string, note func()) (string, error) {
	from, dir, err := b.Dir()
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("there is no Go here, which it is built with")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name(system, arch))
	if err := b.failures[path]; err != nil {
		return "", err
	}
	unlock, err := lockFolder(ctx, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	if b.Cached(system, arch) != "" {
		return path, nil
	}
	note()
	err = b.build(ctx, from, path, system, arch)
	if err != nil && ctx.Err() == nil {
		if b.failures == nil {
			b.failures = map[string]error{}
		}
		b.failures[path] = err
	}
	return path, err
}

// build runs Go, and puts what it makes in its place once it is whole.
func (b *Builder) build(ctx context.Context, from, path, system, arch string) error {
	goarch, arm := arch, ""
	if version, ok := strings.CutPrefix(arch, "armv"); ok {
		goarch, arm = "arm", version
	}
	whole := path + ".new" // nobody else is here
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X "+module+"/internal/version.stamp="+b.Version, "-o", whole, "./"+program)
	c.Dir = from
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+goarch, "GOARM="+arm)
	child.EndTogether(c, time.Second)
	errs := &child.Output{Limit: 64 << 10}
	c.Stderr = errs
	err := c.Run()
	if err != nil {
		err = fmt.Errorf("go build in %s: %w: %s", from, err, shorten(errs.String()))
	}
	if err == nil {
		err = os.Rename(whole, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(whole))
	}
	return nil
}

// shorten is the beginning of what Go says: the first thing that is wrong comes first.
func shorten(text string) string {
	const most = 600
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// lockFolder waits until nobody else builds into a folder, which it makes.
func lockFolder(ctx context.Context, dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f.Close, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
