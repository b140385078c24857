package simulated

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
)

// The files in which mounts and swap stand, as a kernel shows them.
const (
	mountInfo = fstab.MountInfo
	swaps     = "/proc/swaps"
)

// AddMounts adds mount, umount, mkswap, swapon and swapoff, and what the kernel shows
// of them. A mount has no content: what lies below it stays what it was. It is busy
// while a process (/proc/N/cwd) is in it.
func AddMounts(ctx context.Context, h *host.Memory) error {
	b := &builder{h: h}
	for name, text := range map[string]string{
		mountInfo: "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n",
		swaps:     "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
	} {
		b.must(WriteFile(ctx, h, name, text, host.Meta{}))
	}
	for _, helper := range []string{"mount.cifs", "mount.nfs"} {
		b.must(WriteFile(ctx, h, "/usr/sbin/"+helper, "", host.Meta{Mode: new(fs.FileMode(0o755))}))
	}
	s := &suite{h: h}
	s.handle("mount", "-t= -o=", 2, mountProgram)
	s.handle("umount", "", 1, umountProgram)
	s.handle("mkswap", "", 1, mkswapProgram)
	s.handle("swapon", "-p=", 1, swaponProgram)
	s.handle("swapoff", "", 1, swapoffProgram)
	return b.err
}

func (p *program) readMounts() ([]fstab.Mounted, error) { return fstab.ReadMounted(p.h) }

func (p *program) setMounted(list []fstab.Mounted) (host.Result, error) {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.String() + "\n")
	}
	if err := p.write(mountInfo, b.String()); err != nil {
		return host.Result{}, err
	}
	return p.result()
}

// mount is "mount -t TYPE -o OPTIONS -- SOURCE DIR".
func mountProgram(p *program) (host.Result, error) {
	source, dir, options := p.args[0], p.args[1], strings.Split(p.flags["-o"], ",")
	list, err := p.readMounts()
	if err != nil {
		return host.Result{}, err
	}
	if !Exists(p.h, dir) {
		return p.fail(32, "mount: %s: mount point does not exist.", dir)
	}
	if slices.Contains(options, "remount") {
		for i, m := range slices.Backward(list) {
			if m.Path == dir {
				list[i] = kernelOptions(m, options)
				return p.setMounted(list)
			}
		}
		return p.fail(32, "mount: %s: mount point not mounted or bad option.", dir)
	}
	m := fstab.Mounted{Device: fmt.Sprintf("0:%d", 30+len(list)), Root: "/", Path: dir, Type: p.flags["-t"], Source: source}
	switch {
	case slices.Contains(options, "bind") || slices.Contains(options, "rbind"):
		holder, within, ok := fstab.Holding(list, source)
		if !ok || !Exists(p.h, source) {
			return p.fail(32, "mount: %s: special device %s does not exist.", dir, source)
		}
		m.Device, m.Root, m.Type, m.Source = holder.Device, within, holder.Type, holder.Source
	case strings.HasPrefix(source, "/") && !Exists(p.h, source):
		return p.fail(32, "mount: %s: special device %s does not exist.", dir, source)
	case m.Type == "auto":
		m.Type = "ext4"
	}
	return p.setMounted(append(list, kernelOptions(m, options)))
}

// kernelOptions shows options as the kernel does.
func kernelOptions(m fstab.Mounted, options []string) fstab.Mounted {
	flags := map[string]bool{}
	size := ""
	for _, o := range options {
		if opposite, is := map[string]string{"rw": "ro", "suid": "nosuid", "dev": "nodev", "exec": "noexec", "async": "sync"}[o]; is {
			flags[opposite] = false
			continue
		}
		flags[o] = true
		if v, ok := strings.CutPrefix(o, "size="); ok {
			size = v
		}
	}
	m.Flags, m.Options = []string{"rw"}, []string{"rw"}
	if flags["ro"] {
		m.Flags[0] = "ro"
	}
	for _, o := range []string{"nosuid", "nodev", "noexec", "noatime"} {
		if flags[o] {
			m.Flags = append(m.Flags, o)
		}
	}
	if !flags["noatime"] && !flags["strictatime"] {
		m.Flags = append(m.Flags, "relatime")
	}
	if flags["sync"] {
		m.Options = append(m.Options, "sync")
	}
	if n, err := strconv.Atoi(strings.TrimRight(size, "m")); err == nil && strings.HasSuffix(size, "m") {
		m.Options = append(m.Options, fmt.Sprintf("size=%dk", n*1024))
	}
	return m
}

// umount is "umount -- DIR".
func umountProgram(p *program) (host.Result, error) {
	dir := p.args[0]
	list, err := p.readMounts()
	if err != nil {
		return host.Result{}, err
	}
	entries, err := p.h.ReadDir("/proc")
	if err != nil {
		return host.Result{}, err
	}
	for _, e := range entries {
		if cwd, err := p.h.ReadLink(path.Join("/proc", e.Name, "cwd")); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			return p.fail(32, "umount: %s: target is busy.", dir)
		}
	}
	for i, m := range slices.Backward(list) {
		if m.Path == dir {
			return p.setMounted(slices.Delete(list, i, i+1))
		}
	}
	return p.fail(32, "umount: %s: not mounted.", dir)
}

// The signature of a swap area stands at the end of its first page.
const (
	swapPage      = 4096
	swapSignature = "SWAPSPACE2"
)

func mkswapProgram(p *program) (host.Result, error) {
	text := Text(p.h, p.args[0])
	if len(text) < 10*swapPage {
		return p.fail(1, "mkswap: error: swap area needs to be at least 40 KiB")
	}
	at := swapPage - len(swapSignature)
	if err := p.write(p.args[0], text[:at]+swapSignature+text[swapPage:]); err != nil {
		return host.Result{}, err
	}
	return p.result()
}

func swaponProgram(p *program) (host.Result, error) {
	name, text := p.args[0], Text(p.h, p.args[0])
	info, err := p.h.Lstat(name)
	switch {
	case err != nil:
		return p.fail(255, "swapon: cannot open %s: No such file or directory", name)
	case len(text) < swapPage || text[swapPage-len(swapSignature):swapPage] != swapSignature:
		return p.fail(255, "swapon: %s: read swap header failed", name)
	case info.Mode&fs.FileMode(0o077) != 0:
		return p.fail(255, "swapon: %s: insecure permissions", name)
	}
	priority := p.flags["-p"]
	if priority == "" {
		priority = "-2"
	}
	line := fmt.Sprintf("%-40s%s\t\t%d\t\t0\t\t%s\n", name, "file", (len(text)-swapPage)/1024, priority)
	if err := p.write(swaps, Text(p.h, swaps)+line); err != nil {
		return host.Result{}, err
	}
	return p.result()
}

func swapoffProgram(p *program) (host.Result, error) {
	var kept strings.Builder
	gone := false
	for line := range strings.Lines(Text(p.h, swaps)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == p.args[0] {
			gone = true
			continue
		}
		kept.WriteString(line)
	}
	if !gone {
		return p.fail(255, "swapoff: %s: swapoff failed: Invalid argument", p.args[0])
	}
	if err := p.write(swaps, kept.String()); err != nil {
		return host.Result{}, err
	}
	return p.result()
}
