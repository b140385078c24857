package cli

import (
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/cluster"
)

type undeployCmd struct {
	Site    string `arg:"" help:"Name of the site."`
	Cluster string `arg:"" optional:"" help:"Cluster of the site, as cluster.NAME; without it, the clusters are listed."`
	Reason  string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run has a server take a cluster away from its hosts, or lists the clusters of a site.
func (cmd *undeployCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	if cmd.Cluster != "" {
		r, err := server.Undeploy(ctx, cmd.Site, strings.TrimPrefix(cmd.Cluster, "cluster."), cmd.Reason)
		switch {
		case err != nil:
			return failure(err)
		case s.globals.JSON:
			return s.printJSON(r)
		}
		return s.say(ui.Line("it is about to be taken away; it was " + clusterLine(r)))
	}
	list := []*cluster.Overview{}
	for r, err := range server.Clusters(ctx, cmd.Site) {
		if err != nil {
			return failure(err)
		}
		list = append(list, r)
	}
	switch {
	case s.globals.JSON:
		return s.printJSON(list)
	case len(list) == 0:
		return s.say(cmd.Site + " has no clusters")
	}
	for _, r := range list {
		if err := s.printCluster(r); err != nil {
			return err
		}
	}
	return nil
}
