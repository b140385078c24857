package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// thing is something of a machine that an act may touch.
type thing struct{ kind, name string }

func things() (out []thing) {
	for kind, names := range map[string][]string{
		"path": {
			"/etc/motd", "/etc/app/main.conf", "/etc/app.d/one", "/etc/nginx/nginx.conf", "/etc/default/nginx", "/etc/subuid", "/etc/hostname",
			"/srv/app/data", "/srv/other", "/to-srv/app/data", "/var/lib/nginx/state", "/usr/share/tool/x", "/usr/local/bin/tool",
			"/var/log/app.log", "/run/app/pid", "/tmp/x", "/lib/tool/y", "/new/dir/file",
		},
		"account": {"app", "nginx", "worker"},
		"service": {"nginx.service", "app.service", "nginx-exporter.service"},
		"package": {"nginx", "nginx-common", "tool"},
		"setting": {"net.ipv4.ip_forward", "vm.swappiness", "kernel.hostname"},
	} {
		for _, name := range names {
			out = append(out, thing{kind, name})
		}
	}
	slices.SortFunc(out, func(a, b thing) int { return strings.Compare(a.kind+a.name, b.kind+b.name) })
	return out
}

// ghost lets each act on a machine touch at random, beside what it is for, what its module says
// that it may touch.
type ghost struct {
	t       *rapid.T
	chance  *rand.Rand // and not t, which tells by a panic that it has no more to draw: the engine takes that for a fault
	h       *host.Memory
	found   map[string]states.Effects // what acts were found to touch in the plan, by what they are on
	refused map[string]bool           // acts that a shadow has seen fail, before they start anything
	touched []string                  // what has changed by that
	failed  int                       // acts that have failed after they were started
	own     []string                  // what a call of several is for
}

// rite is an act that touches what it is told.
type rite struct {
	Name    string  `state:"name,key" doc:"A name."`
	Effects string  `state:"effects" doc:"The effects, as JSON."`
	After   *string `state:"after,path" doc:"A path that it looks at."`
}

func riteModule() *states.Module {
	return states.Define(states.Type[rite]{
		Name: "rite", Doc: "Touches what it is told.", Example: "rite \"x\" {\n  effects = \"{}\"\n}", NoAbsent: "It cannot be undone.",
		Act: func(ctx context.Context, h host.Host, want rite) (bool, rite, error) {
			if want.After != nil {
				if _, err := h.Lstat(*want.After); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return false, want, err
				}
			}
			_, err := h.Run(ctx, host.Command{Argv: []string{"rite"}})
			return true, want, err
		},
		Effects: func(want rite, _ bool) (e states.Effects) {
			if err := json.Unmarshal([]byte(want.Effects), &e); err != nil {
				panic(err)
			}
			return e
		},
	})
}

// registry gives the standard modules, and rites, whose acts the ghost follows.
func (g *ghost) registry() *states.Registry {
	var all []*states.Module
	standard := modules.Standard()
	for _, name := range standard.Names() {
		all = append(all, g.haunted(standard.Lookup(name)))
	}
	return states.NewRegistry(append(all, g.haunted(riteModule()))...)
}

// haunted is a module whose acts the ghost follows.
func (g *ghost) haunted(m *states.Module) *states.Module {
	if m.Effects == nil {
		return m
	}
	out := *m
	if m.Write != nil {
		out.Write = func(ctx context.Context, h host.Host, have, want any) error {
			return g.follow(ctx, m, h, want, false, m.Write(ctx, h, have, want))
		}
	}
	if m.Remove != nil {
		out.Remove = func(ctx context.Context, h host.Host, have any) error {
			return g.follow(ctx, m, h, have, true, m.Remove(ctx, h, have))
		}
	}
	if m.Foresee != nil {
		out.Foresee = func(ctx context.Context, h host.Host, have, want any) error {
			return g.followItem(ctx, m, h, states.Item{Have: have, Want: want}, m.Foresee(ctx, h, have, want))
		}
	}
	if m.Act != nil {
		out.Act = func(ctx context.Context, h host.Host, want any) (bool, any, error) {
			changed, made, err := m.Act(ctx, h, want)
			if !changed && err == nil {
				return changed, made, err
			}
			err = g.follow(ctx, m, h, want, false, err)
			if h == host.Host(g.h) && err == nil && g.chance.IntN(8) == 0 {
				g.failed++
				err = errors.New("it has failed in its middle")
			}
			return changed, made, err
		}
	}
	if m.Batch != nil {
		out.Batch = func(ctx context.Context, h host.Host, items []states.Item) []error {
			errs := m.Batch(ctx, h, items)
			for _, item := range items {
				resource := item.Want
				if resource == nil {
					resource = item.Have
				}
				g.own = append(g.own, g.ownOf(m, resource)...)
			}
			defer func() { g.own = nil }()
			for i, item := range items {
				errs[i] = g.followItem(ctx, m, h, item, errs[i])
			}
			return errs
		}
	}
	return &out
}

func (g *ghost) followItem(ctx context.Context, m *states.Module, h host.Host, item states.Item, err error) error {
	if item.Want == nil {
		return g.follow(ctx, m, h, item.Have, true, err)
	}
	return g.follow(ctx, m, h, item.Want, false, err)
}

// declared is a resource as its part says it: the version of a package is what it has already.
func (g *ghost) declared(m *states.Module, resource any) any {
	if m.Name != "package" {
		return resource
	}
	values := m.Encode(resource)
	delete(values, "version")
	out, err := m.Decode(values, nil)
	g.must(err)
	return out
}

// ownOf names what a resource is.
func (g *ghost) ownOf(m *states.Module, resource any) []string {
	values := m.Encode(resource)
	if m.Name == "hostname" {
		return []string{"/etc/hostname", "kernel.hostname"}
	}
	return append(m.Paths(values), m.Key(values), m.Key(values)+".service")
}

func (g *ghost) nameOf(m *states.Module, resource any) string {
	return m.Name + " " + m.Key(m.Encode(resource))
}

// newGhost begins with a machine.
func newGhost(t *rapid.T, h *host.Memory) *ghost {
	seed := rapid.Uint64().Draw(t, "what the ghost does")
	return &ghost{t: t, chance: rand.New(rand.NewPCG(seed, 0)), h: h, found: map[string]states.Effects{}, refused: map[string]bool{}}
}

// follow touches things after an act on the machine, but not what the act has just made. One that has
// failed may have touched them before, and has made nothing. Of an act on a shadow it remembers what
// it was found to touch, and whether it was refused.
func (g *ghost) follow(ctx context.Context, m *states.Module, h host.Host, want any, absent bool, err error) error {
	name := g.nameOf(m, want)
	if h != host.Host(g.h) { // a plan
		if e, ok := errors.AsType[*states.EffectsError](err); ok {
			g.found[name] = e.Effects
		}
		g.refused[name] = err != nil && !errors.Is(err, host.ErrUnforeseeable) && !errors.Is(err, host.ErrUnanswerable)
		return err
	}
	if err != nil {
		if g.refused[name] {
			return err
		}
		g.failed++
	}
	e, ok := g.found[name]
	if !ok {
		e = m.Effects(g.declared(m, want), absent)
	}
	own := append(g.ownOf(m, want), g.own...)
	for _, x := range things() {
		isOwn := err == nil && !m.IsAct() && slices.ContainsFunc(own, func(o string) bool { return o == x.name || strings.HasPrefix(o, x.name+"/") })
		if !isOwn && mayTouch(&e, x) && g.chance.IntN(3) == 0 {
			adds := states.Effects{Adds: e.Adds}
			e := e
			e.Adds = nil
			before := g.look(ctx, x)
			g.touch(ctx, x, mayTouch(&adds, x) && !mayTouch(&e, x))
			if after := g.look(ctx, x); after != before {
				g.touched = append(g.touched, fmt.Sprintf("%s touches %s: %q → %q", name, x.name, before, after))
			}
		}
	}
	return err
}

// mayTouch reports whether an act with these effects may touch a thing.
func mayTouch(e *states.Effects, x thing) bool {
	matches := func(patterns []string, names ...string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(names, func(name string) bool { ok, err := path.Match(p, name); return ok && err == nil })
		})
	}
	below := func(pattern string) bool {
		want, have := strings.Split(pattern, "/"), strings.Split(x.name, "/")
		if len(have) < len(want) {
			return false
		}
		ok, err := path.Match(pattern, strings.Join(have[:len(want)], "/"))
		return ok && err == nil
	}
	if e.Anything {
		return true
	}
	switch x.kind {
	case "path":
		return slices.ContainsFunc(e.Paths, below) || slices.ContainsFunc(e.Adds, below)
	case "account":
		return matches(e.Accounts, x.name)
	case "service":
		return matches(e.Services, x.name, strings.TrimSuffix(x.name, ".service"))
	case "package":
		return matches(e.Packages, x.name)
	}
	return matches(e.Settings, x.name)
}

// touch changes a thing in one of the ways in which it may be, or adds it alone.
func (g *ghost) touch(ctx context.Context, x thing, adds bool) {
	way := g.chance.IntN(3)
	switch x.kind {
	case "path":
		g.touchPath(ctx, x.name, way, adds)
	case "account":
		g.touchAccount(ctx, x.name, way)
	case "service":
		verb := []host.Verb{host.Start, host.Stop, []host.Verb{host.Enable, host.Disable}[g.chance.IntN(2)]}[way]
		if i, err := g.h.Init(ctx, ""); err == nil {
			_ = i.Do(ctx, verb, x.name) // there may be no such service
		}
	case "package":
		const status = "/var/lib/dpkg/status"
		g.must(simulated.RecordInstalled(ctx, g.h, x.name, "9."+fmt.Sprint(way), []string{"install", "hold", "gone"}[way]))
		stanzas := strings.Split(simulated.Text(g.h, status), "\n\n")
		stanzas = slices.DeleteFunc(stanzas, func(s string) bool { return strings.Contains(s, "\nStatus: gone") })
		g.must(simulated.WriteFile(ctx, g.h, status, strings.Join(stanzas, "\n\n"), host.Meta{}))
	default:
		g.must(simulated.WriteFile(ctx, g.h, "/proc/sys/"+strings.ReplaceAll(x.name, ".", "/"), fmt.Sprint(way, "\n"), host.Meta{}))
	}
}

// look tells how a thing is.
func (g *ghost) look(ctx context.Context, x thing) string {
	lines := func(files ...string) (out string) {
		for _, file := range files {
			for line := range strings.Lines(simulated.Text(g.h, file)) {
				if strings.HasPrefix(line, x.name+":") {
					out += line
				}
			}
		}
		return out
	}
	switch x.kind {
	case "path":
		info, err := g.h.Lstat(x.name)
		if err != nil {
			return "missing"
		}
		return fmt.Sprint(info.Kind, info.Mode, " ", simulated.Text(g.h, x.name))
	case "account":
		return lines("/etc/passwd", "/etc/group", "/etc/shadow")
	case "service":
		i, err := g.h.Init(ctx, "")
		g.must(err)
		s, err := i.Service(ctx, x.name)
		if err != nil {
			return err.Error()
		}
		return s.Active + " " + s.Enablement
	case "package":
		for stanza := range strings.SplitSeq(simulated.Text(g.h, "/var/lib/dpkg/status"), "\n\n") {
			if strings.HasPrefix(strings.TrimSpace(stanza), "Package: "+x.name+"\n") {
				return stanza
			}
		}
		return "missing"
	}
	return simulated.Text(g.h, "/proc/sys/"+strings.ReplaceAll(x.name, ".", "/"))
}

func (g *ghost) must(err error) {
	if err != nil {
		g.t.Fatal(err)
	}
}

// touchPath writes, changes or removes what is at a path; where the directory is missing, nothing.
func (g *ghost) touchPath(ctx context.Context, name string, way int, adds bool) {
	_, err := g.h.Lstat(name)
	switch {
	case adds && err == nil:
	case adds, way == 0:
		_ = g.h.WriteFile(ctx, name, host.Text("touched\n"), host.Meta{})
	case way == 1:
		_ = g.h.SetMeta(name, host.Meta{Mode: new(fs.FileMode(0o711))})
	default:
		_ = g.h.Remove(name)
	}
}

// touchAccount adds a user with a group, or changes or removes what there is of this name.
func (g *ghost) touchAccount(ctx context.Context, name string, way int) {
	for file, line := range map[string]string{
		"/etc/passwd": name + ":x:7%d:7%d::/home/other:/bin/sh\n", "/etc/group": name + ":x:7%d:\n", "/etc/shadow": name + ":*:19000:0:99999:7:::\n",
	} {
		var text strings.Builder
		for old := range strings.Lines(simulated.Text(g.h, file)) {
			if !strings.HasPrefix(old, name+":") {
				text.WriteString(old)
			}
		}
		if way < 2 {
			text.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(way)))
		}
		g.must(simulated.WriteFile(ctx, g.h, file, text.String(), host.Meta{}))
	}
}
