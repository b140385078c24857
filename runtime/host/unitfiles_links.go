package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// wantDirs are the directories beside a unit's file that hold who wants it, and the
// settings that make links in them.
func wantDirs() map[string]string {
	return map[string]string{".wants": "WantedBy", ".requires": "RequiredBy", ".upholds": "UpheldBy"}
}

// enablement says how a unit is enabled, in the words of systemctl is-enabled.
func (u *unitFiles) enablement(f *unitFile) (string, error) {
	switch {
	case strings.HasSuffix(f.dir, "/transient"):
		return "transient", nil
	case strings.HasSuffix(f.dir, "/generator"), strings.HasSuffix(f.dir, "/generator.late"):
		return "generated", nil
	case f.alias:
		return "alias", nil
	}
	for _, dir := range u.dirs {
		how := ""
		switch {
		case dir == u.config, dir == "/etc/systemd/user":
			how = "enabled"
		case strings.HasPrefix(dir, "/run/"):
			how = "enabled-runtime"
		default:
			continue
		}
		links, err := u.linksTo(dir, f.name)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(links, func(link string) bool { return path.Base(link) != f.name || path.Dir(link) != dir }) {
			return how, nil
		}
	}
	// An error of the rules is one of enabling it.
	rules, err := u.rules(f)
	switch {
	case f.link:
		return "linked", nil
	case len(rules) > 0 || err != nil:
		return "disabled", nil
	case len(f.unit["Install.Also"]) > 0:
		return "indirect", nil
	}
	return "static", nil
}

// linksTo lists the links in one directory of units that belong to a unit: those of
// its name, also in the directories of what wants it, and those that lead to it.
func (u *unitFiles) linksTo(dir, name string) (links []string, err error) {
	entries, err := u.list(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name)
		switch {
		case e.Kind == Symlink:
			target, err := u.h.ReadLink(at)
			if err != nil && !isMissing(err) {
				return nil, err
			}
			if to := path.Base(target); target != "/dev/null" && (to == name || e.Name == name) {
				links = append(links, at)
			}
		case e.Kind == Directory && wantDirs()[path.Ext(e.Name)] != "":
			inside, err := u.list(at)
			if err != nil {
				return nil, err
			}
			for _, link := range inside {
				if link.Kind == Symlink && (link.Name == name || template(link.Name) == name) {
					links = append(links, path.Join(at, link.Name))
				}
			}
		}
	}
	return links, nil
}

// rules are the links that enable a unit: path → target.
func (u *unitFiles) rules(f *unitFile) (map[string]string, error) {
	links, name := map[string]string{}, f.name
	if strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "@") { // a template
		instances, err := f.words("DefaultInstance")
		if err != nil || len(instances) == 0 {
			name = ""
		} else {
			name = strings.Replace(name, "@", "@"+instances[len(instances)-1], 1)
		}
	}
	for suffix, key := range wantDirs() {
		targets, err := f.words(key)
		if err != nil {
			return nil, err
		}
		for _, target := range targets {
			if name == "" {
				return nil, fmt.Errorf("%s is a template without a default instance: enable an instance of it, such as %s",
					f.name, strings.Replace(f.name, "@", "@one", 1))
			}
			links[path.Join(u.config, target+suffix, name)] = f.path
		}
	}
	aliases, err := f.words("Alias")
	for _, alias := range aliases {
		if alias != f.name {
			links[path.Join(u.config, alias)] = f.path
		}
	}
	return links, err
}

// enable makes the links that a unit asks for, and those of the units that it names
// beside itself.
func (u *unitFiles) enable(name string, done map[string]bool) error {
	if done[name] {
		return nil
	}
	done[name] = true
	f, err := u.find(name)
	switch {
	case err != nil:
		return err
	case f.mask != "":
		return fmt.Errorf("%s is masked", name)
	}
	links, err := u.rules(f)
	if err != nil {
		return err
	}
	for _, link := range sortedKeys(links) {
		if err := u.symlink(links[link], link); err != nil {
			return err
		}
	}
	also, err := f.words("Also")
	if err == nil && len(links)+len(also) == 0 {
		return notInstallable(name)
	}
	for _, other := range also {
		if err == nil {
			err = u.enable(other, done)
		}
	}
	return err
}

func notInstallable(name string) error {
	return fmt.Errorf("%s cannot be enabled: its unit file has no [Install] section, so other units start it", name)
}

// disable removes all links to a unit, and to those that it names beside itself.
func (u *unitFiles) disable(name string) error {
	names := []string{name}
	for i := 0; i < len(names); i++ {
		f, err := u.find(names[i])
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		also, err := f.words("Also")
		if err != nil {
			return err
		}
		for _, other := range also {
			if !slices.Contains(names, other) {
				names = append(names, other)
			}
		}
	}
	for _, name := range names {
		for _, dir := range []string{u.config, u.runtimeConfig} {
			links, err := u.linksTo(dir, name)
			if err != nil {
				return err
			}
			for _, link := range links {
				if err := u.h.Remove(link); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mask puts a link to nothing where the unit's file would be.
func (u *unitFiles) mask(name string) error {
	at := path.Join(u.config, name)
	info, err := u.h.Lstat(at)
	switch {
	case err == nil && info.Kind == Symlink:
		if target, err := u.h.ReadLink(at); err != nil || target == "/dev/null" {
			return err
		}
		fallthrough
	case err == nil:
		return fmt.Errorf("%s cannot be masked: its file %s stands where the mask would be", name, at)
	case !isMissing(err):
		return err
	}
	return u.symlink("/dev/null", at)
}

// unmask takes such links away.
func (u *unitFiles) unmask(name string) error {
	for _, dir := range []string{u.config, u.runtimeConfig} {
		at := path.Join(dir, name)
		target, err := u.h.ReadLink(at)
		if err == nil && target == "/dev/null" {
			err = u.h.Remove(at)
		}
		if err != nil && !isMissing(err) && !errors.Is(err, syscall.EINVAL) { // EINVAL: no link
			return err
		}
	}
	return nil
}

// symlink makes a link, with the directories above it, as the account's own.
func (u *unitFiles) symlink(target, at string) error {
	var meta Meta
	if u.user != nil {
		meta.UID, meta.GID = &u.user.UID, &u.user.GID
	}
	if old, err := u.h.ReadLink(at); err == nil && old == target {
		return nil
	}
	if err := u.parents(path.Dir(at), meta); err != nil {
		return err
	}
	return u.h.Symlink(target, at, meta)
}

func (u *unitFiles) parents(dir string, meta Meta) error {
	_, err := u.h.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := u.parents(path.Dir(dir), meta); err != nil {
		return err
	}
	return u.h.Mkdir(dir, meta)
}
