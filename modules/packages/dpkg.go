package packages

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	dpkgStatus   = "/var/lib/dpkg/status"
	dpkgUpdates  = "/var/lib/dpkg/updates"
	extendedInfo = "/var/lib/apt/extended_states"
)

// record is dpkg's own record of all packages, by name. A name has an entry for
// each architecture.
type record map[string][]entry

// entry is a package of one architecture.
type entry struct {
	arch, version string
	want, flag    string // as in Status: install, hold, …; ok or reinstreq
	state         string // installed, config-files, half-configured, …
	priority      string
	essential     bool
}

// Installed implements manager. It reads dpkg's own record, once in a run.
func (apt) Installed(_ context.Context, h host.Host, name string) (installed, error) {
	r, err := dpkgRecord(h)
	if err != nil {
		return installed{}, err
	}
	return r.find(name), nil
}

func dpkgRecord(h host.Reader) (record, error) {
	return host.Cached(h, "dpkg status", []string{dpkgStatus}, func() (record, error) {
		f, err := h.Open(dpkgStatus)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // a system without any package
		}
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if info, err := h.Lstat(dpkgStatus); err == nil {
			text.Grow(int(min(info.Size, 64<<20)) + bytes.MinRead)
		}
		if _, err = io.Copy(&text, struct{ io.Reader }{f}); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return parseRecord(text.Bytes()), f.Close()
	})
}

// parseRecord reads dpkg's status file in one pass: a stanza for each package,
// fields as in deb822, with Status as WANT FLAG STATE.
func parseRecord(text []byte) record {
	r := record{}
	var name string
	var e entry
	end := func() {
		if name != "" && e.state != "" {
			r[name] = append(r[name], e)
		}
		name, e = "", entry{}
	}
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if len(line) == 0 {
			end()
			continue
		}
		switch line[0] { // most lines are of no interest, and are seen to be by one byte
		case 'P', 'S', 'V', 'A', 'E':
			key, value, ok := bytes.Cut(line, []byte(": "))
			if ok && string(key) == "Package" {
				name = string(value)
			} else if ok {
				e.set(string(key), value)
			}
		}
	}
	end()
	return r
}

func (e *entry) set(key string, value []byte) {
	switch key {
	case "Status":
		if words := strings.Fields(string(value)); len(words) == 3 {
			e.want, e.flag, e.state = words[0], words[1], words[2]
		}
	case "Version":
		e.version = string(value)
	case "Architecture":
		e.arch = string(value)
	case "Priority":
		e.priority = string(value)
	case "Essential":
		e.essential = string(value) == "yes"
	}
}

// native is the architecture of the system: that of dpkg itself.
func (r record) native() string {
	for _, e := range r["dpkg"] {
		return e.arch
	}
	return ""
}

// find looks a package up. Without an architecture it is the system's own, or any
// where there is none of that.
func (r record) find(name string) installed {
	name, arch, qualified := strings.Cut(name, ":")
	native := r.native()
	if arch == "native" {
		arch = native
	}
	var found installed
	best := 0
	for _, e := range r[name] {
		rank := 1 // of several architectures, one that is there counts more, and the system's own most
		if e.isThere() {
			rank += 2
		}
		if e.arch == native || e.arch == "all" {
			rank++
		}
		if qualified && arch != "any" && e.arch != arch && e.arch != "all" || rank <= best {
			continue
		}
		best, found = rank, e.installed()
	}
	return found
}

func (e *entry) isThere() bool { return e.state != "not-installed" && e.state != "config-files" }

func (e *entry) installed() installed {
	p := installed{Hold: e.want == "hold"}
	switch e.state {
	case "not-installed":
	case "config-files":
		p.Leftover = true
	case "installed", "triggers-awaited", "triggers-pending":
		p.Version = e.version
	default:
		p.Version, p.State = e.version, e.state
	}
	return p
}

// Unfinished implements inspector: dpkg's journal, which it empties whenever it
// ends well, and packages that are neither there nor gone.
func (apt) Unfinished(h host.Host) (*interruption, error) {
	locks := []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock"}
	entries, err := h.ReadDir(dpkgUpdates)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if strings.Trim(e.Name, "0123456789") == "" {
			return &interruption{
				What:   "dpkg was interrupted: its journal " + dpkgUpdates + " is not empty",
				Repair: "dpkg --configure -a", Locks: locks,
			}, nil
		}
	}
	r, err := dpkgRecord(h)
	if err != nil {
		return nil, err
	}
	var names, told, broken []string
	for name, entries := range r {
		for _, e := range entries {
			if state := e.installed().State; state != "" {
				names, told = append(names, name), append(told, name+" ("+state+")")
				if e.flag == "reinstreq" || state == "half-installed" {
					broken = append(broken, name)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	slices.Sort(told)
	repair := "dpkg --configure -a"
	if len(broken) > 0 {
		slices.Sort(broken)
		repair = "apt-get install --reinstall " + strings.Join(broken, " ")
	}
	return &interruption{
		What:   "dpkg has not ended its work with " + strings.Join(told, ", "),
		Repair: repair, Packages: names, Locks: locks,
	}, nil
}

// Asked implements lister: what apt does not know as installed for the sake of
// others, without what belongs to every Debian system.
func (apt) Asked(_ context.Context, h host.Host) ([]string, error) {
	r, err := dpkgRecord(h)
	if err != nil {
		return nil, err
	}
	data, err := host.ReadFile(h, extendedInfo, 0)
	var auto record
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		auto = parseAutomatic(data)
	}
	needed, err := libraries(h)
	if err != nil {
		return nil, err
	}
	native := r.native()
	var names []string
	for name, entries := range r {
		if needed[name] {
			continue
		}
		for _, e := range entries {
			if e.state != "installed" || e.essential || e.priority == "required" || e.priority == "important" || auto.has(name, e.arch, native) {
				continue
			}
			if e.arch != native && e.arch != "all" {
				names = append(names, name+":"+e.arch)
			} else {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// has reports whether apt's list of packages that came along holds one; it names
// those of no architecture by the system's.
func (r record) has(name, arch, native string) bool {
	return slices.ContainsFunc(r[name], func(e entry) bool {
		return e.arch == arch || arch == "all" && e.arch == native
	})
}

// parseAutomatic reads apt's extended_states: a stanza for each package, where
// "Auto-Installed: 1" marks those that came along with others.
func parseAutomatic(text []byte) record {
	out := record{}
	for stanza := range strings.SplitSeq(string(text), "\n\n") {
		var name string
		var e entry
		automatic := false
		for line := range strings.Lines(stanza) {
			switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
			case "Package":
				name = value
			case "Architecture":
				e.arch = value
			case "Auto-Installed":
				automatic = value == "1"
			}
		}
		if automatic && name != "" {
			out[name] = append(out[name], e)
		}
	}
	return out
}
