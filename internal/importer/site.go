package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Site is what somebody has set up on a machine.
type Site struct {
	Areas     []*Area    `json:"areas"`
	Omissions []Omission `json:"left_out,omitempty"`
}

// Area is a state of the site, whose parts come one after the other.
type Area struct {
	Name    string   `json:"name"`
	Doc     string   `json:"-"` // a comment above it
	Require []string `json:"require,omitempty"`
	// Parallel says that the parts have no order of their own.
	Parallel bool    `json:"parallel,omitempty"`
	Parts    []*Part `json:"parts"`
}

// Omission is what is there, and not in the site.
type Omission struct {
	What string `json:"what"`
	Why  string `json:"why"`
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
func Import(ctx context.Context, h host.Host, modules []*states.Module, paths []string, o Options) (*Site, error) {
	s := &Site{}
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
			part, err := Read(ctx, h, m, values, o)
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case errors.Is(err, ErrNotThere), errors.Is(err, fs.ErrNotExist): // it has gone since
			case err != nil:
				s.leaveOut(states.LabelAddress(m.Name, m.Key(values)), err)
			default:
				a := s.area(part)
				a.Parts = append(a.Parts, part)
			}
		}
	}
	s.arrange()
	return s, nil
}

func (s *Site) leaveOut(what string, err error) {
	s.Omissions = append(s.Omissions, Omission{what, err.Error()})
}

// sources are where package managers keep where packages come from, and with which keys.
func sources() []string {
	return []string{"/etc/apt", "/usr/share/keyrings", "/etc/yum.repos.d", "/etc/pki/rpm-gpg", "/etc/zypp/repos.d", "/etc/apk", "/etc/pacman.conf", "/etc/pacman.d"}
}

// isSource reports whether a part says where packages come from.
func (p *Part) isSource() bool {
	if p.Type == "apt_repository" {
		return true
	}
	name, _ := p.keys["path"].(string)
	return slices.Contains([]string{"file", "directory", "symlink"}, p.Type) &&
		slices.ContainsFunc(sources(), func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// area finds the state for a part.
func (s *Site) area(p *Part) *Area {
	a := Area{Name: p.Type}
	typ := p.Type
	if p.isSource() {
		a, typ = Area{Name: "sources", Doc: "Where packages come from, and the keys of those sources."}, ""
	}
	switch typ {
	case "package":
		a = Area{Name: "packages", Doc: "The packages that somebody asked for.", Parallel: true}
	case "user", "group":
		a = Area{Name: "accounts", Doc: "Groups and users."}
	case "file", "directory", "symlink":
		a = Area{Name: "files", Doc: "Files that no package has brought as they are."}
	case "service":
		a = Area{Name: "services", Doc: "What runs, and starts at boot."}
	}
	for _, have := range s.Areas {
		if have.Name == a.Name {
			return have
		}
	}
	s.Areas = append(s.Areas, &a)
	return &a
}

// rank orders the areas: a package needs its source, and brings users and directories;
// services come last.
func rank(a *Area) int {
	ranks := []string{"sources", "packages", "accounts", "files", "", "services"}
	if i := slices.Index(ranks, a.Name); i >= 0 {
		return i
	}
	return slices.Index(ranks, "")
}

// arrange puts all into the order in which a bare machine needs it.
func (s *Site) arrange() {
	slices.SortStableFunc(s.Areas, func(a, b *Area) int { return rank(a) - rank(b) })
	users := false
	for _, a := range s.Areas {
		for _, b := range s.Areas {
			if rank(b) < rank(a) {
				a.Require = append(a.Require, "state."+b.Name)
			}
		}
		users = users || slices.ContainsFunc(a.Parts, func(p *Part) bool { return p.Type == "user" })
		if a.Name == "files" || a.Name == "sources" { // without a path, the sources that use keys
			slices.SortStableFunc(a.Parts, func(x, y *Part) int { return strings.Compare(x.path(), y.path()) })
		}
	}
	for _, a := range s.Areas {
		labels := map[string]bool{}
		for _, p := range a.Parts {
			if users && p.Type == "group" { // each user names the groups
				p.Values = slices.DeleteFunc(p.Values, func(v Value) bool { return v.Name == "members" })
			}
			p.distinct(labels)
		}
	}
}

// path is what files are ordered by: a directory comes before what is in it.
func (p *Part) path() string {
	name, ok := p.keys["path"].(string)
	if !ok {
		return "\xff" // behind all files
	}
	return strings.ReplaceAll(name, "/", "\x00")
}

// distinct gives the part a label that no other has.
func (p *Part) distinct(labels map[string]bool) {
	label := p.Label
	for n := 2; labels[p.Type+" "+label]; n++ {
		label = fmt.Sprintf("%s-%d", slug(p.Label), n)
	}
	if label != p.Label {
		p.Label, p.label = label, ""
	}
	labels[p.Type+" "+label] = true
}

// Text gives the text of an area, not yet in the canonical layout.
func (l Language) Text(a *Area) string {
	var b strings.Builder
	if a.Doc != "" {
		comment(&b, a.Doc)
	}
	if l == Starlark {
		fmt.Fprintf(&b, "state(%s, [\n", starlarkText(a.Name))
		for _, p := range a.Parts {
			starlarkPart(&b, p)
			b.WriteString(",\n")
		}
		b.WriteString("]")
		if len(a.Require) > 0 {
			refs := make([]string, len(a.Require))
			for i, r := range a.Require {
				refs[i] = "ref(" + starlarkText(r) + ")"
			}
			b.WriteString(", require = [" + strings.Join(refs, ", ") + "]")
		}
		if a.Parallel {
			b.WriteString(", parallel = True")
		}
		return b.String() + ")\n"
	}
	fmt.Fprintf(&b, "state %s {\n", hclText(a.Name))
	if len(a.Require) > 0 {
		b.WriteString("require = [" + strings.Join(a.Require, ", ") + "]\n")
	}
	if a.Parallel {
		b.WriteString("parallel = true\n")
	}
	for _, p := range a.Parts {
		b.WriteString("\n")
		hclPart(&b, p)
	}
	return b.String() + "}\n"
}

// Remarks gives the text of what is missing, as comments.
func (s *Site) Remarks() string {
	var b strings.Builder
	if len(s.Omissions) > 0 {
		comment(&b, "Left out:")
	}
	for _, m := range s.Omissions {
		comment(&b, "- "+m.What+": "+m.Why)
	}
	return b.String()
}
