// Package netif is the module "interface": what a network device has whatever its
// kind.
package netif

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/device"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// Interface is the state of one network device, wanted or observed. A nil attribute
// is not managed.
type Interface struct {
	Name      string   `state:"name,key,on_device" doc:"Name of the device, which must be there."`
	Up        *bool    `state:"up" doc:"Whether the device is up, with or without a carrier."`
	MTU       *int     `state:"mtu" doc:"Largest packet, in bytes."`
	Addresses []string `state:"addresses,set" doc:"The addresses with the length of the prefix, such as \"192.0.2.1/24\", or between two machines \"192.0.2.1 peer 192.0.2.2/32\": these, and no others that somebody has given the device to stay."`
}

const doc = `A network device of the running kernel: whether it is up, its addresses, its MTU.

What is not given is not managed. Addresses that come and go by themselves are never touched: those with a lifetime, from DHCP or router advertisements, and those that the kernel makes, which are link-local (fe80::) and loopback ones. If such a one is declared, it is made to stay. So a device can have an address of its own beside that of DHCP; but where a DHCP client or a network manager sets up the device, it may undo what is set here.

An address is replaced so that the new one is there before the old one goes. If that is how the machine is reached, the connection ends all the same: put the part into a block with confirm, whose command tries the new address, and be sure of a console, since confirm puts back files, and not devices.

` + device.Forgets

const example = `interface "eth1" {
  up        = true
  mtu       = 9000
  addresses = ["192.0.2.10/24", "2001:db8::10/64"]
}`

// Module is the module "interface".
var Module = states.Define(states.Type[Interface]{
	Name: "interface", Doc: doc, Example: example, Root: true,
	NoAbsent: "A network device belongs to the machine, or to the part that makes it, as a bridge: up = false takes it down.",
	Validate: validate, Read: read, Write: write,
})

// minMTU is what IPv4 needs at least (RFC 791); maxMTU is the kernel's.
const minMTU, maxMTU = 68, 65536

func validate(want Interface) error {
	if want.MTU != nil && (*want.MTU < minMTU || *want.MTU > maxMTU) {
		return states.InvalidAttribute("mtu", fmt.Sprintf("%d is not between %d and %d", *want.MTU, minMTU, maxMTU), "")
	}
	seen := map[netip.Addr]string{}
	for _, text := range want.Addresses {
		local, err := validateAddress(text)
		if err != nil {
			return err
		}
		// Of IPv4 a device can have one address with several prefixes.
		if seen[local] != "" && local.Is6() {
			return states.InvalidAttribute("addresses", fmt.Sprintf("%q and %q are one address", seen[local], text), "")
		}
		seen[local] = text
	}
	return device.Name("name", want.Name)
}

// validateAddress checks an address, which may have that of another machine as its
// peer, and gives it without the prefix.
func validateAddress(text string) (netip.Addr, error) {
	mistake := &states.AttributeError{Attribute: "addresses"}
	one, peer, between := strings.Cut(text, " peer ")
	if !between {
		peer = one
	}
	p, err := netip.ParsePrefix(peer)
	local := p.Addr()
	if between && err == nil {
		local, err = netip.ParseAddr(one)
	}
	switch {
	case err != nil || local.Is4() != p.Addr().Is4() || local.Zone() != "":
		mistake.Message, mistake.Hint = fmt.Sprintf("%q is no address with the length of its prefix", text), `write it like "192.0.2.1/24"`
	case p.String() != peer || between && local.String() != one || p.Addr().Is4In6() || local.Is4In6():
		mistake.Message = fmt.Sprintf("%q is not how this address is written", text)
		mistake.Hint = fmt.Sprintf("write %q", netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
	case local.IsUnspecified() || local.IsMulticast():
		mistake.Message = fmt.Sprintf("%q is no address of a single device", text)
	default:
		return local, nil
	}
	return local, mistake
}

func read(ctx context.Context, h host.Host, want Interface) (*Interface, error) {
	l, err := device.Find(ctx, h, want.Name)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, check.NotOnHost("network device", want.Name)
	}
	have := &Interface{Name: want.Name, Up: l.Up, MTU: l.MTU, Addresses: []string{}}
	have.Addresses = append(have.Addresses, l.Addresses...)
	for _, text := range l.Passing {
		p, err := netip.ParsePrefix(text)
		byKernel := err == nil && (p.Addr().IsLoopback() || p.Addr().Is6() && p.Addr().IsLinkLocalUnicast())
		if byKernel && slices.Contains(want.Addresses, text) {
			have.Addresses = append(have.Addresses, text)
		}
	}
	slices.Sort(have.Addresses)
	return have, nil
}

func write(ctx context.Context, h host.Host, have *Interface, want Interface) error {
	l := links.Link{Addresses: want.Addresses, Up: want.Up}
	if want.MTU != nil && *want.MTU != *have.MTU {
		l.MTU = want.MTU
	}
	return device.Put(ctx, h, &links.Link{Name: want.Name}, l)
}
