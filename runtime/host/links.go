package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
)

// LinkError says what cannot be done with a network device, and why.
type LinkError struct {
	Op   string // "add", "change" or "delete"
	Name string
	Err  error
}

// Error names the device.
func (e *LinkError) Error() string { return fmt.Sprintf("network device %s: %v", e.Name, e.Err) }

// Unwrap gives the reason.
func (e *LinkError) Unwrap() error { return e.Err }

// missing is an fs.ErrNotExist or fs.ErrExist in the words of network devices.
type missing struct {
	text string
	is   error
}

func (e *missing) Error() string        { return e.text }
func (e *missing) Is(target error) bool { return target == e.is }

func noSuchLink() error { return &missing{"this host has no such device", fs.ErrNotExist} }

func linkExists() error { return &missing{"there is a device of this name", fs.ErrExist} }

func noSuchMaster(name string) error {
	return &missing{fmt.Sprintf("this host has no bridge %s", name), fs.ErrNotExist}
}

// errRealLink is why a device of no kind cannot be deleted.
var errRealLink = errors.New("it is a real device, and cannot be deleted")

// FindLink looks a device up by its name. What is not there is fs.ErrNotExist.
func FindLink(list []Link, name string) (Link, error) {
	i := slices.IndexFunc(list, func(l Link) bool { return l.Name == name })
	if i < 0 {
		return Link{}, &LinkError{"find", name, noSuchLink()}
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
