package locale

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

const (
	wishes        = "/etc/locale.gen"           // what locale-gen makes
	debianDefault = "/etc/default/locale"       // Debian's /etc/locale.conf
	supportedList = "/usr/share/i18n/SUPPORTED" // what can be made: "NAME CHARSET"
	madeDir       = "/usr/lib/locale"           // what is made
	archive       = "/usr/lib/locale/locale-archive"
)

// isBuiltin tells the locales that need not be made.
func isBuiltin(name string) bool {
	return slices.Contains([]string{"c", "posix", "c.utf8"}, strings.ToLower(archiveName(name)))
}

// archiveName is a locale's name as the C library has it: of the charset only
// lower-case letters and digits count.
func archiveName(name string) string {
	name, modifier, modified := strings.Cut(name, "@")
	language, charset, _ := strings.Cut(name, ".")
	keep := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}
	if charset = strings.Map(keep, strings.ToLower(charset)); charset != "" {
		language += "." + charset
	}
	if modified {
		language += "@" + modifier
	}
	return language
}

// isGenerated reports whether a locale is wished for, and made.
func isGenerated(ctx context.Context, h host.Host, name string) (bool, error) {
	if isBuiltin(name) {
		return true, nil
	}
	t, err := lines.LoadIfThere(h, wishes)
	if err != nil || len(t.Find(entry(name, false))) == 0 {
		return false, err
	}
	if _, err := h.Lstat(madeDir + "/" + archiveName(name)); err == nil {
		return true, nil
	}
	r, err := process.Query(ctx, h, host.Query{Command: host.Command{Argv: []string{"locale", "-a"}, Env: []string{"LC_ALL=C"}}, Reads: []string{archive}})
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("this host has no program locale: %w", err)
	}
	for line := range strings.Lines(string(r.Stdout)) {
		if archiveName(strings.TrimSpace(line)) == archiveName(name) {
			return true, nil
		}
	}
	return false, err
}

// entry finds the lines of a locale; those that are comments, too, if any.
func entry(name string, comments bool) func(string) bool {
	return func(line string) bool {
		line = strings.TrimSpace(line)
		if bare, comment := strings.CutPrefix(line, "#"); comment && comments {
			line = bare
		}
		words := strings.Fields(line)
		return len(words) == 2 && words[0] == name
	}
}

// mark makes the locale's line in locale.gen one that counts, or a comment, and
// gives the file as it was.
func mark(ctx context.Context, h host.Host, name string, wanted bool) (former lines.Text, err error) {
	t, err := lines.LoadIfThere(h, wishes)
	if err != nil {
		return nil, err
	}
	all, err := lines.LoadIfThere(h, supportedList)
	if err != nil {
		return nil, err
	}
	line, rows := "", t.Find(entry(name, true))
	if found := all.Find(entry(name, false)); len(found) > 0 {
		line = strings.Join(strings.Fields(all[found[0]].Line), " ")
	}
	switch {
	case !wanted:
		rows = t.Find(entry(name, false))
		if len(rows) == 0 {
			return t, nil
		}
		line = "# " + t[rows[0]].Line
	case line == "":
		return nil, fmt.Errorf("%w (those that there are stand in %s)", check.NotOnHost("locale", name), supportedList)
	}
	return t, t.Set(rows, line).Save(ctx, h, wishes, host.Meta{})
}
