package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/tenetcm/tenet/runtime/host"
)

// What is put back is not said to be as the block has made it; what a program did beside it is,
// unless it only judged.
func TestConfirmTellsWhatProgramsDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		for _, dir := range []string{"/etc", "/usr", "/usr/bin", "/usr/lib", "/usr/lib/locale", "/usr/share", "/usr/share/i18n"} {
			mkdir(t, g, dir)
		}
		write(t, g, "/usr/bin/locale-gen", "")
		write(t, g, "/usr/share/i18n/SUPPORTED", "de_DE.UTF-8 UTF-8\n")
		write(t, g, "/etc/locale.gen", "# de_DE.UTF-8 UTF-8\n")
		g.Handle("judge", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
		g.Handle("locale-gen", func(context.Context, host.Command) (host.Result, error) {
			return host.Result{}, g.Mkdir("/usr/lib/locale/de_DE.utf8", host.Meta{})
		})
		g.Handle("locale", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
		o := apply(t, g, gated("bad", `
			file "/judged" {
				content  = "x"
				validate = ["judge", "%s"]
			}
			locale "de_DE.UTF-8" {}`))
		want := "not confirmed: restored 3 paths; check ended with 7: locked out; undone as far as it is a file, but not what else its program did: locale[\"de_DE.UTF-8\"]"
		if end := o.confirmed()[2]; end.Error.Message != want {
			t.Errorf("%s, want %s", end.Error.Message, want)
		}
	})
}
