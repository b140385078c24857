package fstab

import (
	"errors"
	"fmt"
	"io"
	"strings"

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
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return parseMounted(string(data)), nil
}

func parseMounted(text string) []Mounted {
	var out []Mounted
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		head, tail := strings.Split(before, " "), strings.Split(after, " ")
		if !ok || len(head) < 6 || len(tail) < 3 {
			continue
		}
		out = append(out, Mounted{
			Device: head[2], Root: Unescape(head[3]), Path: Unescape(head[4]), Flags: strings.Split(head[5], ","),
			Type: tail[0], Source: Unescape(tail[1]), Options: strings.Split(Unescape(tail[2]), ","),
		})
	}
	return out
}

// String is the line as the kernel writes it, as far as Mounted knows it.
func (m Mounted) String() string {
	return fmt.Sprintf("0 0 %s %s %s %s - %s %s %s", m.Device, escapeKernel(m.Root), escapeKernel(m.Path),
		strings.Join(m.Flags, ","), escapeKernel(m.Type), escapeKernel(m.Source), escapeKernel(strings.Join(m.Options, ",")))
}

// escapeKernel escapes what the kernel does there: "#" besides.
func escapeKernel(field string) string {
	return strings.ReplaceAll(Escape(field), "#", `\043`)
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
		if !below(m.Path, path) || best >= 0 && len(m.Path) < len(list[best].Path) {
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

// below reports whether a path is a directory or lies in it.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
