package cli

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
)

// managedSite is what one site has created on this machine.
type managedSite struct {
	Site      string             `json:"site"`
	Resources []*journal.Created `json:"resources"`
}

// showManaged lists what sites have created here.
func (s *client) showManaged(folder *journal.Folder) error {
	managed, err := folder.Managed()
	if err != nil {
		return failed(err)
	}
	list := []managedSite{}
	for _, name := range managed.Sites() {
		holding := managed.Holding(name)
		if holding == nil {
			return failed(managed.Err())
		}
		if entries := holding.Entries(); len(entries) > 0 {
			list = append(list, managedSite{name, entries})
		}
	}
	if s.globals.JSON {
		return s.printJSON(list)
	}
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
	_, err = fmt.Fprint(s.Out, out.String())
	return failed(unread(err))
}
