package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// UnitFiles is systemd's services by their files alone: which there are, and which
// are enabled or masked. This is all that can be known where no systemd runs, as
// in a tree below a root, and on a Shadow. What needs a systemd that runs is an
// error. With a user it is about the services of that account's own.
//
// What counts, and in which order, follows systemd.unit(5) and systemctl(1).
// Unknown: what a generator would make, and links that stand on the host since
// it was started.
func UnitFiles(h Host, user string) (Init, error) {
	if user == "" {
		return &unitFiles{
			h: h, config: "/etc/systemd/system", runtimeConfig: "/run/systemd/system", dirs: []string{
				"/etc/systemd/system", "/run/systemd/transient", "/run/systemd/system", "/run/systemd/generator",
				"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator.late",
			},
		}, nil
	}
	u, err := h.User(user)
	if err != nil {
		return nil, err
	}
	own := path.Join(u.Home, ".config/systemd/user")
	run := fmt.Sprintf("/run/user/%d/systemd/", u.UID)
	return &unitFiles{
		h: h, user: &u, config: own, runtimeConfig: run + "user", dirs: []string{
			own, "/etc/systemd/user", run + "transient", run + "user", "/run/systemd/user", run + "generator",
			path.Join(u.Home, ".local/share/systemd/user"),
			"/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user", run + "generator.late",
		},
	}, nil
}

// NotRunning is the error of an Init that only has files, when something is to be
// started or stopped.
type NotRunning struct {
	System  string
	Missing string // how that is known; may be empty
}

// Error names the init system, and how it is known that it does not run.
func (e *NotRunning) Error() string {
	why := e.Missing
	if why != "" {
		why = " (" + why + ")"
	}
	return fmt.Sprintf("no %s runs on this host%s, so no service can be started, stopped or reloaded", e.System, why)
}

// Is makes it an ErrUnsupported.
func (e *NotRunning) Is(target error) bool { return target == ErrUnsupported }

// unitFiles is the Init of UnitFiles.
type unitFiles struct {
	h             Host
	user          *User    // nil: the machine's own
	config        string   // where what is enabled and masked is noted
	runtimeConfig string   // the same until the next start
	dirs          []string // where unit files are, the first one counts
}

// System is Init.System.
func (u *unitFiles) System() string { return "systemd" }

// Refresh is Init.Refresh: there is nothing that would have to know.
func (u *unitFiles) Refresh(context.Context) error { return nil }

// Services is Init.Services.
func (u *unitFiles) Services(ctx context.Context) ([]Service, error) {
	names := map[string]bool{}
	for _, dir := range u.dirs {
		entries, err := u.list(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			// A template is no service: its instances are.
			template := strings.HasSuffix(e.Name, "@.service")
			if e.Kind != Directory && path.Ext(e.Name) == ".service" && !template && !strings.HasPrefix(e.Name, ".") {
				names[e.Name] = true
			}
		}
	}
	var out []Service
	for name := range names {
		s, err := u.Service(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a link that leads nowhere
		case err != nil:
			return nil, err
		default:
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Service is Init.Service. Whether it runs is left open.
func (u *unitFiles) Service(_ context.Context, name string) (Service, error) {
	s := Service{Name: name}
	f, err := u.find(name)
	if err != nil {
		return s, err
	}
	if f.mask != "" {
		s.Load, s.Enablement = "masked", f.mask
		return s, nil
	}
	s.Load = "loaded"
	s.Type = f.lastValue("Service", "Type", "simple")
	if f.unit["Service.BusName"] != nil {
		s.Type = f.lastValue("Service", "Type", "dbus")
	}
	s.CanReload = len(f.unit["Service.ExecReload"]) > 0
	s.Enablement, err = u.enablement(f)
	return s, err
}

// Do is Init.Do, for what is done by files.
func (u *unitFiles) Do(_ context.Context, verb Verb, name string) error {
	switch verb {
	case Enable:
		return u.enable(name, map[string]bool{})
	case Disable:
		return u.disable(name)
	case Mask:
		return u.mask(name)
	case Unmask:
		return u.unmask(name)
	}
	return &NotRunning{"systemd", "/run/systemd/system is not there"}
}

// notKnown is the error that there is no such service.
type notKnown struct{ name string }

func (e *notKnown) Error() string { return "this host has no unit named " + e.name }

// Is makes it an fs.ErrNotExist, without that error's words about files.
func (e *notKnown) Is(target error) bool { return target == fs.ErrNotExist }

// unitFile is what stands in the files of one unit.
type unitFile struct {
	name  string
	path  string // of the file that counts
	dir   string
	mask  string // masked, masked-runtime; empty: it is not
	alias bool   // the name leads to another unit
	link  bool   // it leads to a file elsewhere
	unit  unitText
}

// lastValue gives the value of a key that is given last.
func (f *unitFile) lastValue(section, key, otherwise string) string {
	if values := f.unit[section+"."+key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return otherwise
}

// template gives the name of the template that an instance is of; "" where the name
// is none of an instance.
func template(name string) string {
	prefix, rest, ok := strings.Cut(name, "@")
	if ok && rest != path.Ext(name) {
		return prefix + "@" + path.Ext(name)
	}
	return ""
}

// find looks for the files of a unit.
func (u *unitFiles) find(name string) (*unitFile, error) {
	f, err := u.fragment(name)
	if f == nil && err == nil && template(name) != "" {
		f, err = u.fragment(template(name))
	}
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, &notKnown{name}
	case f.mask != "":
		return f, nil
	}
	texts := make([]string, 1, 4)
	if texts[0], err = u.read(f.path); err != nil {
		return nil, err
	}
	for _, of := range []string{template(name), name} {
		if of != "" {
			more, err := u.dropIns(of)
			if err != nil {
				return nil, err
			}
			texts = append(texts, more...)
		}
	}
	f.unit = parseUnit(texts...)
	f.name = name
	return f, nil
}

// fragment finds the file of exactly this name; nil: there is none.
func (u *unitFiles) fragment(name string) (*unitFile, error) {
	for _, dir := range u.dirs {
		at := path.Join(dir, name)
		info, err := u.h.Lstat(at)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f := &unitFile{name: name, path: at, dir: dir}
		mask := "masked"
		if dir == u.runtimeConfig {
			mask = "masked-runtime"
		}
		switch info.Kind {
		case Symlink:
			target, err := u.h.ReadLink(at)
			if err != nil {
				return nil, err
			}
			if target == "/dev/null" {
				f.mask = mask
				return f, nil
			}
			if to := path.Base(target); to != name && to != template(name) {
				f.alias = true
			} else if !slices.Contains(u.dirs, path.Dir(path.Join(dir, target))) && !slices.Contains(u.dirs, path.Dir(target)) {
				f.link = true
			}
			return f, nil
		case Regular:
			if info.Size == 0 {
				f.mask = mask
			}
			return f, nil
		}
	}
	return nil, nil
}

// dropIns gives the texts that are added to a unit's, in their order.
func (u *unitFiles) dropIns(name string) ([]string, error) {
	where := map[string]string{} // file → directory; the first one counts
	for _, dir := range u.dirs {
		entries, err := u.list(path.Join(dir, name+".d"))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if _, earlier := where[e.Name]; !earlier && strings.HasSuffix(e.Name, ".conf") {
				where[e.Name] = path.Join(dir, name+".d", e.Name)
			}
		}
	}
	var texts []string
	for _, file := range sortedKeys(where) {
		text, err := u.read(where[file])
		if err != nil && !isMissing(err) && !errors.Is(err, errSpecial) {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// maxUnit is how much of a unit's file is read: systemd's own limit is 1 MiB a line.
const maxUnit = 1 << 20

// read reads a unit's file. One that is a link may lead nowhere.
func (u *unitFiles) read(at string) (string, error) {
	f, err := u.h.Open(at)
	if err != nil {
		return "", err
	}
	data, err := readAtMost(f, maxUnit)
	return string(data), errors.Join(err, f.Close())
}

// list lists a directory that need not be there.
func (u *unitFiles) list(dir string) ([]Entry, error) {
	entries, err := u.h.ReadDir(dir)
	if isMissing(err) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return entries, err
}

// isMissing reports whether nothing can be at a path.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
