package simulated

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// likeFiles are what real machines hold: see like/README.md.
//
//go:embed like
var likeFiles embed.FS

// Kind is a kind of machine that a Machine can be like.
type Kind struct {
	Name string
	Doc  string // what it holds, in a sentence
	from string // the distribution, whose packages stand in like/FROM.packages
}

// Kinds lists the kinds of machines that there are data of.
func Kinds() []Kind {
	return []Kind{
		{"debian12-server", "A Debian 12 as its installer makes it with the SSH server and the standard system utilities, and sudo.", "debian12"},
		{"ubuntu24", "An Ubuntu 24.04 with an SSH server, sudo, rsyslog and systemd-resolved.", "ubuntu24"},
		{"minimal", "A Debian 12 with the packages that are essential or required, and systemd, as small images have them.", "debian12"},
	}
}

// KindNames lists their names.
func KindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

func kindOf(name string) (Kind, error) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, fmt.Errorf("there is no machine %q to be like: there are %s", name, strings.Join(KindNames(), ", "))
	}
	return all[i], nil
}

// text reads a file of the kind; empty where it has none.
func (k Kind) text(name string) string {
	data, err := likeFiles.ReadFile(path.Join("like", k.Name, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// catalogue is what the packages of a distribution bring.
type catalogue map[string]*described

// described is one package of a catalogue.
type described struct {
	name, version string
	needs         []string
	things        []thing
	units         []unit
}

// thing is a file, a directory or a link that a package brings.
type thing struct {
	word, path string
	more       string // the target of a link, the mode of a file
}

// unit is a unit that a package brings.
type unit struct {
	name    string
	traits  map[string]string // Type, RemainAfterExit, WantedBy
	reloads bool
	enabled bool // by the package, when it is installed
}

// catalogueOf gives the packages of a distribution.
func catalogueOf(from string) (catalogue, error) {
	read := catalogues()[from]
	if read == nil {
		return nil, fmt.Errorf("there are no packages of %q", from)
	}
	return read()
}

// catalogues are read when they are first asked for.
var catalogues = sync.OnceValue(func() map[string]func() (catalogue, error) {
	out := map[string]func() (catalogue, error){}
	for _, k := range Kinds() {
		out[k.from] = sync.OnceValues(func() (catalogue, error) { return readCatalogue(k.from) })
	}
	return out
})

func readCatalogue(from string) (catalogue, error) {
	file := "like/" + from + ".packages"
	data, err := likeFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := catalogue{}
	var p *described
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0] == "like" && len(words) == 2:
			base, err := readCatalogue(words[1])
			if err != nil {
				return nil, err
			}
			all = base
		case words[0] == "without":
			for _, name := range words[1:] {
				delete(all, name)
			}
		case words[0] == "package" && len(words) == 3:
			p = &described{name: words[1], version: words[2]}
			if of := all[p.name]; of != nil { // of the distribution that this one is like
				p.needs, p.things, p.units = of.needs, of.things, of.units
			}
			all[p.name] = p
		case p == nil || len(words) < 2:
			return nil, fmt.Errorf("%s:%d: %q is no line of a catalogue", file, number, line)
		case words[0] == "from" && len(words) == 4 && all[words[1]] != nil:
			p.take(all[words[1]], words[2], words[3])
		case words[0] == "needs":
			p.needs = words[1:]
		case words[0] == "unit":
			p.units = append(p.units, readUnit(words[1:]))
		case words[0] == "file" || words[0] == "directory" || words[0] == "link":
			p.things = append(p.things, thing{words[0], words[1], strings.Join(words[2:], " ")})
		default:
			return nil, fmt.Errorf("%s:%d: %q is no word of a catalogue", file, number, words[0])
		}
	}
	return all, nil
}

// take takes what another package brings, with one text in place of another in all names.
func (d *described) take(of *described, old, now string) {
	replaced := func(text string) string { return strings.ReplaceAll(text, old, now) }
	*d = described{name: d.name, version: d.version}
	for _, need := range of.needs {
		d.needs = append(d.needs, replaced(need))
	}
	for _, t := range of.things {
		d.things = append(d.things, thing{t.word, replaced(t.path), replaced(t.more)})
	}
	for _, u := range of.units {
		u.name = replaced(u.name)
		d.units = append(d.units, u)
	}
}

func readUnit(words []string) unit {
	u := unit{name: words[0], traits: map[string]string{}}
	for _, word := range words[1:] {
		switch key, value, has := strings.Cut(word, "="); {
		case has:
			u.traits[key] = value
		case word == "reloads":
			u.reloads = true
		case word == "enabled":
			u.enabled = true
		}
	}
	return u
}

// text is what its file says, as far as that is known.
func (u unit) text() string {
	name := strings.TrimSuffix(u.name, path.Ext(u.name))
	out := "[Unit]\nDescription=" + name + "\n"
	if path.Ext(u.name) == ".service" {
		out += "\n[Service]\nExecStart=/usr/sbin/" + name + "\n"
		for _, key := range []string{"Type", "RemainAfterExit"} {
			if value := u.traits[key]; value != "" {
				out += key + "=" + value + "\n"
			}
		}
		if u.reloads {
			out += "ExecReload=/bin/kill -HUP $MAINPID\n"
		}
	}
	if wanted := u.traits["WantedBy"]; wanted != "" {
		out += "\n[Install]\nWantedBy=" + wanted + "\n"
	}
	return out
}

// isTemplate reports whether it is one for instances, such as getty@.service.
func (u unit) isTemplate() bool {
	return strings.HasSuffix(strings.TrimSuffix(u.name, path.Ext(u.name)), "@")
}

// runs reports whether it runs once it was started: a service that does its work and ends
// does not.
func (u unit) runs() bool {
	return u.traits["Type"] != "oneshot" || isOn(u.traits["RemainAfterExit"]) || path.Ext(u.name) != ".service"
}

// closure gives the packages with those that they need, as far as they are known.
func (c catalogue) closure(names ...string) []string {
	var out []string
	seen := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if p := c[name]; p != nil && !seen[name] {
			seen[name] = true
			for _, need := range p.needs {
				add(need)
			}
			out = append(out, name)
		}
	}
	for _, name := range names {
		add(name)
	}
	return out
}
