package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
)

// interfaces gives the kinds of the interfaces of a peer, by their ids.
func (p *peers) interfaces(network *document.Node) map[string]string {
	kinds, names := map[string]string{}, map[string]bool{}
	for _, n := range p.items(network, "interfaces") {
		if n.Kind != document.Map {
			p.errorAt(n.Range, "write id, name and kind", "an interface is an object")
			continue
		}
		const hint = "write Ethernet, CAN or vCAN"
		kind, at := p.text(n, "kind", hint)
		kinds[p.id(n)] = strings.ToLower(kind)
		if kind != "" && !slices.Contains([]string{"ethernet", "can", "vcan"}, strings.ToLower(kind)) {
			p.errorAt(at, cmp.Or(diag.DidYouMean(kind, []string{"Ethernet", "CAN", "vCAN"}), hint), "there is no interface of the kind %.100q", kind)
		}
		name, at := p.text(n, "name", "the name of the interface on the host, such as eth1")
		if names[name] && name != "" {
			p.errorAt(at, "name each once", "the interface %.100q is there twice", name)
		}
		names[name] = true
	}
	return kinds
}

// device takes a device that hangs on an interface of a peer.
func (p *peers) device(host string, n *document.Node, interfaces map[string]string) {
	if n.Kind != document.Map {
		p.errorAt(n.Range, "write id, name and interface-id", "a device is an object")
		return
	}
	id := p.id(n)
	if id != "" {
		p.devices[id] = host
	}
	word := "interface-id"
	if n.Field(word) == nil && n.Field("interface") != nil {
		word = "interface"
	}
	if at := n.Field(word); at != nil {
		text, _ := at.Value.Value.(string)
		kind, known := interfaces[text]
		p.canBuses[id] = kind == "can" || kind == "vcan"
		if !known || text == "" {
			p.errorAt(at.Value.Range, "it is one under network.interfaces", "the peer %s has no interface with the id %.100q", host, text)
		}
	} else {
		p.errorAt(n.Range, "add interface-id: the id of one under network.interfaces", "the device has no %s", word)
	}
}

// executor takes what carries out tests on a peer: its id, by which a report tells of it, and its kind.
func (p *peers) executor(n *document.Node) {
	const hint = "write kind: Container, with what it is made of below parameters:"
	if n.Kind != document.Map {
		p.errorAt(n.Range, "write id, kind and parameters", "an executor is an object")
		return
	}
	p.id(n)
	switch kind, at := p.text(n, "kind", hint); strings.ToLower(kind) {
	case "", "container":
	case "executable":
		p.errorAt(at, "make a container of it", "executors of the kind %.100q are not carried out", kind)
	default:
		p.errorAt(at, cmp.Or(diag.DidYouMean(kind, []string{"Container"}), hint), "there is no executor of the kind %.100q", kind)
	}
	parameters := n
	if n.Field("parameters") != nil {
		if parameters = p.part(n, "parameters", true); parameters == nil {
			return
		}
	}
	p.text(parameters, "image", "the image that the container is made of")
}
