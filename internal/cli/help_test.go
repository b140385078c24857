package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// The help of each command shows some of the flags of every command, all of which there are, and
// --help-all shows each of them.
func TestHelp(t *testing.T) {
	model := newParser(&grammar{}, []string{"completion"}, Environment{}, nil).Model
	var flags []string
	for _, f := range model.Flags {
		flags = append(flags, f.Name)
	}
	help := func(args ...string) string {
		var out bytes.Buffer
		if status := Main(args, Environment{Out: &out, Err: &out}); status != exitDone {
			t.Errorf("%q: status %d\n%s", args, status, &out)
		}
		return out.String()
	}
	for _, command := range append(names(model.Node), "") {
		var args []string
		if command != "" {
			args = []string{command}
		}
		shown := commonFlags(command)
		if len(shown) == 0 && command != "completion" {
			t.Errorf("%s shows none of the flags of every command", command)
		}
		less, all := help(append(args, "--help")...), help(append(args, "--help-all")...)
		for _, name := range flags {
			is, want := strings.Contains(less, " --"+name), slices.Contains(shown, name) || strings.HasPrefix(name, "help")
			own := slices.ContainsFunc(flags, func(other string) bool { return other != name && strings.HasPrefix(other, name) })
			if is != want && !own {
				t.Errorf("%s --help shows --%s: %v", command, name, is)
			}
			if !strings.Contains(all, " --"+name) {
				t.Errorf("%s --help-all does not show --%s", command, name)
			}
		}
		for _, name := range shown {
			if !slices.Contains(flags, name) {
				t.Errorf("%s: there is no flag --%s", command, name)
			}
		}
	}
}
