package fstab

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/tenetcm/tenet/runtime/host"
)

// MountInfo is where the kernel lists what is mounted.
const MountInfo = "/proc/self/mountinfo"

// Mounted is one line of it.
type Mounted struct {
	Device  string // major:minor
	Root    string // the directory of the file system that is mounted
	Path    string
	Flags   []string // of this mount: rw, nosuid, relatime, …
	Type    string
	Source  string
	Options []string // of the file system: rw, size=65536k, …
}

// ReadMounted lists what is mounted, in the order in which that was done.
func ReadMounted(h host.Reader) ([]Mounted, error) {
	f, err := h.Open(MountInfo)
	if err != nil {
		return nil, err
	}
	list, err := parseMounted(f)
	return list, errors.Join(err, f.Close())
}

func parseMounted(in io.Reader) ([]Mounted, error) {
	list, err := mountinfo.GetMountsFromReader(in, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", MountInfo, err)
	}
	out := make([]Mounted, len(list))
	for i, m := range list {
		out[i] = Mounted{
			Device: fmt.Sprintf("%d:%d", m.Major, m.Minor), Root: m.Root, Path: m.Mountpoint, Flags: strings.Split(m.Options, ","),
			Type: m.FSType, Source: m.Source, Options: strings.Split(Unescape(m.VFSOptions), ","),
		}
	}
	return out, nil
}

// String is the line as the kernel writes it, as far as Mounted knows it.
func (m Mounted) String() string {
	return fmt.Sprintf("0 0 %s %s %s %s - %s %s %s", m.Device, escapeKernel(m.Root), escapeKernel(m.Path),
		strings.Join(m.Flags, ","), escapeKernel(m.Type), escapeKernel(m.Source), escapeKernel(strings.Join(m.Options, ",")))
}

// escapeKernel escapes what the kernel does there.
func escapeKernel(field string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`).Replace(field)
}

// At gives what is mounted on a path last, and so is seen there; nil: nothing.
func At(list []Mounted, path string) *Mounted {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Path == path {
			return &list[i]
		}
	}
	return nil
}

// Holding gives the mount that a path lies in, and the path within its file system.
func Holding(list []Mounted, path string) (Mounted, string, bool) {
	best := -1
	for i, m := range list {
		if !isWithin(m.Path, path) || best >= 0 && len(m.Path) < len(list[best].Path) {
			continue
		}
		best = i
	}
	if best < 0 {
		return Mounted{}, "", false
	}
	m := list[best]
	rest := strings.TrimPrefix(strings.TrimPrefix(path, m.Path), "/")
	within := strings.TrimSuffix(m.Root, "/") + "/" + rest
	if rest == "" {
		within = m.Root
	}
	return m, within, true
}

// isWithin reports whether a path is a directory or lies in it.
func isWithin(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
