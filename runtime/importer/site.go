package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// area is a state of the site, whose parts come one after the other.
type area struct {
	machine.ImportArea
	parts []*part
}

// site is what somebody has set up on a machine.
type site struct {
	areas     []*area
	omissions []machine.Omission
}

// types gives what a word stands for.
func types(word string) []string {
	switch word {
	case "packages":
		return []string{"package"}
	case "services":
		return []string{"service"}
	case "groups":
		return []string{"group"}
	case "users":
		return []string{"group", "user"}
	case "files":
		return []string{"directory", "file", "symlink"}
	}
	return []string{word}
}

// Types gives the types of parts that the words name, each once. The error names a
// word that stands for none, or for one that cannot be listed.
func Types(registry *states.Registry, words []string) ([]*states.Module, error) {
	var out []*states.Module
	for _, word := range words {
		for _, name := range types(word) {
			m := registry.Lookup(name)
			switch {
			case m == nil:
				return nil, fmt.Errorf("there is nothing called %q", word)
			case m.List == nil:
				return nil, fmt.Errorf("no machine says which parts of type %s somebody has set up", name)
			case !slices.Contains(out, m):
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// ListableTypes gives the names of the types that can be listed.
func ListableTypes(registry *states.Registry) []string {
	var names []string
	for _, name := range registry.Names() {
		if registry.Lookup(name).List != nil {
			names = append(names, name)
		}
	}
	return names
}

// Import declares what somebody has set up on a host, of the types; of those with
// paths, what is at or below the paths. What cannot be read is left out, and named.
func Import(ctx context.Context, h host.Host, modules []*states.Module, paths []string, o Options) (*machine.Import, error) {
	s := &site{}
	for _, m := range modules {
		keys, err := m.List(ctx, h, paths)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// Where a directory such as /etc/sudoers.d is missing, nobody has set anything up.
		if nothing := len(keys) == 0 && errors.Is(err, fs.ErrNotExist); err != nil && !nothing {
			s.leaveOut(m.Name, err)
		}
		for _, key := range keys {
			values := m.Encode(key)
			for name := range values {
				if a := m.Attribute(name); !a.Key && !a.In {
					delete(values, name)
				}
			}
			p, err := read(ctx, h, m, values, o)
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case errors.Is(err, ErrNotThere), errors.Is(err, fs.ErrNotExist): // it has gone since
			case err != nil:
				s.leaveOut(states.LabelAddress(m.Name, m.Key(values)), err)
			default:
				a := s.area(p)
				a.parts = append(a.parts, p)
			}
		}
	}
	s.arrange()
	return s.result(), nil
}

// result is the site as plain data.
func (s *site) result() *machine.Import {
	out := &machine.Import{Areas: []*machine.ImportArea{}, Omissions: s.omissions}
	for _, a := range s.areas {
		a.Parts = make([]*machine.ImportPart, len(a.parts))
		for i, p := range a.parts {
			a.Parts[i] = &p.ImportPart
		}
		out.Areas = append(out.Areas, &a.ImportArea)
	}
	return out
}

func (s *site) leaveOut(what string, err error) {
	left, ok := errors.AsType[*OmissionError](err)
	s.omissions = append(s.omissions, machine.Omission{What: what, Why: err.Error(), Secret: ok && left.Secret})
}

// sources are where package managers keep where packages come from, and with which keys.
func sources() []string {
	return []string{"/etc/apt", "/usr/share/keyrings", "/etc/yum.repos.d", "/etc/pki/rpm-gpg", "/etc/zypp/repos.d", "/etc/apk", "/etc/pacman.conf", "/etc/pacman.d"}
}

// isSource reports whether a part says where packages come from.
func (p *part) isSource() bool {
	if p.Type == "apt_repository" {
		return true
	}
	name, _ := p.keys["path"].(string)
	return slices.Contains([]string{"file", "directory", "symlink"}, p.Type) &&
		slices.ContainsFunc(sources(), func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// area finds the state for a part.
func (s *site) area(p *part) *area {
	a := machine.ImportArea{Name: p.Type}
	switch {
	case p.isSource():
		a.Name = "sources"
	case p.Type == "package":
		a = machine.ImportArea{Name: "packages", Parallel: true}
	case p.Type == "user" || p.Type == "group":
		a.Name = "accounts"
	case p.Type == "file" || p.Type == "directory" || p.Type == "symlink":
		a.Name = "files"
	case p.Type == "service":
		a.Name = "services"
	}
	for _, have := range s.areas {
		if have.Name == a.Name {
			return have
		}
	}
	s.areas = append(s.areas, &area{ImportArea: a})
	return s.areas[len(s.areas)-1]
}

// rank orders the areas: a package needs its source, and brings users and directories;
// services come last.
func rank(a *area) int {
	ranks := []string{"sources", "packages", "accounts", "files", "", "services"}
	if i := slices.Index(ranks, a.Name); i >= 0 {
		return i
	}
	return slices.Index(ranks, "")
}

// arrange puts all into the order in which a bare machine needs it.
func (s *site) arrange() {
	slices.SortStableFunc(s.areas, func(a, b *area) int { return rank(a) - rank(b) })
	users := false
	for _, a := range s.areas {
		for _, b := range s.areas {
			if rank(b) < rank(a) {
				a.Require = append(a.Require, "state."+b.Name)
			}
		}
		users = users || slices.ContainsFunc(a.parts, func(p *part) bool { return p.Type == "user" })
		if a.Name == "files" || a.Name == "sources" { // without a path, the sources that use keys
			slices.SortStableFunc(a.parts, func(x, y *part) int { return strings.Compare(x.path(), y.path()) })
		}
	}
	for _, a := range s.areas {
		labels := map[string]bool{}
		for _, p := range a.parts {
			if users && p.Type == "group" { // each user names the groups
				p.Values = slices.DeleteFunc(p.Values, func(v machine.ImportValue) bool { return v.Name == "members" })
			}
			p.distinct(labels)
		}
	}
}

// path is what files are ordered by: a directory comes before what is in it.
func (p *part) path() string {
	name, ok := p.keys["path"].(string)
	if !ok {
		return "\xff" // behind all files
	}
	return strings.ReplaceAll(name, "/", "\x00")
}

// distinct gives the part a label that no other has.
func (p *part) distinct(labels map[string]bool) {
	label := p.Label
	for n := 2; labels[p.Type+" "+label]; n++ {
		label = fmt.Sprintf("%s-%d", slug(p.Label), n)
	}
	if label != p.Label {
		p.Label, p.LabelKey = label, ""
	}
	labels[p.Type+" "+label] = true
}
