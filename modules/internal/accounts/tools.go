package accounts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// There is an error where a host keeps no accounts in files.
func There(h host.Reader, path string) error {
	if _, err := h.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this host has no %s, in which accounts are kept: it is no whole system (yet)", path)
	} else if err != nil {
		return err
	}
	return nil
}

// Traces are the paths that useradd, groupadd and their like change beside the tables of accounts:
// what these held before, a lock, and the numbers that accounts have for others.
func Traces() []string {
	return []string{
		"/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock",
		"/etc/subuid", "/etc/subuid-", "/etc/subgid", "/etc/subgid-",
	}
}

// Tool is an error where a host does not have useradd or groupadd, which a plan
// would not find out.
func Tool(ctx context.Context, h host.Processes, name string) error {
	_, err := h.Query(ctx, host.Query{Command: host.Command{Argv: []string{name, "--help"}}})
	if errors.Is(err, fs.ErrNotExist) {
		return Explain(err)
	}
	return nil // who cannot ask will see
}

// Explain says what brings a program that is not there.
func Explain(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the package passwd brings it, which is called shadow or shadow-utils elsewhere", err)
	}
	return err
}

// Setting looks up a key in a file of "KEY value" or "KEY=value" lines, such as
// login.defs.
func Setting(h host.Reader, file, key, otherwise string) string {
	text, err := host.ReadText(h, file)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(text) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("= \t\n", r) })
		if len(fields) == 2 && fields[0] == key {
			return fields[1]
		}
	}
	return otherwise
}

// OfPeople reports whether a number is one of those that login.defs has for
// people, and not for the system; kind is UID or GID.
func OfPeople(h host.Reader, id, kind string) bool {
	bound := func(name, otherwise string) int {
		n, err := strconv.Atoi(Setting(h, "/etc/login.defs", kind+name, otherwise))
		if err != nil {
			n, _ = strconv.Atoi(otherwise)
		}
		return n
	}
	n, err := strconv.Atoi(id)
	return err == nil && n >= bound("_MIN", "1000") && n <= bound("_MAX", "60000")
}
