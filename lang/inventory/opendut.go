package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/site"
)

// Cluster is a cluster of which an inventory tells.
type Cluster struct {
	Name, ID string
	Leader   string   // the name of a host; empty: none
	Hosts    []string // the names of those that have its devices, in the order of the descriptors
	Deployed bool     // it is to be present, whoever else names it
	Range    diag.Range
}

// The kinds of documents of openDuT, in their version 1: see its manual, "YAML Configuration Specification".
const (
	peerKind       = "PeerDescriptor"
	clusterKind    = "ClusterDescriptor"
	deploymentKind = "ClusterDeployment"
)

// peers are the descriptors of a file, or of a folder.
type peers struct {
	list      diag.List
	inventory Inventory
	names     map[string]diag.Range // of hosts
	ids       map[string]diag.Range // of everything
	hostIDs   map[string]string     // names of hosts by ids
	devices   map[string]string     // names of hosts by ids of their devices
	canBuses  map[string]bool       // ids of devices on interfaces of CAN
	clusters  []*clusterDescriptor
	deployed  []reference
}

// clusterDescriptor is a cluster with what it names.
type clusterDescriptor struct {
	Cluster
	leader  *reference
	devices []reference
}

// reference names something by its id, or a cluster by its name.
type reference struct {
	text string
	at   diag.Range
}

// ReadPeers reads descriptors of openDuT: a file in YAML, with one document or several, or in JSON, or a folder of such files. A peer is a
// host with the labels "id" and "location" and the variable "peer", its spec; in a cluster it has "peer_devices", the ids of its devices there, and
// the label "can", "true" or "false": whether one of them is on an interface of CAN.
func ReadPeers(files fs.FS, name string) (*Inventory, diag.List) {
	p := &peers{names: map[string]diag.Range{}, ids: map[string]diag.Range{}, hostIDs: map[string]string{}, devices: map[string]string{}, canBuses: map[string]bool{}}
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		p.errorAt(diag.Range{File: name}, "name a file of the site, or a directory", "the descriptors cannot be read: %v", reason(err))
	case info.IsDir():
		p.folder(files, name)
	default:
		p.file(files, name)
	}
	p.resolve()
	return &p.inventory, p.list.Sorted()
}

func (p *peers) errorAt(at diag.Range, hint, format string, args ...any) {
	p.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(format, args...), Hint: hint, Range: at})
}

// folder reads the files of a folder, in the order of their names.
func (p *peers) folder(files fs.FS, name string) {
	entries, err := fs.ReadDir(files, name)
	if err != nil {
		p.errorAt(diag.Range{File: name}, "check that it may be read", "the directory cannot be read: %v", reason(err))
		return
	}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".yml", ".yaml", ".json"}, ext) {
			p.file(files, path.Join(name, e.Name()))
		}
	}
}

func (p *peers) file(files fs.FS, name string) {
	info, err := fs.Stat(files, name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err == nil && info.Size() > document.MaxSize {
		err = fmt.Errorf("it has more than %d MiB", document.MaxSize>>20)
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(files, name)
	}
	if err != nil {
		p.errorAt(diag.Range{File: name}, "check that it may be read", "the descriptors cannot be read: %v", reason(err))
		return
	}
	documents, list := document.ReadAll(name, data)
	p.list = append(p.list, list...)
	for _, d := range documents {
		p.document(d)
	}
}

// document reads one descriptor.
func (p *peers) document(d *document.Node) {
	const hint = `a descriptor begins with "version: v1" and "kind: PeerDescriptor", ClusterDescriptor or ClusterDeployment`
	if d.Kind == document.Scalar && d.Value == nil {
		return // between two separators
	}
	if d.Kind != document.Map {
		p.errorAt(d.Range, hint, "a descriptor is an object")
		return
	}
	kind, at := p.text(d, "kind", hint)
	if version, at := p.text(d, "version", hint); version != "" && version != "v1" {
		p.errorAt(at, "write version: v1", "the version %.100q of a descriptor is not known", version)
		return
	}
	switch kind {
	case "":
	case peerKind:
		p.peer(d)
	case clusterKind:
		p.cluster(d)
	case deploymentKind:
		p.deployment(d)
	default:
		p.errorAt(at, cmp.Or(diag.DidYouMean(kind, []string{peerKind, clusterKind, deploymentKind}), hint), "there is no descriptor of the kind %.100q", kind)
	}
}

// text gives a required text of an object; empty: what is wrong is reported.
func (p *peers) text(n *document.Node, name, hint string) (string, diag.Range) {
	f := n.Field(name)
	if f == nil {
		p.errorAt(n.Range, hint, "it has no %s", name)
		return "", n.Range
	}
	text, ok := f.Value.Value.(string)
	if !ok || text == "" {
		p.errorAt(f.Value.Range, hint, "the %s is a text that is not empty", name)
		return "", f.Value.Range
	}
	return text, f.Value.Range
}

// part gives an object within an object; nil: there is none, which is reported if it is required.
func (p *peers) part(n *document.Node, name string, required bool) *document.Node {
	f := n.Field(name)
	switch {
	case f == nil || f.Value.Kind == document.Scalar && f.Value.Value == nil:
		if required {
			p.errorAt(n.Range, "add "+name+":", "it has no %s", name)
		}
		return nil
	case f.Value.Kind != document.Map:
		p.errorAt(f.Value.Range, "write "+name+": with its fields below", "%s is an object", name)
		return nil
	}
	return f.Value
}

// items gives a list within an object; none: there is none.
func (p *peers) items(n *document.Node, name string) []*document.Node {
	if n == nil {
		return nil
	}
	f := n.Field(name)
	if f == nil || f.Value.Kind == document.Scalar && f.Value.Value == nil {
		return nil
	}
	if f.Value.Kind != document.List {
		p.errorAt(f.Value.Range, "write a list", "%s is a list", name)
	}
	return f.Value.Items
}

// id takes an id that nothing else has.
func (p *peers) id(n *document.Node) string {
	id, at := p.text(n, "id", "an id is a UUID, such as uuidgen prints")
	if id == "" {
		return ""
	}
	if first, taken := p.ids[id]; taken {
		p.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the id %.100q is given twice", id), Hint: "give each its own: uuidgen", Range: at,
			Related: []diag.Related{{Message: "first given here", Range: first}}})
		return ""
	}
	p.ids[id] = at
	return id
}

func (p *peers) peer(d *document.Node) {
	metadata, spec := p.part(d, "metadata", true), p.part(d, "spec", true)
	if metadata == nil || spec == nil {
		return
	}
	id := p.id(metadata)
	name, at := p.text(metadata, "name", "a peer is a host of this name")
	if name == "" {
		return
	}
	if !site.IsHostName(name) {
		p.errorAt(at, "use letters, digits, -, _ and ., and begin with a letter or digit", "%.100q is no name for a host", name)
		return
	}
	if first, taken := p.names[name]; taken {
		p.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the peer %q is described twice", name), Hint: "give one of them another name", Range: at,
			Related: []diag.Related{{Message: "first described here", Range: first}}})
		return
	}
	p.names[name] = at
	h := Host{Host: site.Host{Name: name, Address: name, Executor: "ssh", Range: at, Labels: map[string]string{}}}
	if id != "" {
		h.Labels["id"], p.hostIDs[id] = id, name
	}
	if f := spec.Field("location"); f != nil {
		if text, ok := f.Value.Value.(string); ok && text != "" {
			h.Labels["location"] = text
		}
	}
	interfaces := p.interfaces(p.part(spec, "network", false))
	for _, item := range p.items(p.part(spec, "topology", false), "devices") {
		p.device(name, item, interfaces)
	}
	for _, item := range p.items(spec, "executors") {
		p.executor(item)
	}
	h.Levels = []Level{{Items: []Item{{Name: "peer", Value: spec.Plain(), Range: spec.Range}}}}
	p.inventory.Hosts = append(p.inventory.Hosts, h)
}

func (p *peers) cluster(d *document.Node) {
	metadata, spec := p.part(d, "metadata", true), p.part(d, "spec", true)
	if metadata == nil || spec == nil {
		return
	}
	c := &clusterDescriptor{Cluster: Cluster{ID: p.id(metadata)}}
	if c.Name, c.Range = p.text(metadata, "name", "a cluster has a name"); c.Name == "" {
		return
	}
	if !isClusterName(c.Name) {
		p.errorAt(c.Range, "use letters, digits, _ and -, and begin with a letter", "%.100q is no name for a cluster", c.Name)
		return
	}
	if i := slices.IndexFunc(p.clusters, func(other *clusterDescriptor) bool { return other.Name == c.Name }); i >= 0 {
		p.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the cluster %q is described twice", c.Name), Hint: "give one of them another name", Range: c.Range,
			Related: []diag.Related{{Message: "first described here", Range: p.clusters[i].Range}}})
		return
	}
	for _, word := range []string{"leader-id", "leader"} {
		if f := spec.Field(word); f != nil && c.leader == nil {
			text, _ := f.Value.Value.(string)
			c.leader = &reference{text, f.Value.Range}
		}
	}
	for _, n := range p.items(spec, "devices") {
		text, ok := n.Value.(string)
		if !ok {
			p.errorAt(n.Range, "write the id of a device", "a device of a cluster is named by its id")
			continue
		}
		c.devices = append(c.devices, reference{text, n.Range})
	}
	if len(c.devices) == 0 {
		p.errorAt(spec.Range, "name the ids of devices under devices:", "the cluster %q has no devices, by which it has members", c.Name)
	}
	p.clusters = append(p.clusters, c)
}

// deployment says that a cluster is to be present: by the id of its metadata, or by its name.
func (p *peers) deployment(d *document.Node) {
	metadata := p.part(d, "metadata", true)
	if metadata == nil {
		return
	}
	for _, word := range []string{"id", "name"} {
		if metadata.Field(word) != nil {
			if text, at := p.text(metadata, word, "the id of a cluster, or its name"); text != "" {
				p.deployed = append(p.deployed, reference{text, at})
			}
			return
		}
	}
	p.errorAt(metadata.Range, "add id: the id of a cluster", "it does not say which cluster is deployed")
}

// resolve finds the hosts that clusters name by their devices.
func (p *peers) resolve() {
	for _, c := range p.clusters {
		members := map[string][]any{} // the devices of each host
		for _, d := range c.devices {
			host := p.devices[d.text]
			if host == "" {
				p.errorAt(d.at, "describe the peer that has it", "no peer has the device %.100q of the cluster %s", d.text, c.Name)
			}
			members[host] = append(members[host], d.text)
		}
		for i := range p.inventory.Hosts {
			if h := &p.inventory.Hosts[i]; members[h.Name] != nil {
				c.Hosts, h.Groups = append(c.Hosts, h.Name), append(h.Groups, c.Name)
				hasCAN := slices.ContainsFunc(c.devices, func(d reference) bool { return p.devices[d.text] == h.Name && p.canBuses[d.text] })
				devices := Level{Group: c.Name, Items: []Item{{Name: "peer_devices", Value: members[h.Name], Range: c.Range}}}
				h.Labels["can"] = strconv.FormatBool(hasCAN || h.Labels["can"] == "true")
				h.Levels = append([]Level{devices}, h.Levels...)
			}
		}
		if c.leader != nil {
			switch c.Leader = p.hostIDs[c.leader.text]; {
			case c.Leader == "":
				p.errorAt(c.leader.at, "it is the id of a peer", "no peer has the id %.100q of the leader of %s", c.leader.text, c.Name)
			case members[c.Leader] == nil:
				p.errorAt(c.leader.at, "name one of its devices as well, or another leader", "%s leads the cluster %s, which has none of its devices", c.Leader, c.Name)
			}
		}
		p.inventory.Groups = append(p.inventory.Groups, c.Name)
	}
	for _, d := range p.deployed {
		i := slices.IndexFunc(p.clusters, func(c *clusterDescriptor) bool { return c.ID == d.text || c.Name == d.text })
		if i < 0 {
			p.errorAt(d.at, "describe it: kind: ClusterDescriptor", "there is no cluster %.100q, which is deployed", d.text)
			continue
		}
		p.clusters[i].Deployed = true
	}
	for _, c := range p.clusters {
		p.inventory.Clusters = append(p.inventory.Clusters, c.Cluster)
	}
	slices.Sort(p.inventory.Groups)
}

// isClusterName reports whether a cluster may have that name, which is one of a group and of references, too.
func isClusterName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != All && name != Ungrouped
}
