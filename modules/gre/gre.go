// Package gre is the module "gre": a tunnel that carries packets or frames in GRE.
package gre

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/tenetcm/tenet/modules/internal/device"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// GRE is the state of one tunnel, wanted or observed. A nil attribute is not managed.
type GRE struct {
	Name   string  `state:"name,key,device" doc:"Name of the device, at most 15 characters."`
	Local  *string `state:"local,present" doc:"Address of this machine that the tunnel's packets come from."`
	Remote *string `state:"remote,present" doc:"Address of the other end."`
	TTL    *int    `state:"ttl" doc:"Time to live of the tunnel's packets, 1 to 255; 0: that of the packet inside."`
	Key    *string `state:"key" doc:"Number that tells tunnels between the same two machines apart, the same at both ends; \"\": none."`
	Frames *bool   `state:"frames" doc:"Whether the tunnel carries Ethernet frames, so that it can be the port of a bridge, rather than IP packets."`
	Up     *bool   `state:"up" doc:"Whether the device is up: yes, if nothing else is said."`
}

const doc = `A GRE tunnel to another machine, of the running kernel.

Both ends need one, with local and remote swapped. IPv4 and IPv6 are told apart by the addresses; a change between these two, or of frames, deletes the tunnel and makes it anew, without what was set on the old device. What is inside is neither encrypted nor authenticated.

The kernel needs its module ip_gre or ip6_gre.

` + device.Forgets + `

Absent deletes the tunnel.`

const example = `gre "bench1" {
  local  = "192.0.2.1"
  remote = "198.51.100.7"
  ttl    = 64
  key    = "17"
  frames = true
}`

// Module is the module "gre".
var Module = states.Define(states.Type[GRE]{
	Name: "gre", Doc: doc, Example: example, Root: true,
	New:      GRE{TTL: new(64), Frames: new(false)},
	Validate: validate, Complete: complete, Read: read, Write: write, Remove: remove, List: list,
})

// kinds are the kernel's names of tunnels.
func kinds() []string { return []string{"gre", "gretap", "ip6gre", "ip6gretap"} }

// kind is that of the wanted tunnel.
func (g GRE) kind() string {
	kind := "gre"
	if a, err := netip.ParseAddr(*g.Local); err == nil && a.Is6() {
		kind = "ip6gre"
	}
	if g.Frames != nil && *g.Frames {
		kind += "tap"
	}
	return kind
}

func validate(want GRE) error {
	mistake := func(attribute, format string, args ...any) error {
		return states.InvalidAttribute(attribute, fmt.Sprintf(format, args...), "")
	}
	ends := map[string]netip.Addr{}
	for _, x := range []struct {
		attribute string
		text      *string
	}{{"local", want.Local}, {"remote", want.Remote}} {
		if x.text == nil {
			continue
		}
		a, err := netip.ParseAddr(*x.text)
		if err != nil || a.Zone() != "" || a.IsUnspecified() || a.Is4In6() || a.String() != *x.text {
			return mistake(x.attribute, "%q is no IP address of a machine, in its shortest form", *x.text)
		}
		ends[x.attribute] = a
	}
	if len(ends) == 2 && (ends["local"].Is4() != ends["remote"].Is4() || ends["local"] == ends["remote"]) {
		return mistake("remote", "%s and %s cannot be the ends of a tunnel", ends["local"], ends["remote"])
	}
	if want.TTL != nil && (*want.TTL < 0 || *want.TTL > 255) {
		return mistake("ttl", "%d is not between 0 and 255", *want.TTL)
	}
	if want.Key != nil && *want.Key != "" {
		if n, err := strconv.ParseUint(*want.Key, 10, 32); err != nil || strconv.FormatUint(n, 10) != *want.Key {
			return mistake("key", "%q is no number from 0 to 4294967295", *want.Key)
		}
	}
	return device.Name("name", want.Name)
}

// complete wants the device up unless it is said to be down: also where it was made and
// could not be set up, or somebody has set it down.
func complete(_ context.Context, _ host.Host, want *GRE) error {
	if want.Up == nil {
		want.Up = new(true)
	}
	return nil
}

func read(ctx context.Context, h host.Host, want GRE) (*GRE, error) {
	l, err := device.FindKind(ctx, h, want.Name, kinds()...)
	if err != nil || l == nil {
		return nil, err
	}
	ttl, err := strconv.Atoi(l.Options["ttl"])
	return &GRE{
		Name: want.Name, Local: new(l.Options["local"]), Remote: new(l.Options["remote"]), TTL: &ttl, Key: new(l.Options["key"]),
		Frames: new(l.Kind == "gretap" || l.Kind == "ip6gretap"), Up: l.Up,
	}, err
}

func write(ctx context.Context, h host.Host, have *GRE, want GRE) error {
	if want.Local == nil || want.Remote == nil {
		return states.InvalidAttribute("remote", "both ends are required for a tunnel that is to be there", "")
	}
	l := links.Link{Name: want.Name, Kind: want.kind(), Up: want.Up,
		Options: map[string]string{"local": *want.Local, "remote": *want.Remote}}
	if want.TTL != nil {
		l.Options["ttl"] = strconv.Itoa(*want.TTL)
	}
	if want.Key != nil {
		l.Options["key"] = *want.Key
	}
	switch {
	case have == nil:
	case have.kind() == l.Kind:
		return device.Put(ctx, h, &links.Link{Name: want.Name}, links.Link{Up: l.Up, Options: l.Options})
	default:
		if err := device.Delete(ctx, h, want.Name); err != nil {
			return err
		}
	}
	return device.Put(ctx, h, nil, l)
}

func remove(ctx context.Context, h host.Host, have GRE) error {
	return device.Delete(ctx, h, have.Name)
}

func list(ctx context.Context, h host.Host, _ []string) ([]GRE, error) {
	names, err := device.List(ctx, h, func(l links.Link) bool {
		// The kernel's own fallback devices (gre0 and the like) have no remote end.
		return l.Options["remote"] != ""
	})
	var out []GRE
	for _, name := range names {
		out = append(out, GRE{Name: name})
	}
	return out, err
}
