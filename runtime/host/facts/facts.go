// Package facts is what a host says about itself: its distribution, name, addresses,
// accounts and the like, as plain values by their names.
package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// Facts are what a host says about itself, as plain values (string, bool,
// json.Number, []any, map[string]any; nil where there is nothing to say). Each
// is gathered once, when it is asked for first. The methods may be called from
// several goroutines.
//
// What belongs to the tree of files (os, hostname, package manager, accounts)
// is read from the host. What belongs to the running machine (kernel, cpus,
// addresses) is that of the machine which the program runs on, also where a
// Local has a root; of a Memory host it is what its tree says.
type Facts struct {
	host host.Host
	// machine reads /proc, /sys and /run of the running machine.
	machine   host.Reader
	live      bool // the machine is real: the kernel may be asked
	gather    map[string]func() (any, error)
	overrides map[string]any
}

// New makes the facts of a host. Overrides replace facts by their names. Without a
// host (nil) they can be asked for their names alone.
func New(h host.Host, overrides map[string]any) *Facts {
	if h == nil {
		h = host.NewMemory()
	}
	f := &Facts{host: h, overrides: overrides}
	if f.machine, f.live = host.RunningMachine(h); f.machine == nil {
		f.machine = h
	}
	f.gather = map[string]func() (any, error){
		"os":              f.os,
		"kernel":          f.kernel,
		"arch":            f.arch,
		"hostname":        f.hostname,
		"fqdn":            f.fqdn,
		"cpus":            f.cpus,
		"memory":          f.memory,
		"ipv4":            f.ipv4,
		"ipv6":            f.ipv6,
		"interfaces":      f.interfaces,
		"init":            f.initSystem,
		"package_manager": f.packageManager,
		"user":            f.user,
		"uid":             f.uid,
		"home":            f.home,
		"virtual":         f.virtual,
		"apparmor":        f.apparmor,
		"boot_id":         f.bootID,
		"capabilities":    f.capabilities,
		"cgroup":          f.cgroup,
		"container":       f.isContainer,
		"disks":           f.disks,
		"dns":             f.dns,
		"gateway":         f.gateway,
		"locale":          f.locale,
		"login":           f.login,
		"machine_id":      f.machineID,
		"mounts":          f.mounts,
		"product":         f.product,
		"selinux":         f.selinux,
		"ssh_host_keys":   f.sshHostKeys,
		"swap":            f.swap,
		"timezone":        f.timezone,
	}
	for name, get := range f.gather {
		f.gather[name] = sync.OnceValues(get)
	}
	for name, value := range overrides {
		f.gather[name] = func() (any, error) { return value, nil }
	}
	return f
}

// Names lists the facts, sorted.
func (f *Facts) Names() []string { return slices.Sorted(maps.Keys(f.gather)) }

// IsGiven reports whether a fact is one of the overrides.
func (f *Facts) IsGiven(name string) bool {
	_, given := f.overrides[name]
	return given
}

// Fact gives a fact by its name.
func (f *Facts) Fact(name string) (any, error) {
	get, ok := f.gather[name]
	if !ok {
		return nil, &diag.HintError{Message: fmt.Sprintf("there is no fact %q", name),
			Hint: cmp.Or(diag.DidYouMean(name, f.Names()), "there are "+strings.Join(f.Names(), ", "))}
	}
	value, err := get()
	if err != nil {
		return nil, fmt.Errorf("fact %s: %w", name, err)
	}
	return value, nil
}

// text reads a small file; "" if it cannot be read.
func text(r host.Reader, path string) string {
	text, _ := host.ReadText(r, path)
	return text
}

// word is the text without the space around it; nil for none.
func word(s string) any {
	if s = strings.TrimSpace(s); s != "" {
		return s
	}
	return nil
}

// exists reports whether something stands at the path.
func exists(r host.Reader, path string) bool {
	_, err := r.Lstat(path)
	return err == nil
}
