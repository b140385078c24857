package mount

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
)

// sameSource reports whether what is mounted is the wanted source, however either
// names it. Where nobody can tell, as with a label that no device has, it is.
func sameSource(h host.Host, f observation, want Mount) bool {
	live, source := f.mounted.Source, *want.Source
	if bind(want.Options) {
		return boundTo(h, f, source)
	}
	if live == source || strings.TrimSuffix(live, "/") == strings.TrimSuffix(source, "/") {
		return true
	}
	source = fstab.Device(source)
	if source != *want.Source {
		if _, err := h.Lstat(source); err != nil {
			return true
		}
	}
	if !path.IsAbs(source) || !path.IsAbs(live) {
		return false
	}
	if device, isLoop := strings.CutPrefix(live, "/dev/loop"); isLoop {
		backing, err := readLine(h, "/sys/block/loop"+device+"/loop/backing_file")
		if err == nil && backing == fstab.RealPath(h, source) {
			return true
		}
	}
	return fstab.RealPath(h, source) == fstab.RealPath(h, live)
}

// boundTo reports whether a bind mount shows this directory.
func boundTo(h host.Reader, f observation, source string) bool {
	// What lies below the mount itself does not count.
	others := slices.DeleteFunc(slices.Clone(f.all), func(m fstab.Mounted) bool { return m.Path == f.real })
	holder, within, ok := fstab.Holding(others, fstab.RealPath(h, source))
	return ok && holder.Device == f.mounted.Device && within == f.mounted.Root
}

func sameType(live fstab.Mounted, want Mount) bool {
	t := *want.Type
	return t == live.Type || t == "auto" || bind(want.Options) ||
		t == "nfs" && live.Type == "nfs4" || "fuse."+t == live.Type || t == "ntfs-3g" && live.Type == "fuseblk"
}

// flagNames are the options that the kernel keeps for each mount, with their opposites.
func flagNames() map[string]string {
	return map[string]string{"ro": "rw", "nosuid": "suid", "nodev": "dev", "noexec": "exec", "sync": "async"}
}

// wantedFlags says which flags the options switch on, and which they say anything of.
func wantedFlags(options []string) (on, said map[string]bool) {
	on, said = map[string]bool{}, map[string]bool{}
	set := func(value bool, names ...string) {
		for _, n := range names {
			on[n], said[n] = value, true
		}
	}
	for _, o := range options {
		switch o {
		case "user", "users":
			set(true, "nosuid", "nodev", "noexec")
		case "owner", "group":
			set(true, "nosuid", "nodev")
		}
		for flag, opposite := range flagNames() {
			switch o {
			case flag:
				set(true, flag)
			case opposite:
				set(false, flag)
			}
		}
	}
	return on, said
}

// accessTimes are the ways to keep them, as options and as the kernel shows them;
// strictatime is shown as nothing.
func accessTimes() []string { return []string{"noatime", "relatime", "strictatime"} }

// optionsDiffer reports whether what is mounted has other options than wanted, as far
// as the kernel tells. A bind mount has its source's where it says nothing.
func optionsDiffer(live fstab.Mounted, want Mount) bool {
	on, said := wantedFlags(want.Options)
	for flag := range flagNames() {
		if bind(want.Options) && !said[flag] {
			continue
		}
		if hasFlag(live, flag) != on[flag] {
			return true
		}
	}
	for _, o := range slices.Backward(want.Options) {
		if i := slices.Index(accessTimes(), o); i >= 0 {
			if accessTime(live) != o {
				return true
			}
			break
		}
	}
	if live.Type != "tmpfs" {
		return false
	}
	for _, key := range []string{"size", "nr_inodes"} {
		is, known := value(live.Options, key)
		wish, given := value(want.Options, key)
		n, comparable := bytes(wish)
		if m, ok := bytes(is); given && comparable && (!known || ok && n != m) {
			return true
		}
	}
	return false
}

func hasFlag(live fstab.Mounted, flag string) bool {
	return slices.Contains(live.Flags, flag) || (flag == "ro" || flag == "sync") && slices.Contains(live.Options, flag)
}

func accessTime(live fstab.Mounted) string {
	for _, o := range accessTimes() {
		if slices.Contains(live.Flags, o) {
			return o
		}
	}
	return "strictatime"
}

// value is that of the last option of this name.
func value(options []string, key string) (string, bool) {
	for _, o := range slices.Backward(options) {
		if v, ok := strings.CutPrefix(o, key+"="); ok {
			return v, true
		}
	}
	return "", false
}

// pageSize is to what tmpfs rounds its size.
const pageSize = 4096

// bytes reads a size as tmpfs takes it; false: it is a share of the memory, or none.
func bytes(size string) (uint64, bool) {
	factor := uint64(1)
	if size != "" {
		if shift := strings.IndexByte("kmgt", size[len(size)-1]|0x20); shift >= 0 {
			factor, size = 1<<(10*(shift+1)), size[:len(size)-1]
		}
	}
	n, err := strconv.ParseUint(size, 10, 40)
	n *= factor
	if n > 1<<20 { // small numbers are of inodes
		n = (n + pageSize - 1) / pageSize * pageSize
	}
	return n, err == nil
}

// describe gives the options of what is mounted as somebody might have written them.
func describe(live fstab.Mounted) []string {
	out := []string{}
	for _, flag := range []string{"ro", "nosuid", "nodev", "noexec", "sync"} {
		if hasFlag(live, flag) {
			out = append(out, flag)
		}
	}
	if a := accessTime(live); a != "relatime" {
		out = append(out, a)
	}
	if live.Type == "tmpfs" {
		for _, key := range []string{"size", "nr_inodes"} {
			if v, ok := value(live.Options, key); ok {
				out = append(out, key+"="+v)
			}
		}
	}
	return out
}

// inWords gives what is mounted as somebody might have written it. A directory that is
// bound is told by the kernel as its file system and its place there: unless the file
// system itself is asked for, it is named as the directory.
func inWords(f observation, asTold bool) Mount {
	live := *f.mounted
	m := Mount{Source: &live.Source, Type: &live.Type, Options: describe(live)}
	if asTold || live.Root == "/" {
		return m
	}
	for _, other := range f.all {
		rest, within := strings.CutPrefix(live.Root, strings.TrimSuffix(other.Root, "/")+"/")
		if within && other.Device == live.Device && other.Path != live.Path {
			m.Source, m.Type = new(path.Join(other.Path, rest)), new("none")
			m.Options = append([]string{"bind"}, m.Options...)
			break
		}
	}
	return m
}
