package packages

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// A manager that no plan asks may refuse an act for what a package needs, or for what
// needs it: such a row is never certain.
func TestPlanWithoutRehearsal(t *testing.T) {
	offered := map[string]string{
		"dnf":    "lab-one\t1.0-1\tnoarch\n",
		"zypper": `<stream><search-result><solvable-list><solvable name="lab-one" edition="1.0-1" arch="noarch"/></solvable-list></search-result></stream>`,
		"pacman": "lab lab-one 1.0-1\n",
		"apk":    "lab-one policy:\n  1.0-1:\n    https://mirror.example.test/main\n",
	}
	for program, text := range offered {
		t.Run(program, func(t *testing.T) {
			h := host.NewMemory()
			for _, dir := range []string{"/usr", "/usr/bin", "/var", "/var/lib", "/var/lib/pacman", "/var/lib/pacman/local"} {
				if err := h.Mkdir(dir, host.Meta{}); err != nil {
					t.Fatal(err)
				}
			}
			put(t, h, "/usr/bin/"+program, "")
			h.Handle("rpm", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
			h.Handle(program, func(_ context.Context, c host.Command) (host.Result, error) {
				if slices.Contains(c.Argv, "search") && program == "apk" {
					return host.Result{Stdout: []byte("lab-one-1.0-1\n")}, nil
				}
				return host.Result{Stdout: []byte(text)}, nil
			})
			for name, row := range map[string]struct {
				item states.Item
				want string
			}{
				"install": {states.Item{Want: &Package{Name: "lab-one"}}, "whether its dependencies can be installed shows in the apply"},
				"change": {states.Item{Have: &Package{Name: "lab-one", Version: new("0.9-1")}, Want: &Package{Name: "lab-one", Version: new("1.0-1")}},
					"whether its dependencies can be installed shows in the apply"},
				"remove": {states.Item{Have: &Package{Name: "lab-one", Version: new("1.0-1")}}, "whether other packages need it shows in the apply"},
			} {
				err := Module.Batch(t.Context(), host.NewShadow(h), []states.Item{row.item})[0]
				if maybe, ok := errors.AsType[*states.UncertainError](err); !ok || maybe.Reason != row.want {
					t.Errorf("%s: a plan says %v, want it to be uncertain: %s", name, err, row.want)
				}
				if err := Module.Batch(t.Context(), h, []states.Item{row.item})[0]; err != nil {
					t.Errorf("%s: an apply says %v", name, err)
				}
			}
		})
	}
}
