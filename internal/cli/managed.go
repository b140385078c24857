package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// hostResources is what sites have created on a host, as JSON.
type hostResources struct {
	Host  string                `json:"host"`
	Sites []machine.ManagedSite `json:"sites"`
}

// showManaged lists what sites have created on machines.
func (s *client) showManaged(ctx context.Context, t *targets) error {
	list, err := ask(ctx, s, t, askOne("managed", true, func(ctx context.Context, m *fleet.Member) ([]machine.ManagedSite, error) {
		inventory, ok := m.Machine.(machine.Inventory)
		if !ok {
			return nil, &diag.HintError{Code: machine.CodeUnsupported, Message: "it cannot list what sites have created"}
		}
		return inventory.Managed(ctx)
	}))
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			sites := append([]machine.ManagedSite{}, list[i].value...)
			return sites, hostResources{list[i].host.Name, sites}
		})
	}
	for _, a := range list {
		switch {
		case !a.replied():
		case !t.hasNames && a.value == nil:
			return s.nothingYet()
		case !t.hasNames:
			err = s.printResources(a.value)
		case len(a.value) > 0:
			err = errors.Join(s.print(a.host.Name+":"), s.printResources(a.value))
		}
		if err != nil {
			return err
		}
	}
	return s.showFailures(t, common(list))
}

// printResources prints it for people.
func (s *client) printResources(list []machine.ManagedSite) error {
	var out strings.Builder
	for _, site := range list {
		fmt.Fprintf(&out, "%s\n", ui.Line(site.Site))
		for _, c := range site.Resources {
			verb := "created"
			if c.Claim {
				verb = "declared here too, created"
			}
			line := fmt.Sprintf("  %s %s  %s, %s by run %s (%s)", c.Type, c.Key, c.Address, verb, c.Run, when(c.Time))
			if c.Retain != 0 {
				line += "; retain = " + c.Retain.String()
			}
			fmt.Fprintln(&out, ui.Line(line))
		}
	}
	_, err := fmt.Fprint(s.Out, out.String())
	return failure(unread(err))
}
