package moduletest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/locale"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	wishes        = "# what locale-gen makes\n# de_DE.UTF-8 UTF-8\nen_GB.UTF-8 UTF-8\n"
	localeArchive = "/usr/lib/locale/locale-archive"
	sessions      = "/etc/default/locale"
)

// newLocaleHost has a locale-gen that makes an archive of names, one a line.
func newLocaleHost(t *testing.T) host.Host {
	h := fake.Host(t)
	for name, text := range map[string]string{
		"/etc/locale.gen": wishes, "/usr/sbin/locale-gen": "", localeArchive: "C.utf8\nen_GB.utf8\n",
		"/usr/share/i18n/SUPPORTED": "de_DE.UTF-8 UTF-8\nde_DE ISO-8859-1\nde_DE@euro ISO-8859-15\nen_GB.UTF-8 UTF-8\n",
	} {
		fake.Put(t, h, name, text, 0o644)
	}
	h.Handle("locale-gen", func(ctx context.Context, c host.Command) (host.Result, error) {
		names := "C.utf8\n"
		for line := range strings.Lines(fake.Text(h, "/etc/locale.gen")) {
			if words := strings.Fields(line); len(words) == 2 && words[0] != "#" {
				names += strings.Replace(words[0], "UTF-8", "utf8", 1) + "\n"
			}
		}
		if strings.Contains(names, "@euro") {
			return host.Result{ExitCode: 1, Stderr: []byte("cannot open it\n")}, nil
		}
		return host.Result{}, h.WriteFile(ctx, localeArchive, host.Text(names), host.Meta{})
	})
	h.Handle("locale", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte(fake.Text(h, localeArchive))}, nil
	})
	return h
}

func TestLocale(t *testing.T) {
	t.Parallel()
	def := func(t *testing.T, h host.Host) { fake.Put(t, h, sessions, "LANG=\"en_GB.UTF-8\"\nLC_TIME=C\n", 0o644) }
	statestest.Run(t, statestest.Suite{Module: locale.Module, Host: newLocaleHost, Hostile: map[string]any{"name": "de_DE.UTF-8"}, Cases: []statestest.Case{
		{
			Name: "create", Values: map[string]any{"name": "de_DE.UTF-8"}, Action: states.Create,
			Check: holds("/etc/locale.gen", "# what locale-gen makes\nde_DE.UTF-8 UTF-8\nen_GB.UTF-8 UTF-8\n", localeArchive, "C.utf8\nde_DE.utf8\nen_GB.utf8\n", sessions, ""),
		}, {
			Name: "create the default", Values: map[string]any{"name": "de_DE", "default": true}, Action: states.Create, Changes: []string{"default"},
			Check: holds("/etc/locale.gen", wishes+"de_DE ISO-8859-1\n", sessions, "LANG=de_DE\n"),
		},
		{Name: "nothing to do", Prepare: def, Values: map[string]any{"name": "en_GB.UTF-8", "default": true}},
		{Name: "the default", Values: map[string]any{"name": "en_GB.UTF-8", "default": true}, Action: states.Update, Changes: []string{"default"}, Check: holds(sessions, "LANG=en_GB.UTF-8\n")},
		{Name: "no default", Prepare: def, Values: map[string]any{"name": "en_GB.UTF-8", "default": false}, Action: states.Update, Changes: []string{"default"}, Check: holds(sessions, "LC_TIME=C\n")},
		{
			Name: "another file", Values: map[string]any{"name": "C.UTF-8", "default": true}, Action: states.Update, Changes: []string{"default"}, Stays: "it is always there",
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, "/etc/locale.conf", "LANG=x\n", 0o644)
				fake.Link(t, h, "../locale.conf", sessions)
			},
			Check: holds("/etc/locale.conf", "LANG=C.UTF-8\n"),
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: def, Values: map[string]any{"name": "en_GB.UTF-8", "default": true}, Action: states.Remove, Changes: []string{"default"},
			Check: holds("/etc/locale.gen", "# what locale-gen makes\n# de_DE.UTF-8 UTF-8\n# en_GB.UTF-8 UTF-8\n", localeArchive, "C.utf8\n", sessions, "LC_TIME=C\n"),
		},
		{Name: "it cannot be made", Values: map[string]any{"name": "de_DE@euro"}, Fails: "cannot open it", OnlyOnHost: true},
		{Name: "unknown", Values: map[string]any{"name": "de_XX.UTF-8"}, Fails: "no locale named de_XX.UTF-8"},
		{Name: "always there", Ensure: states.Absent, Values: map[string]any{"name": "C.UTF-8"}, Fails: "cannot be removed"},
		{
			Name: "no locale-gen", Values: map[string]any{"name": "de_DE.UTF-8"}, Fails: "no locale-gen",
			Prepare: func(t *testing.T, h host.Host) {
				if err := h.Remove("/usr/sbin/locale-gen"); err != nil {
					t.Fatal(err)
				}
			},
		},
		{Name: "a second line", Values: map[string]any{"name": "de_DE.UTF-8\nx"}, Wrong: "cannot contain"},
		{Name: "up", Values: map[string]any{"name": "a..b"}, Wrong: "no name of a locale"},
	}})
}
