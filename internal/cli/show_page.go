package cli

import (
	"bytes"

	"github.com/tenetcm/tenet/internal/ui/webpage"
	"github.com/tenetcm/tenet/runtime/planfile"
)

// writePage prints a saved plan as a page of HTML.
func (s *client) writePage(plan *planfile.Plan, several *planfile.Fleet) error {
	if several != nil {
		return usage("leave --html out", "a page shows the plan of one host, and these are %d", len(several.Hosts))
	}
	var out bytes.Buffer
	err := webpage.Write(&out, webpage.Plan{Site: plan.Site(), Host: hostOf(plan), Program: plan.Program,
		Created: plan.Created, Run: plan.Run, Rows: plan.Rows})
	if err == nil {
		_, err = out.WriteTo(s.Out)
	}
	return failure(unread(err))
}
