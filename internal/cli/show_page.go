package cli

import (
	"bytes"
	"errors"

	"github.com/tenetcm/tenet/internal/ui/webpage"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// writePage prints a saved plan, of one host or of several, as a page of HTML.
func (s *client) writePage(plan *planfile.Plan, several *planfile.Fleet) error {
	var page webpage.Page
	var broken error
	if several == nil {
		page = webpage.Page{Site: plan.Site(), Program: plan.Program, Created: plan.Created, Revision: plan.Run.Revision,
			Hosts: []webpage.Host{{Name: hostOf(plan), Rows: plan.Rows, Handlers: handlerAddresses(plan.Run)}},
			Runs:  func(yield func(*states.StateRun) bool) { yield(plan.Run) }}
	} else {
		page = fleetPage(several, &broken)
	}
	var out bytes.Buffer
	err := errors.Join(webpage.Write(&out, page), broken)
	if err == nil {
		_, err = out.WriteTo(s.Out)
	}
	return failure(unread(err))
}

// fleetPage is the page of the plans of several hosts. Broken is set if one cannot be read.
func fleetPage(several *planfile.Fleet, broken *error) webpage.Page {
	page := webpage.Page{Site: several.Identity(), Program: several.Program, Created: several.Created, Revision: several.Revision()}
	for i := range several.Hosts {
		h := &several.Hosts[i]
		page.Hosts = append(page.Hosts, webpage.Host{Name: h.Name, Rows: h.Rows, Handlers: h.Handlers, Status: h.Status, Problem: h.Problem})
	}
	page.Runs = func(yield func(*states.StateRun) bool) {
		for i := range several.Hosts {
			plan, err := several.Plan(i)
			if err != nil {
				*broken = err
				return
			}
			if plan != nil && !yield(plan.Run) {
				return
			}
		}
	}
	return page
}

// handlerAddresses are those of the invocations of handlers.
func handlerAddresses(run *states.StateRun) (list []string) {
	for i := range run.Invocations {
		if inv := &run.Invocations[i]; inv.Handler {
			list = append(list, inv.Address)
		}
	}
	return list
}
