package simulated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	repository = "/var/lib/simulated/repository/"
	contents   = "/var/lib/simulated/contents/"
	lists      = "/var/lib/apt/lists/"
	status     = "/var/lib/dpkg/status"
	// AptLock is a file whose being there means that another process is at
	// work with the packages.
	AptLock = "/var/lib/dpkg/lock-held"
	// AptLog is a file with a line for each transaction.
	AptLog = "/var/lib/simulated/apt.log"
)

// AddApt adds apt-get, apt-cache and apt-mark.
func AddApt(ctx context.Context, h *host.Memory) error {
	b := &builder{ctx: ctx, h: h}
	for name, text := range map[string]string{
		"/usr/bin/apt-get": "", AptLog: "",
		status: "Package: base-files\nStatus: install ok installed\nArchitecture: amd64\nVersion: 12.4\n" +
			"Description: files\n Package: telnetd\n\n",
	} {
		b.must(WriteFile(ctx, h, name, text, host.Meta{}))
	}
	b.must(h.SetMeta("/usr/bin/apt-get", host.Meta{Mode: new(fs.FileMode(0o755))}))
	for _, dir := range []string{repository, contents, lists} {
		b.must(MakeDirectory(h, strings.TrimSuffix(dir, "/"), nil))
	}
	s := &suite{h: h}
	s.handle("apt-get", "-o= -s -y -q -qq --yes --quiet --allow-downgrades --allow-change-held-packages --no-install-recommends", 1, aptGet)
	s.handle("apt-cache", "", 1, aptCache)
	s.handle("apt-mark", "", 2, aptMark)
	return b.err
}

// Offer puts versions of a package into the repository, the newest last, and
// into the package lists if listed.
func Offer(ctx context.Context, h host.Host, listed bool, name string, versions ...string) error {
	text := strings.Join(versions, "\n")
	err := WriteFile(ctx, h, repository+name, text, host.Meta{})
	if listed && err == nil {
		err = WriteFile(ctx, h, lists+name, text, host.Meta{})
	}
	return err
}

// RecordInstalled puts a package into dpkg's record; want is its selection
// state, "install" or "hold".
func RecordInstalled(ctx context.Context, h *host.Memory, name, version, want string) error {
	return (&program{ctx: ctx, h: h}).record(name, want+" ok installed", version)
}

// InstalledVersion gives the version of a package by dpkg's record, "" where it
// is not installed, and whether it is on hold.
func InstalledVersion(h host.Reader, name string) (version string, held bool) {
	state := strings.Fields(field(h, name, "Status"))
	if len(state) != 3 || state[2] != "installed" {
		return "", false
	}
	return field(h, name, "Version"), state[0] == "hold"
}

// parcel is what a package holds, as it stands below contents.
type parcel struct {
	Files    map[string]string `json:"files"`
	Links    map[string]string `json:"links"`
	Services []string          `json:"services"`
	// Adds says that this is besides what the distribution's package of that name has.
	Adds bool `json:"adds,omitempty"`
}

// addPackage offers a package, or installs it.
func (b *builder) addPackage(name string, pkg Package) error {
	switch {
	case name == "" || strings.ContainsAny(name, "/\n\x00 "):
		return errors.New("this is no name of a package")
	case !Exists(b.h, status):
		return errors.New("there is no apt on this machine")
	}
	p := &program{ctx: b.ctx, h: b.h}
	more := parcel{Files: pkg.Files, Links: pkg.Links, Services: pkg.Services}
	more.Adds = pkg.Installed == "" && len(pkg.Available) == 0 && p.catalogue()[name] != nil
	held, err := json.Marshal(more)
	if err == nil {
		err = WriteFile(b.ctx, b.h, contents+name, string(held), host.Meta{})
	}
	if len(pkg.Available) > 0 && err == nil {
		err = Offer(b.ctx, b.h, true, name, pkg.Available...)
	}
	if version, _ := InstalledVersion(b.h, name); more.Adds && version != "" && err == nil {
		return p.unpack(name) // it is there already
	}
	if pkg.Installed == "" || err != nil {
		return err
	}
	want := "install"
	if pkg.Held {
		want = "hold"
	}
	return errors.Join(p.record(name, want+" ok installed", pkg.Installed), p.unpack(name))
}

// parcel reads what a package holds: nothing, where nobody described it.
func (p *program) parcel(name string) (parcel, error) {
	var held parcel
	text := Text(p.h, contents+name)
	if text == "" {
		return held, nil
	}
	return held, json.Unmarshal([]byte(text), &held)
}

// unpack puts a package's files on the machine and starts its services. What is
// there already stays, as a changed configuration file does.
func (p *program) unpack(name string) error {
	if d := p.described(name); d != nil {
		if err := d.unpack(p.ctx, p.h); err != nil {
			return err
		}
	}
	held, err := p.parcel(name)
	for _, file := range slices.Sorted(maps.Keys(held.Files)) {
		if err == nil && !Exists(p.h, file) {
			err = p.write(file, held.Files[file])
		}
	}
	for _, link := range slices.Sorted(maps.Keys(held.Links)) {
		if err == nil && !Exists(p.h, link) {
			err = Link(p.h, held.Links[link], link)
		}
	}
	for _, service := range held.Services {
		if err == nil {
			err = p.serve(service)
		}
	}
	return err
}

// serve adds a package's service, enabled and started.
func (p *program) serve(service string) error {
	b := &builder{ctx: p.ctx, h: p.h}
	if Exists(p.h, unitDir+unitName(service)) {
		return nil
	}
	return b.addService(service, Service{Running: true, Enabled: true})
}

// removeFiles removes what unpack has put there; what lies below /etc only in a
// purge.
func (p *program) removeFiles(name string, purge bool) error {
	if d := p.described(name); d != nil {
		if err := d.remove(p, purge); err != nil {
			return err
		}
	}
	held, err := p.parcel(name)
	for _, service := range held.Services {
		unit := unitName(service)
		err = errors.Join(err, removeAll(p.h, activeDir+unit), p.unlink(unit), removeAll(p.h, unitDir+unit))
	}
	for _, things := range []map[string]string{held.Files, held.Links} {
		for name := range things {
			if purge || !strings.HasPrefix(name, "/etc/") {
				err = errors.Join(err, removeAll(p.h, name))
			}
		}
	}
	return err
}

func (p *program) record(name, state, version string) error {
	return p.write(status, p.recordWithout(name)+
		fmt.Sprintf("Package: %s\nStatus: %s\nArchitecture: amd64\nVersion: %s\n\n", name, state, version))
}

func (p *program) recordWithout(name string) string {
	var kept strings.Builder
	for stanza := range strings.SplitSeq(Text(p.h, status), "\n\n") {
		if stanza != "" && !strings.HasPrefix(stanza, "Package: "+name+"\n") {
			kept.WriteString(stanza + "\n\n")
		}
	}
	return kept.String()
}

func (p *program) field(name, key string) string { return field(p.h, name, key) }

func field(h host.Reader, name, key string) string {
	for stanza := range strings.SplitSeq(Text(h, status), "\n\n") {
		if !strings.HasPrefix(stanza, "Package: "+name+"\n") {
			continue
		}
		for line := range strings.Lines(stanza) {
			if value, ok := strings.CutPrefix(line, key+": "); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

func aptGet(p *program) (host.Result, error) {
	verb, names := p.args[0], p.args[1:]
	if _, only := p.flags["-s"]; only {
		return p.rehearse(verb, names)
	}
	if Exists(p.h, AptLock) {
		return p.fail(100, "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4242 (unattended-upgr)\n"+
			"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?")
	}
	if err := p.write(AptLog, Text(p.h, AptLog)+strings.Join(p.args, " ")+"\n"); err != nil {
		return host.Result{}, err
	}
	switch verb {
	case "update":
		return p.update()
	case "install":
		return p.install(names)
	case "remove", "purge":
	default:
		return p.fail(100, "E: Invalid operation %s", verb)
	}
	if p.anyHeld(names) {
		return p.fail(100, heldMessage)
	}
	for _, name := range names {
		if err := p.remove(name, verb == "purge"); err != nil {
			return host.Result{}, err
		}
	}
	return p.result()
}

// remove takes a package away, with what needs it; one that is not there is left out.
func (p *program) remove(name string, purge bool) error {
	if p.field(name, "Status") == "" {
		return nil
	}
	for _, n := range strings.Fields(Text(p.h, needersDir+name)) {
		if err := p.remove(n, purge); err != nil {
			return err
		}
	}
	err := p.removeFiles(name, purge)
	switch {
	case err != nil:
		return err
	case purge:
		return p.write(status, p.recordWithout(name))
	}
	return p.record(name, "deinstall ok config-files", p.field(name, "Version"))
}

func (p *program) update() (host.Result, error) {
	entries, err := p.h.ReadDir(strings.TrimSuffix(repository, "/"))
	for _, e := range entries {
		if err == nil {
			err = p.write(lists+e.Name, Text(p.h, repository+e.Name))
		}
	}
	if err == nil {
		err = p.write("/var/lib/apt/periodic/update-success-stamp", "") // by its time the lists are new
	}
	if err != nil {
		return host.Result{}, err
	}
	return p.result()
}

const heldMessage = "E: Held packages were changed and -y was used without --allow-change-held-packages."

// anyHeld reports whether one of the packages is on hold, and must stay.
func (p *program) anyHeld(names []string) bool {
	_, allowed := p.flags["--allow-change-held-packages"]
	return !allowed && slices.ContainsFunc(names, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimSuffix(arg, "-"), "=")
		return strings.HasPrefix(p.field(name, "Status"), "hold")
	})
}

// install installs all or, where one is broken, none.
func (p *program) install(names []string) (host.Result, error) {
	for _, arg := range names {
		if strings.HasPrefix(arg, "broken") {
			return p.unmet(arg)
		}
		if name, version, _ := strings.Cut(strings.TrimSuffix(arg, "-"), "="); p.choose(name, version) == "" && !strings.HasSuffix(arg, "-") {
			return p.fail(100, "E: Unable to locate package %s", arg)
		}
	}
	if p.anyHeld(names) {
		return p.fail(100, heldMessage)
	}
	for _, arg := range names {
		if gone, removed := strings.CutSuffix(arg, "-"); removed {
			if err := p.remove(gone, false); err != nil {
				return host.Result{}, err
			}
			continue
		}
		name, version, _ := strings.Cut(arg, "=")
		err := p.installNeeds(name)
		if err == nil {
			err = p.record(name, "install ok installed", p.choose(name, version))
		}
		if err == nil {
			err = p.unpack(name)
		}
		if err != nil {
			return host.Result{}, err
		}
	}
	return p.result()
}

// choose gives the version that an installation takes: the wanted one, if the
// lists have it, the newest where none is wanted, or "".
func (p *program) choose(name, want string) string {
	versions := p.versions(name)
	switch {
	case want != "" && (slices.Contains(versions, want) || p.field(name, "Version") == want):
		return want
	case want != "":
		return ""
	case len(versions) > 0:
		return versions[len(versions)-1]
	}
	version, _ := InstalledVersion(p.h, name)
	return version
}

// providers is a directory with a file for each virtual package.
const providers = "/var/lib/simulated/providers/"

// Provide makes a name virtual, which these packages provide.
func Provide(ctx context.Context, h host.Host, name string, by ...string) error {
	return WriteFile(ctx, h, providers+name, strings.Join(by, "\n"), host.Meta{})
}

func aptCache(p *program) (host.Result, error) {
	for _, name := range p.args[1:] {
		if by := strings.Fields(Text(p.h, providers+name)); len(by) > 0 {
			if p.args[0] == "policy" {
				fmt.Fprintf(&p.out, "%s:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n", name)
				continue
			}
			fmt.Fprintf(&p.out, "Package: %s\nVersions: \n\nReverse Depends: \nDependencies: \nProvides: \nReverse Provides: \n", name)
			for _, provider := range by {
				fmt.Fprintf(&p.out, "%s 1.0 (= )\n", provider)
			}
			continue
		}
		versions := p.versions(name)
		have := p.field(name, "Version")
		if len(versions) == 0 && have == "" {
			continue
		}
		if have != "" && !slices.Contains(versions, have) {
			versions = append([]string{have}, versions...)
		}
		fmt.Fprintf(&p.out, "%s:\n  Installed: %s\n  Candidate: %s\n  Version table:\n", name, have, versions[len(versions)-1])
		for _, v := range slices.Backward(versions) {
			mark := "    "
			if v == have {
				mark = " ***"
			}
			fmt.Fprintf(&p.out, "%s %s 500\n        500 file:/repository ./ Packages\n", mark, v)
		}
	}
	return p.result()
}

func aptMark(p *program) (host.Result, error) {
	want := map[string]string{"hold": "hold", "unhold": "install"}[p.args[0]]
	for _, name := range p.args[1:] {
		if err := p.record(name, want+" ok installed", p.field(name, "Version")); err != nil {
			return host.Result{}, err
		}
	}
	return p.result()
}
