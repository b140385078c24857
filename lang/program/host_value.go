package program

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// hostValue gives host.name, host.labels, host.vars or host.cluster.
func (e *expressions) hostValue(n *syntax.Need) cty.Value {
	v := cty.StringVal(e.target.Host)
	switch n.Name {
	case "cluster":
		v = e.clusterValue()
	case "labels":
		v = cty.MapValEmpty(cty.String)
		if e.host != nil {
			v = expr.LabelsValue(e.host.Labels)
		}
	case "vars":
		values := map[string]cty.Value{}
		if e.host != nil {
			for _, l := range e.host.levels {
				for _, x := range l.items {
					values[x.name] = x.value
				}
			}
		}
		v = cty.ObjectVal(values)
	}
	e.root.Variables["host."+n.Name] = v
	return v
}

func (e *expressions) hostsFunction() function.Function {
	return expr.HostsFunction(func() *expr.HostLists {
		// A script cannot go on without an answer; expressions can.
		scripted := e.scripts != nil
		switch {
		case scripted && e.scripts.blind || !scripted && e.hosts.incomplete:
			return nil
		case e.hosts.lists == nil: // while the hosts themselves are evaluated
			return e.listsOfHosts()
		}
		return e.hosts.lists
	}, e.lastOutputs)
}

// listsOfHosts is made of the hosts that are known by now.
func (e *evaluation) listsOfHosts() *expr.HostLists {
	hosts := make([]site.Host, len(e.hosts.entries))
	for i, h := range e.hosts.entries {
		hosts[i] = h.Host
	}
	return expr.NewHostLists(hosts, e.hosts.groupNames, e.hosts.incomplete)
}
