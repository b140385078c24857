// Package simulated is a small Debian in memory, on which sites and modules are
// tested: a described machine with files, packages, services, accounts and
// programs. Its apt-get, systemctl, useradd and their like act on its tree as
// the real ones do, as far as tenet's modules use them.
//
// All state stands in the tree, so that a Shadow and a snapshot see all of it.
// A program that nobody described is not there.
package simulated

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// Machine describes what is on a machine, beside a plain Debian. The zero
// value is that Debian: root and some system accounts, the usual directories,
// apt without packages, systemd without services.
type Machine struct {
	Name        string          // what the machine calls itself; empty: "machine"
	Like        string          // the kind of machine that it is, one of KindNames; empty: that plain Debian
	Files       map[string]File // by path; the directories above are made
	Directories map[string]Directory
	Links       map[string]string // path → target
	Packages    map[string]Package
	Services    map[string]Service // by name; "nginx" is "nginx.service"
	Users       map[string]User
	Groups      map[string]Group
	Commands    []Command // of several that fit, the first one answers
	Answers     []Answer  // what is on the network; of several that fit, the first one counts
	Ports       []Port    // where somebody listens, beside those
	// Devices are the network devices by name, beside lo.
	Devices   map[string]links.Link
	NoApt     bool // there is no package manager
	NoSystemd bool // systemd does not run, and there is no systemctl
}

// File is a regular file.
type File struct {
	Content string
	Meta
}

// Directory is a directory.
type Directory struct{ Meta }

// Meta is mode and owner; owner and group are names or numbers.
type Meta struct {
	Mode  *fs.FileMode // nil: 0644, of a directory 0755
	Owner string       // empty: root
	Group string       // empty: root
}

// Package is a package that is installed, or that apt offers. On a machine that is like another
// kind, one without versions is that of the distribution, to which this is added.
type Package struct {
	Installed string   // the version; empty: not installed
	Held      bool     // apt-mark hold
	Available []string // the versions that the package lists have, newest last
	// Files, Links and Services are what installing the package puts on the
	// machine. As on Debian the services are enabled and started, and what lies
	// below /etc stays until it is purged.
	Files    map[string]string
	Links    map[string]string // path → target
	Services []string
}

// Service is a unit of systemd.
type Service struct {
	Running bool
	Enabled bool
	Masked  bool
	// Unit is the text of its file; empty: one that can be started, reloaded
	// and enabled. A unit with ExecStart=/bin/false fails to start.
	Unit string
}

// User is a line of passwd, with its groups and its password. The zero value
// gets free numbers, a group of its own, a home and /bin/sh.
type User struct {
	UID      *int
	Group    string   // the primary group, which must exist; empty: one of its own
	Groups   []string // the others, which must exist
	Comment  string
	Home     string
	Shell    string
	Password string // as it stands in /etc/shadow; empty: locked
}

// Group is a line of group.
type Group struct {
	GID     *int
	Members []string
}

// New makes the machine.
func New(ctx context.Context, m Machine) (*host.Memory, error) {
	b := &builder{ctx: ctx, h: host.NewMemory()}
	b.debian(cmp.Or(m.Name, "machine"))
	kind, catalogue := b.kind(m.Like)
	if catalogue != nil {
		b.must(kind.settle(ctx, b.h))
	}
	b.must(AddAccounts(b.h))
	b.must(AddMounts(ctx, b.h))
	if !m.NoApt {
		b.must(AddApt(ctx, b.h))
	}
	if !m.NoSystemd {
		b.must(AddSystemd(ctx, b.h))
	}
	if catalogue != nil && b.err == nil {
		b.must(kind.furnish(ctx, b.h, catalogue, m))
	}
	b.accounts(m)
	addEach(b, "directory", m.Directories, func(name string, d Directory) error {
		meta, err := d.resolve(b.h)
		if err != nil {
			return err
		}
		if err := MakeDirectory(b.h, name, meta.Mode); err != nil {
			return err
		}
		return b.h.SetMeta(name, meta)
	})
	addEach(b, "file", m.Files, func(name string, f File) error {
		meta, err := f.resolve(b.h)
		if err != nil {
			return err
		}
		return WriteFile(ctx, b.h, name, f.Content, meta)
	})
	addEach(b, "link", m.Links, func(name, target string) error { return Link(b.h, target, name) })
	addEach(b, "package", m.Packages, b.addPackage)
	addEach(b, "service", m.Services, b.addService)
	b.must(addCommands(b.h, m.Commands))
	Connect(b.h, m.Answers, m.Ports)
	b.devices(m.Devices)
	return b.h, b.err
}

// builder makes a machine until the first error.
type builder struct {
	ctx context.Context
	h   *host.Memory
	err error
}

func (b *builder) must(err error) {
	if b.err == nil {
		b.err = err
	}
}

// addEach makes the things of one kind in the order of their names, so that what
// lies in another thing comes after it.
func addEach[T any](b *builder, kind string, things map[string]T, add func(string, T) error) {
	for _, name := range slices.Sorted(maps.Keys(things)) {
		if b.err != nil {
			return
		}
		if err := add(name, things[name]); err != nil {
			b.err = &DescriptionError{Kind: kind, Name: name, Err: err}
		}
	}
}

// DescriptionError says which thing of a Machine cannot be made, and why.
type DescriptionError struct {
	Kind string // "file", "directory", "link", "package", "service", "user", "group" or "command"
	Name string
	Err  error
}

// Error names the thing and the reason.
func (e *DescriptionError) Error() string {
	return fmt.Sprintf("the simulated machine: %s %q: %v", e.Kind, e.Name, e.Err)
}

// Unwrap gives the reason.
func (e *DescriptionError) Unwrap() error { return e.Err }

// debian makes what every machine has.
func (b *builder) debian(name string) {
	for _, dir := range strings.Fields(`
		/boot /dev /etc/apt/sources.list.d /etc/apt/keyrings /etc/cron.d /etc/default /etc/profile.d /etc/skel
		/etc/ssl/certs /etc/ssl/private /etc/sudoers.d /etc/sysctl.d /etc/systemd/system
		/home /media /mnt /opt /proc/sys/kernel /run/lock /srv /sys
		/usr/bin /usr/lib /usr/local/bin /usr/local/sbin /usr/sbin /usr/share
		/var/cache /var/lib /var/log /var/mail /var/spool/cron /var/www`) {
		b.must(MakeDirectory(b.h, dir, nil))
	}
	for dir, mode := range map[string]fs.FileMode{
		"/root": 0o700, "/tmp": 0o777 | fs.ModeSticky, "/var/tmp": 0o777 | fs.ModeSticky,
	} {
		b.must(MakeDirectory(b.h, dir, &mode))
	}
	for link, target := range map[string]string{
		"/bin": "usr/bin", "/lib": "usr/lib", "/sbin": "usr/sbin", "/var/run": "/run",
	} {
		b.must(Link(b.h, target, link))
	}
	for name, text := range map[string]string{
		"/etc/os-release": "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n" +
			"VERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n",
		"/etc/debian_version":        "12.0\n",
		"/etc/hostname":              name + "\n",
		"/etc/hosts":                 "127.0.0.1 localhost\n127.0.1.1 " + name + "\n",
		"/etc/skel/.profile":         "# profile\n",
		"/etc/group":                 "root:x:0:\ndaemon:x:1:\nadm:x:4:\nsudo:x:27:\nwww-data:x:33:\nstaff:x:50:\nusers:x:100:\nnogroup:x:65534:\n",
		"/proc/sys/kernel/osrelease": "6.1.0-simulated\n",
		"/proc/cpuinfo":              "processor\t: 0\nprocessor\t: 1\n",
		"/proc/meminfo":              "MemTotal:        4194304 kB\n",
		accounts.Passwd: "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n" +
			"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	} {
		b.must(WriteFile(b.ctx, b.h, name, text, host.Meta{}))
	}
	for _, shell := range []string{"/usr/bin/bash", "/usr/bin/dash", "/usr/bin/sh", "/usr/bin/false", "/usr/sbin/nologin"} {
		b.must(WriteFile(b.ctx, b.h, shell, "", host.Meta{Mode: new(fs.FileMode(0o755))}))
	}
	shadow := "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\nwww-data:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n"
	b.must(WriteFile(b.ctx, b.h, accounts.Shadow, shadow, host.Meta{Mode: new(fs.FileMode(0o640))}))
}
