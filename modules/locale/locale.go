// Package locale is the module "locale": a locale of the C library.
package locale

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Locale is one locale, wanted or observed. A nil attribute is not managed.
type Locale struct {
	Name    string `state:"name,key" doc:"Name of the locale, as it stands in /usr/share/i18n/SUPPORTED, such as de_DE.UTF-8."`
	Default *bool  `state:"default" doc:"Whether it is what LANG is in new sessions, for those who choose none."`
}

const doc = `A locale is generated, and may be the one that sessions have by default.

This is for Debian and what comes of it: the locale has a line in /etc/locale.gen, and locale-gen (of the package locales) makes it. The default stands in /etc/default/locale or, where that is a link or not there, in /etc/locale.conf. C.UTF-8, C and POSIX are always there.

Absent makes the line a comment again, generates the others anew, and takes a default that is this locale away.`

const example = `locale "de_DE.UTF-8" {
  default = true
}

locale "en_GB.UTF-8" {}`

// Module is the module "locale".
var Module = states.Define(states.Type[Locale]{
	Name: "locale", Doc: doc, Example: example, Locks: []string{"locale", wishes, debianDefault}, Root: true,
	Validate: validate, Read: read, Write: write, Remove: remove, Foresee: foresee, List: list,
	Effects: effects,
})

// effects are those of locale-gen, which makes the locales anew in one archive.
func effects(_ Locale, _ bool) states.Effects {
	return states.Effects{Paths: []string{madeDir}}
}

func validate(want Locale) error {
	if len(want.Name) > 60 {
		return states.InvalidAttribute("name", "it is longer than a name of a locale can be", "")
	}
	if err := check.Name("name", want.Name, "_.-@"); err != nil {
		return err
	}
	if strings.Contains(want.Name, "..") || strings.HasPrefix(want.Name, ".") {
		return states.InvalidAttribute("name", fmt.Sprintf("%q is no name of a locale", want.Name), "write it as in /usr/share/i18n/SUPPORTED, such as de_DE.UTF-8")
	}
	return nil
}

func read(ctx context.Context, h host.Host, want Locale) (*Locale, error) {
	there, err := isGenerated(ctx, h, want.Name)
	if err != nil || !there {
		return nil, err
	}
	have := &Locale{Name: want.Name}
	if want.Default == nil {
		return have, nil
	}
	_, lang, err := lang(h)
	have.Default = new(lang == want.Name)
	return have, err
}

func write(ctx context.Context, h host.Host, have *Locale, want Locale) error {
	if have == nil {
		if err := generate(ctx, h, want.Name, true); err != nil {
			return err
		}
	}
	return writeDefault(ctx, h, want)
}

func remove(ctx context.Context, h host.Host, have Locale) error {
	if isBuiltin(have.Name) {
		return always(have.Name)
	}
	if err := writeDefault(ctx, h, Locale{Name: have.Name, Default: new(false)}); err != nil {
		return err
	}
	return generate(ctx, h, have.Name, false)
}

func always(name string) error {
	return fmt.Errorf("%s is part of the C library, and cannot be removed", name)
}

// foresee does to the files of a Shadow what locale-gen would.
func foresee(ctx context.Context, h host.Host, have, want *Locale) error {
	switch {
	case want == nil && isBuiltin(have.Name):
		return always(have.Name)
	case want == nil:
		if err := writeDefault(ctx, h, Locale{Name: have.Name, Default: new(false)}); err != nil {
			return err
		}
		_, err := mark(ctx, h, have.Name, false)
		return err
	case have == nil:
		if err := possible(h); err != nil {
			return err
		}
		if _, err := mark(ctx, h, want.Name, true); err != nil {
			return err
		}
		dir := madeDir + "/" + archiveName(want.Name)
		if err := h.Mkdir(dir, host.Meta{}); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return writeDefault(ctx, h, *want)
}

// generate changes the line in locale.gen and runs locale-gen. Where that fails,
// the file is as it was.
func generate(ctx context.Context, h host.Host, name string, wanted bool) error {
	if err := possible(h); err != nil {
		return err
	}
	former, err := mark(ctx, h, name, wanted)
	if err != nil {
		return err
	}
	argv := []string{"locale-gen"}
	if wanted {
		argv = append(argv, "--keep-existing")
	}
	_, err = process.Run(ctx, h, host.Command{Argv: argv, Env: []string{"LC_ALL=C.UTF-8"}})
	if err != nil {
		// It is put back though the run is being cancelled.
		err = errors.Join(err, former.Save(context.WithoutCancel(ctx), h, wishes, host.Meta{}))
	}
	return err
}

func possible(h host.Reader) error {
	for _, dir := range []string{"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/"} {
		if _, err := h.Lstat(dir + "locale-gen"); err == nil {
			return nil
		}
	}
	return errors.New("this host has no locale-gen: on Debian the package locales brings it")
}

// lang finds the file that holds the default, and what it is there.
func lang(h host.Reader) (file, name string, err error) {
	file = debianDefault
	if info, err := h.Lstat(file); err != nil || info.Kind != host.Regular {
		_, systemd := h.Lstat("/etc/locale.conf")
		_, debian := h.Lstat("/etc/debian_version")
		if err == nil || systemd == nil || debian != nil {
			file = "/etc/locale.conf"
		}
	}
	t, err := lines.LoadIfThere(h, file)
	for _, i := range t.Find(isLang) {
		name = strings.Trim(strings.TrimPrefix(t[i].Line, "LANG="), `"' `)
	}
	return file, name, err
}

func isLang(line string) bool { return strings.HasPrefix(line, "LANG=") }

// writeDefault makes it the default, or no default.
func writeDefault(ctx context.Context, h host.Host, want Locale) error {
	file, is, err := lang(h)
	if err != nil || want.Default == nil || *want.Default == (is == want.Name) {
		return err
	}
	t, err := lines.LoadIfThere(h, file)
	if err != nil {
		return err
	}
	if *want.Default {
		return t.Set(t.Find(isLang), "LANG="+want.Name).Save(ctx, h, file, host.Meta{})
	}
	return t.Without(t.Find(isLang), -1).Save(ctx, h, file, host.Meta{})
}

func list(ctx context.Context, h host.Host, _ []string) ([]Locale, error) {
	t, err := lines.LoadIfThere(h, wishes)
	var found []Locale
	for _, r := range t {
		if words := strings.Fields(r.Line); len(words) == 2 && words[0][0] != '#' && validate(Locale{Name: words[0]}) == nil {
			found = append(found, Locale{Name: words[0]})
		}
	}
	return found, err
}
