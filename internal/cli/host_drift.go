package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	api "github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/states"
)

type hostDriftCmd struct {
	detailFlags
	Host   string `arg:"" help:"Its name or id."`
	Site   string `arg:"" optional:"" help:"Name of the site; without it, the only one that wants something of the host."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// hostDrift is what is printed as JSON.
type hostDrift struct {
	Host string `json:"host"`
	Site string `json:"site"`
	*api.HostDrift
}

// Run has a host look what differs from what is wanted of it, and shows that as a plan.
func (cmd *hostDriftCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	site := cmd.Site
	if site == "" {
		st, err := server.HostStatus(ctx, cmd.Host)
		if err != nil {
			return failure(err)
		}
		if site, err = onlySite(cmd.Host, st.Sites); err != nil {
			return err
		}
	}
	drift, err := server.AskDrift(ctx, cmd.Host, site, cmd.Reason)
	if diag.CodeOf(err) == "away" {
		return &status{code: exitUnreachable, err: err}
	}
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		err = s.printJSON(hostDrift{cmd.Host, site, drift})
	} else {
		err = s.showPlans([]string{cmd.Host}, [][]states.Event{drift.Rows})
	}
	if err != nil {
		return err
	}
	return driftStatus(drift.Rows, cmd.DetailedExitcode)
}

// onlySite gives the site that wants something of a host, where there is one.
func onlySite(host string, sites map[string]*api.SiteStatus) (string, error) {
	names := slices.Sorted(maps.Keys(sites))
	switch len(names) {
	case 0:
		return "", newStatus(exitFailed, fmt.Errorf("nothing is wanted of %s", ui.Clean(host)), "tenet deploy SITE has a site want something of it")
	case 1:
		return names[0], nil
	}
	return "", usage("name one: tenet host drift "+ui.Clean(host)+" "+ui.Clean(names[0]), "several sites want something of %s: %s", ui.Clean(host), ui.Clean(strings.Join(names, ", ")))
}

// driftStatus is the exit status that a plan with these rows has.
func driftStatus(rows []states.Event, detailed bool) error {
	changes := false
	for i := range rows {
		switch rows[i].Outcome {
		case states.Failed, states.Blocked:
			return &status{code: exitFailed}
		case "":
			changes = changes || rows[i].Action != states.NoChange
		}
	}
	if changes && detailed {
		return &status{code: exitChanges}
	}
	return nil
}
