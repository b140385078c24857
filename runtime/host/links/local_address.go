package links

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// addAddresses gives each device its addresses.
func addAddresses(ctx context.Context, found []indexedLink) error {
	messages, err := dump(ctx, unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfAddrmsg(unix.AF_UNSPEC))
	if err != nil {
		return err
	}
	for _, m := range messages {
		head := nl.DeserializeIfAddrmsg(m)
		i := slices.IndexFunc(found, func(l indexedLink) bool { return uint32(l.index) == head.Index })
		attributes, err := nl.ParseRouteAttrAsMap(m[head.Len():])
		if err != nil {
			return err
		}
		a, ok := parseAddress(attributes, int(head.Prefixlen))
		if i < 0 || !ok {
			continue
		}
		flags := uint32(head.Flags)
		if wide := attributes[unix.IFA_FLAGS].Value; len(wide) == 4 {
			flags = number32(wide)
		}
		if flags&unix.IFA_F_PERMANENT == 0 || byKernel(a) {
			found[i].Passing = append(found[i].Passing, a.String())
		} else {
			found[i].Addresses = append(found[i].Addresses, a.String())
		}
	}
	return nil
}

// byKernel reports whether an address is of the sort that the kernel gives a device by
// itself: loopback, and IPv6's link-local ones.
func byKernel(a linkAddress) bool {
	return a.local.IsLoopback() || a.local.Is6() && a.local.IsLinkLocalUnicast()
}

func parseAddress(attributes attributes, bits int) (linkAddress, bool) {
	address, ok := netip.AddrFromSlice(attributes[unix.IFA_ADDRESS].Value)
	if !ok {
		return linkAddress{}, false
	}
	a := linkAddress{address, netip.PrefixFrom(address, bits)}
	if local, given := netip.AddrFromSlice(attributes[unix.IFA_LOCAL].Value); given {
		a.local = local
	}
	return a, true
}

// setAddresses makes the lasting addresses of a device those, and no others. What is
// new is added first, since it is refused if it is wrong; and once more after what is
// old has gone, since an address may go with the first one of its network.
func setAddresses(ctx context.Context, name string, want []string) error {
	for _, remove := range []bool{true, false} {
		found, err := lookUp(ctx, name)
		if err != nil {
			return err
		}
		for _, text := range want {
			if slices.Contains(found.Addresses, text) {
				continue
			}
			if a, err := parseLinkAddress(text); err == nil && byKernel(a) && slices.Contains(found.Passing, text) {
				continue
			}
			if err := setAddress(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, found.index, text); err != nil {
				return fmt.Errorf("address %s: %w", text, err)
			}
		}
		for _, text := range found.Addresses {
			if !remove || slices.Contains(want, text) {
				continue
			}
			if err := setAddress(unix.RTM_DELADDR, 0, found.index, text); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
				return fmt.Errorf("address %s: %w", text, err)
			}
		}
	}
	return nil
}

func setAddress(verb, flags int, index int32, text string) error {
	a, err := parseLinkAddress(text)
	if err != nil {
		return err
	}
	family := unix.AF_INET6
	if a.local.Is4() {
		family = unix.AF_INET
	}
	head := nl.NewIfAddrmsg(family)
	head.Index, head.Prefixlen = uint32(index), uint8(a.net.Bits())
	request := nl.NewNetlinkRequest(verb, flags|unix.NLM_F_ACK)
	request.AddData(head)
	request.AddData(nl.NewRtAttr(unix.IFA_LOCAL, a.local.AsSlice()))
	request.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, a.net.Addr().AsSlice()))
	if a.local.Is4() && a.net.Bits() < 31 {
		request.AddData(nl.NewRtAttr(unix.IFA_BROADCAST, broadcast(a.net)))
	}
	return execute(request, "")
}

// broadcast is the last address of a network.
func broadcast(p netip.Prefix) []byte {
	out := p.Addr().AsSlice()
	for i := p.Bits(); i < len(out)*8; i++ {
		out[i/8] |= 0x80 >> (i % 8)
	}
	return out
}
