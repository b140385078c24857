package simulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/runtime/host"
)

// likeFile names the distribution whose packages apt offers; it is not there on a machine
// that is like none.
const likeFile = "/var/lib/simulated/like"

// kind gives the kind of machine that is wanted, with the packages of its distribution; nil:
// none is wanted.
func (b *builder) kind(name string) (Kind, catalogue) {
	if name == "" || b.err != nil {
		return Kind{}, nil
	}
	k, err := kindOf(name)
	var all catalogue
	if err == nil {
		all, err = catalogueOf(k.from)
	}
	b.must(err)
	return k, all
}

// settle puts the accounts of the kind on the machine, before anything names them.
func (k Kind) settle(ctx context.Context, h *host.Memory) error {
	passwd := k.text("passwd")
	var shadow strings.Builder
	for line := range strings.Lines(passwd) {
		name, _, _ := strings.Cut(line, ":")
		shadow.WriteString(name + ":*:19000:0:99999:7:::\n")
	}
	return errors.Join(
		WriteFile(ctx, h, accounts.Passwd, passwd, host.Meta{}),
		WriteFile(ctx, h, accounts.Group, k.text("group"), host.Meta{}),
		WriteFile(ctx, h, accounts.Shadow, shadow.String(), host.Meta{Mode: new(fs.FileMode(0o640))}),
		WriteFile(ctx, h, likeFile, k.from, host.Meta{}),
	)
}

// furnish puts the installed packages of the kind on the machine, and what else it has. What
// the machine is without is left out: units without systemd, the record of packages without apt.
func (k Kind) furnish(ctx context.Context, h *host.Memory, all catalogue, m Machine) error {
	var record strings.Builder
	for _, name := range strings.Fields(k.text("installed")) {
		d := all[name]
		if d == nil {
			return fmt.Errorf("like/%s/installed: %s is not in the catalogue of %s", k.Name, name, k.from)
		}
		fmt.Fprintf(&record, "Package: %s\nStatus: install ok installed\nArchitecture: amd64\nVersion: %s\n\n", name, d.version)
		if err := d.unpack(ctx, h); err != nil {
			return err
		}
	}
	if !m.NoApt {
		if err := WriteFile(ctx, h, status, record.String(), host.Meta{}); err != nil {
			return err
		}
	}
	errs := []error{k.settings(ctx, h), kernel(ctx, h)}
	if !m.NoSystemd {
		for _, name := range strings.Fields(k.text("running")) {
			errs = append(errs, StartUnit(ctx, h, name))
		}
	}
	errs = append(errs, zones(ctx, h, record.String()), localeLists(ctx, h, record.String()))
	addPrograms(h, all)
	return errors.Join(errs...)
}

// zones puts the time zones on a machine that has the package of them.
func zones(ctx context.Context, h *host.Memory, record string) error {
	if !strings.Contains(record, "Package: tzdata\n") {
		return nil
	}
	data, err := likeFiles.ReadFile("like/zones")
	for _, name := range strings.Fields(string(data)) {
		if err == nil { // each begins as a zone does, and says no more
			err = WriteFile(ctx, h, "/usr/share/zoneinfo/"+name, "TZif2\x00"+name, host.Meta{})
		}
	}
	return err
}

// localeLists puts the lists of locales on a machine that has the package of them.
func localeLists(ctx context.Context, h *host.Memory, record string) error {
	if !strings.Contains(record, "Package: locales\n") {
		return nil
	}
	data, err := likeFiles.ReadFile("like/locales")
	if err != nil {
		return err
	}
	wishes := "# " + strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n# ") + "\n"
	return errors.Join(WriteFile(ctx, h, "/usr/share/i18n/SUPPORTED", string(data), host.Meta{}),
		WriteFile(ctx, h, "/etc/locale.gen", wishes, host.Meta{}))
}

// settings puts the contents of files in place that are known.
func (k Kind) settings(ctx context.Context, h *host.Memory) error {
	dir := path.Join("like", k.Name, "files")
	return fs.WalkDir(likeFiles, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := likeFiles.ReadFile(name)
		if err != nil {
			return err
		}
		to := strings.TrimPrefix(name, dir)
		if info, err := h.Lstat(to); err == nil && info.Kind == host.Symlink {
			return nil
		}
		return WriteFile(ctx, h, to, string(data), host.Meta{})
	})
}

// kernel puts the kernel's parameters below /proc/sys.
func kernel(ctx context.Context, h *host.Memory) error {
	data, err := likeFiles.ReadFile("like/kernel")
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, " = ")
		if file := kernelFile(key); ok && err == nil && !Exists(h, file) {
			err = WriteFile(ctx, h, file, value, host.Meta{})
		}
	}
	return err
}

// kernelFile is where a parameter of the kernel is to be seen. Of a name in its path "/"
// stands for ".", as of eth0.1 in net.ipv4.conf.eth0/1.
func kernelFile(key string) string {
	return "/proc/sys/" + strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, strings.TrimSpace(key))
}

// described gives what is known of a package of the distribution. Nil where a package of
// that name was described for the machine itself: that counts.
func (p *program) described(name string) *described {
	if own, err := p.parcel(name); err != nil || Exists(p.h, contents+name) && !own.Adds {
		return nil
	}
	return p.catalogue()[name]
}

func (p *program) catalogue() catalogue {
	from := Text(p.h, likeFile)
	if from == "" {
		return nil
	}
	all, err := catalogueOf(from)
	if err != nil {
		return nil // New has told
	}
	return all
}

// versions are those that the package lists have, the newest last.
func (p *program) versions(name string) []string {
	if listed := strings.Fields(Text(p.h, lists+name)); len(listed) > 0 {
		return listed
	}
	if d := p.described(name); d != nil {
		return []string{d.version}
	}
	return nil
}

// installNeeds installs what a package of the distribution needs, and is not there.
func (p *program) installNeeds(name string) error {
	if p.described(name) == nil {
		return nil
	}
	for _, need := range p.catalogue().closure(name) {
		if version, _ := InstalledVersion(p.h, need); version != "" || need == name {
			continue
		}
		if err := errors.Join(p.record(need, "install ok installed", p.choose(need, "")), p.unpack(need)); err != nil {
			return err
		}
	}
	return nil
}

// unpack puts what a package brings on the machine; what is there already stays. As on
// Debian its services are enabled and started.
func (d *described) unpack(ctx context.Context, h *host.Memory) error {
	for _, t := range d.things {
		if Exists(h, t.path) {
			continue
		}
		var err error
		switch t.word {
		case "directory":
			err = MakeDirectory(h, t.path, modeOf(t.more))
		case "link":
			err = Link(h, t.more, t.path)
		default:
			mode := modeOf(t.more)
			if dir := path.Dir(t.path); mode == nil && (dir == "/usr/bin" || dir == "/usr/sbin") {
				mode = new(fs.FileMode(0o755))
			}
			err = WriteFile(ctx, h, t.path, "", host.Meta{Mode: mode})
		}
		if err != nil {
			return fmt.Errorf("the package %s: %w", d.name, err)
		}
	}
	if !Exists(h, "/run/systemd/system") {
		return nil
	}
	for _, u := range d.units {
		if err := u.add(ctx, h); err != nil {
			return fmt.Errorf("the package %s: %w", d.name, err)
		}
	}
	return nil
}

// add puts a unit on the machine, as its package does.
func (u unit) add(ctx context.Context, h *host.Memory) error {
	if Exists(h, unitDir+u.name) {
		return nil
	}
	text := u.text()
	err := AddUnit(ctx, h, u.name, text)
	if err != nil || !u.enabled || u.isTemplate() || isMasked(h, u.name) {
		return err
	}
	err = Link(h, unitDir+u.name, wants(u.name, text))
	if err == nil && u.runs() && path.Ext(u.name) != ".target" {
		err = StartUnit(ctx, h, u.name)
	}
	return err
}

// modeOf reads a mode that stands in a catalogue; nil: the usual one.
func modeOf(text string) *fs.FileMode {
	bits, err := strconv.ParseUint(cmp.Or(text, "x"), 8, 12)
	if err != nil {
		return nil
	}
	return new(fs.FileMode(bits))
}

// remove takes away what a package has brought: what is below /etc only in a purge, and
// directories, in which others may have put something, never.
func (d *described) remove(p *program, purge bool) error {
	var errs []error
	for _, u := range d.units {
		errs = append(errs, removeAll(p.h, activeDir+u.name), p.unlink(u.name), removeAll(p.h, unitDir+u.name))
	}
	for _, t := range slices.Backward(d.things) {
		if t.word != "directory" && (purge || !strings.HasPrefix(t.path, "/etc/")) {
			errs = append(errs, removeAll(p.h, t.path))
		}
	}
	return errors.Join(errs...)
}
