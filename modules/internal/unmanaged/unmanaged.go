// Package unmanaged lists the files of a host that somebody has set up: those that no
// package has brought as they are, and that no program makes of others.
package unmanaged

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// Below lists what is of a kind at the paths and below them, sorted, without what
// packages have brought. The error says what could not be read; the list holds the
// others all the same.
func Below(ctx context.Context, h host.Host, paths []string, kind host.Kind) ([]string, error) {
	brought, err := load(h)
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, h: h, kind: kind, packageFiles: brought}
	for _, p := range paths {
		info, err := h.Lstat(p)
		if err != nil {
			w.errs = append(w.errs, err)
			continue
		}
		w.visit(p, info.Kind)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.Sort(w.names)
	return slices.Compact(w.names), errors.Join(w.errs...)
}

// List makes a module's List of Below, by what makes a key of a path.
func List[T any](kind host.Kind, key func(path string) T) func(context.Context, host.Host, []string) ([]T, error) {
	return func(ctx context.Context, h host.Host, paths []string) ([]T, error) {
		names, err := Below(ctx, h, paths, kind)
		keys := make([]T, len(names))
		for i, name := range names {
			keys[i] = key(name)
		}
		return keys, err
	}
}

type walk struct {
	ctx          context.Context
	h            host.Host
	kind         host.Kind
	packageFiles *packageFiles
	names        []string
	errs         []error
}

func (w *walk) visit(name string, kind host.Kind) {
	if isGenerated(name) || w.ctx.Err() != nil {
		return
	}
	if kind == w.kind {
		asIs, err := w.packageFiles.asIs(w.ctx, w.h, name, kind)
		if err != nil {
			w.errs = append(w.errs, err)
		}
		if !asIs && err == nil {
			w.names = append(w.names, name)
		}
	}
	if kind != host.Directory {
		return
	}
	entries, err := w.h.ReadDir(name)
	if err != nil {
		w.errs = append(w.errs, err)
		return
	}
	for _, e := range entries {
		w.visit(path.Join(name, e.Name), e.Kind)
	}
}

// isGenerated reports whether programs make what is at the path, or other types of
// parts are for it: the kernel's trees, records of package managers, caches, accounts,
// links of units that are enabled.
func isGenerated(name string) bool {
	switch name {
	case "/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/cache", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/tenet", "/var/log", "/boot", "/lost+found",
		"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid",
		"/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-",
		"/etc/machine-id", "/etc/mtab", "/etc/ld.so.cache", "/etc/.pwd.lock", "/etc/.updated", "/etc/adjtime",
		"/etc/alternatives", "/etc/ssl/certs", "/etc/ca-certificates.conf":
		return true
	}
	dir, base := path.Split(name)
	switch {
	case strings.HasSuffix(base, "~"), strings.Contains(base, ".dpkg-"), strings.Contains(base, ".ucf-"):
		return true
	case strings.HasPrefix(dir, "/etc/rc") && strings.HasSuffix(dir, ".d/") && dir != "/etc/rc.local.d/":
		return true
	}
	return strings.HasPrefix(name, "/etc/systemd/") && (strings.HasSuffix(name, ".wants") || strings.HasSuffix(name, ".requires"))
}

// packageFiles is what packages have brought, as dpkg knows it. Of other package managers
// nothing is known.
type packageFiles struct {
	sums  map[string]string // path → MD5 in hex
	names map[string]bool
}

const dpkg = "/var/lib/dpkg"

// load reads the records of dpkg: the sums of configuration files stand in its status,
// those of others, and all paths, in files of each package.
func load(h host.Reader) (*packageFiles, error) {
	b := &packageFiles{sums: map[string]string{}, names: map[string]bool{}}
	status, err := host.ReadText(h, dpkg+"/status")
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	conffiles := false
	for line := range strings.Lines(status) {
		if !strings.HasPrefix(line, " ") {
			conffiles = strings.HasPrefix(line, "Conffiles:")
			continue
		}
		if words := strings.Fields(line); conffiles && len(words) >= 2 {
			b.add(words[0], words[1])
		}
	}
	entries, err := h.ReadDir(dpkg + "/info")
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		list, sums := strings.HasSuffix(e.Name, ".list"), strings.HasSuffix(e.Name, ".md5sums")
		if !list && !sums {
			continue
		}
		lines, err := host.ReadText(h, path.Join(dpkg, "info", e.Name))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			if list {
				b.add(line, "")
			} else if sum, name, ok := strings.Cut(line, "  "); ok {
				b.add("/"+name, sum)
			}
		}
	}
	return b, nil
}

// add enters a path, also as it is called since /lib and the like are links.
func (b *packageFiles) add(name, sum string) {
	names := []string{name}
	for _, dir := range []string{"/lib", "/bin", "/sbin"} {
		if strings.HasPrefix(name, dir+"/") {
			names = append(names, "/usr"+name)
		}
	}
	for _, name := range names {
		b.names[name] = true
		if sum != "" {
			b.sums[name] = sum
		}
	}
}

// asIs reports whether a package has brought what is at the path, and it is still
// so, as far as that is known.
func (b *packageFiles) asIs(ctx context.Context, h host.Reader, name string, kind host.Kind) (bool, error) {
	if kind != host.Regular {
		return b.names[name], nil
	}
	sum := b.sums[name]
	if sum == "" {
		return false, nil
	}
	f, err := h.Open(name)
	if err != nil {
		return false, err
	}
	digest := md5.New()
	_, err = io.Copy(digest, host.ReaderWithin(ctx, f))
	if err = errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return hex.EncodeToString(digest.Sum(nil)) == sum, nil
}
