package program

import (
	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// reach are the attributes that hosts and groups share.
type reach struct {
	name                                       string
	src                                        hcl2.Range
	port, user, executor, become, becomeMethod *syntax.Attribute
	sshOptions, runnerCache, roles, vars       *syntax.Attribute
	window, reconcile                          *syntax.Attribute
}

// hostDecl is host "NAME" { … }.
type hostDecl struct {
	reach
	address, labels   *syntax.Attribute
	forEach, hostName *syntax.Attribute
}

// groupDecl is host_group "NAME" { … }.
type groupDecl struct {
	reach
	hosts, labels, priority *syntax.Attribute
	doubtful                bool         // something in it is unknown
	cluster                 *clusterDecl // nil: it is no cluster
}

// kind is what it is declared as.
func (g *groupDecl) kind() string {
	if g.cluster != nil {
		return "cluster"
	}
	return "host group"
}

func (d *decoder) reach(b *syntax.Block) reach {
	a := b.Body.Attribute
	return reach{window: d.window(b), reconcile: d.reconcile(b), name: b.Labels[0], src: b.Header, port: a("port"), user: a("user"), executor: a("executor"),
		become: a("become"), becomeMethod: a("become_method"), sshOptions: a("ssh_options"),
		runnerCache: a("runner_cache"), roles: a("roles"), vars: a("vars")}
}

func (d *decoder) host(b *syntax.Block) {
	d.check(b.Body, d.shapes.Host, nil)
	if name, ok := label(b); !ok || !d.hostName(b, name) {
		return
	}
	a := b.Body.Attribute
	h := &hostDecl{reach: d.reach(b), address: a("address"), labels: a("labels"), forEach: a("for_each"), hostName: a("name")}
	for _, first := range d.site.hosts {
		if first.name == h.name {
			d.duplicate("host."+h.name, b.Header, rangeOf(first.src))
			return
		}
	}
	d.site.hosts = append(d.site.hosts, h)
}

// hostName reports a host's name that is none: an identifier, or a DNS name.
func (d *decoder) hostName(b *syntax.Block, name string) bool {
	if site.IsHostName(name) {
		return true
	}
	d.errorAt(b.LabelRanges[0], "use letters, digits, -, _ and ., and begin with a letter or digit",
		"%q is no name for a host", name)
	return false
}

const groupHint = `give either hosts = ["web*"] or labels = { NAME = "VALUE" }`

func (d *decoder) group(b *syntax.Block) {
	if wrong := d.check(b.Body, d.shapes.HostGroup, nil); d.identifier(b) {
		d.enterGroup(b, wrong, nil)
	}
}

// enterGroup enters a host group, or a cluster, which is one.
func (d *decoder) enterGroup(b *syntax.Block, wrong bool, cluster *clusterDecl) {
	a := b.Body.Attribute
	g := &groupDecl{reach: d.reach(b), hosts: a("hosts"), labels: a("labels"), priority: a("priority"), doubtful: wrong, cluster: cluster}
	if g.hosts != nil && g.labels != nil {
		d.errorAt(b.Header, groupHint, "the %s %q needs hosts or labels, and not both", g.kind(), g.name)
		return
	}
	for _, first := range d.site.groups {
		if first.name == g.name {
			d.duplicate(b.Type+"."+g.name, b.Header, rangeOf(first.src))
			return
		}
	}
	d.site.groups = append(d.site.groups, g)
}
