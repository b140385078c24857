package host

import (
	"cmp"
	"encoding/json"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// interfaces maps each network interface to its addresses (as "address/bits"),
// mac, mtu and up. A host without a kernel of its own has none.
func (f *Facts) interfaces() (any, error) {
	out := map[string]any{}
	if !f.live {
		return out, nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		list := []any{}
		for _, a := range addresses {
			list = append(list, a.String())
		}
		out[i.Name] = map[string]any{
			"addresses": list,
			"mac":       i.HardwareAddr.String(),
			"mtu":       json.Number(strconv.Itoa(i.MTU)),
			"up":        i.Flags&net.FlagUp != 0,
		}
	}
	return out, nil
}

// ipv4 is the main address: of the interface that the default route goes
// through, else the first that reaches beyond this machine.
func (f *Facts) ipv4() (any, error) {
	return f.address(f.defaultInterface4(), func(a netip.Addr) bool { return a.Is4() })
}

// ipv6 is the main address, as ipv4 is.
func (f *Facts) ipv6() (any, error) {
	return f.address(f.defaultInterface6(), func(a netip.Addr) bool { return a.Is6() })
}

// defaultInterface4 reads /proc/net/route: interface, destination, …, metric
// in the seventh column, mask in the eighth; numbers in hex.
func (f *Facts) defaultInterface4() string {
	var routes []route
	for line := range strings.Lines(text(f.machine, "/proc/net/route")) {
		w := strings.Fields(line)
		if len(w) >= 8 && w[1] == "00000000" && w[7] == "00000000" {
			metric, _ := strconv.ParseUint(w[6], 10, 32)
			routes = append(routes, route{w[0], metric})
		}
	}
	return best(routes)
}

// defaultInterface6 reads /proc/net/ipv6_route: destination, its length, …,
// metric in the sixth column, interface in the last; numbers in hex.
func (f *Facts) defaultInterface6() string {
	var routes []route
	for line := range strings.Lines(text(f.machine, "/proc/net/ipv6_route")) {
		w := strings.Fields(line)
		if len(w) >= 10 && strings.Trim(w[0], "0") == "" && w[1] == "00" && w[9] != "lo" {
			metric, _ := strconv.ParseUint(w[5], 16, 32)
			routes = append(routes, route{w[9], metric})
		}
	}
	return best(routes)
}

// route is a default route.
type route struct {
	device string
	metric uint64
}

func best(routes []route) string {
	if len(routes) == 0 {
		return ""
	}
	return slices.MinFunc(routes, func(a, b route) int { return cmp.Compare(a.metric, b.metric) }).device
}

// address is the first global address of the device or, if it has none, of any
// interface that is up; in the order of names. Nil: there is none.
func (f *Facts) address(device string, wanted func(netip.Addr) bool) (any, error) {
	if !f.live {
		return nil, nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b net.Interface) int {
		if (a.Name == device) != (b.Name == device) {
			if a.Name == device {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err == nil && wanted(prefix.Addr()) && prefix.Addr().IsGlobalUnicast() {
				return prefix.Addr().String(), nil
			}
		}
	}
	return nil, nil
}
