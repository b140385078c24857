// Package links is the network devices of a machine: by rtnetlink, in memory, and as a
// plan would change them.
package links

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
)

// Devices are the network devices of a machine.
type Devices interface {
	// List gives all devices, by their index.
	List(ctx context.Context) ([]Link, error)
	// Add makes a device of Kind; what Link leaves open is the kernel's choice.
	Add(ctx context.Context, l Link) error
	// Change gives a device what the second Link holds and the first one, as it
	// was listed, does not.
	Change(ctx context.Context, have, want Link) error
	// Delete removes a device.
	Delete(ctx context.Context, name string) error
}

// Link is one network device. In a wish, nil and empty leave things as they are.
type Link struct {
	Name   string
	Kind   string // bridge, gre, can, veth, …; empty: a real device
	Up     *bool  // as somebody has set it, whether or not there is a carrier
	MTU    *int
	MAC    string
	Master *string // the bridge that it is a port of; "": of none
	// Addresses are those that somebody has given it to stay, with the length of
	// the prefix, such as 192.0.2.1/24 or 192.0.2.1 peer 192.0.2.2/32; nil in a wish:
	// as they are. An IPv6 address may be lost as a device goes down: then the
	// wish brings it back.
	Addresses []string
	// Passing are the others, which List tells and nobody sets: those with a
	// lifetime (DHCP, router advertisements), and those that the kernel makes
	// (link-local, loopback).
	Passing []string
	// Options are those of its kind: of a bridge stp, forward_delay, vlan_filtering;
	// of gre, gretap, ip6gre and ip6gretap local, remote, ttl, key ("": none); of can
	// bitrate, sample_point, data_bitrate, data_sample_point, fd, listen_only,
	// loopback, restart_ms.
	Options map[string]string
}

// Error says what cannot be done with a network device, and why.
type Error struct {
	Op   string // "add", "change" or "delete"
	Name string
	Err  error
}

// Error names the device.
func (e *Error) Error() string { return fmt.Sprintf("network device %s: %v", e.Name, e.Err) }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// deviceError is an fs.ErrNotExist or fs.ErrExist in the words of network devices.
type deviceError struct {
	text string
	err  error
}

func (e *deviceError) Error() string        { return e.text }
func (e *deviceError) Is(target error) bool { return target == e.err }

func noSuchLink() error { return &deviceError{"this host has no such device", fs.ErrNotExist} }

func linkExists() error { return &deviceError{"there is a device of this name", fs.ErrExist} }

func noSuchMaster(name string) error {
	return &deviceError{fmt.Sprintf("this host has no bridge %s", name), fs.ErrNotExist}
}

// errRealLink is why a device of no kind cannot be deleted.
var errRealLink = errors.New("it is a real device, and cannot be deleted")

// Find looks a device up by its name. What is not there is fs.ErrNotExist.
func Find(list []Link, name string) (Link, error) {
	i := slices.IndexFunc(list, func(l Link) bool { return l.Name == name })
	if i < 0 {
		return Link{}, &Error{"find", name, noSuchLink()}
	}
	return list[i], nil
}

// clone gives a Link that shares nothing with l.
func (l Link) clone() Link {
	l.Up, l.MTU, l.Master = clonePointer(l.Up), clonePointer(l.MTU), clonePointer(l.Master)
	l.Addresses, l.Passing = slices.Clone(l.Addresses), slices.Clone(l.Passing)
	options := map[string]string{}
	for k, v := range l.Options {
		options[k] = v
	}
	l.Options = options
	return l
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// linkAddress is an address as Link.Addresses has it: "192.0.2.1/24", or between two
// points "192.0.2.1 peer 192.0.2.2/32".
type linkAddress struct {
	local netip.Addr
	net   netip.Prefix // of local, or of the peer
}

func parseLinkAddress(text string) (linkAddress, error) {
	local, peer, between := strings.Cut(text, " peer ")
	if !between {
		peer = local
	}
	prefix, err := netip.ParsePrefix(peer)
	if err != nil {
		return linkAddress{}, fmt.Errorf("%q is no address with the length of its prefix", text)
	}
	a := linkAddress{prefix.Addr(), prefix}
	if between {
		if a.local, err = netip.ParseAddr(local); err != nil || a.local.Is4() != prefix.Addr().Is4() {
			return linkAddress{}, fmt.Errorf("%q is no address between two points", text)
		}
	}
	return a, nil
}

// String is the inverse of parseLinkAddress.
func (a linkAddress) String() string {
	if a.local == a.net.Addr() {
		return a.net.String()
	}
	return a.local.String() + " peer " + a.net.String()
}
