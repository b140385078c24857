package cli

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/runner"
)

// showManaged lists what sites have created here.
func (s *client) showManaged(local *runner.Runner) error {
	list, err := local.Managed()
	if err != nil {
		return s.ran(err)
	}
	if list == nil && !s.globals.JSON {
		return s.nothingYet()
	}
	if s.globals.JSON {
		return s.printJSON(append([]runner.ManagedSite{}, list...))
	}
	return s.printManaged(list)
}

// printManaged prints it for people.
func (s *client) printManaged(list []runner.ManagedSite) error {
	var out strings.Builder
	for _, site := range list {
		fmt.Fprintf(&out, "%s\n", ui.Line(site.Site))
		for _, c := range site.Resources {
			verb := "created"
			if c.Claim {
				verb = "declared here too, created"
			}
			fmt.Fprintln(&out, ui.Line(fmt.Sprintf("  %s %s  %s, %s by run %s (%s)", c.Type, c.Key, c.Address, verb, c.Run, when(c.Time))))
		}
	}
	_, err := fmt.Fprint(s.Out, out.String())
	return failed(unread(err))
}
