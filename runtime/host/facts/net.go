package facts

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
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
	return f.address(f.default4().device, func(a netip.Addr) bool { return a.Is4() })
}

// ipv6 is the main address, as ipv4 is.
func (f *Facts) ipv6() (any, error) {
	return f.address(f.default6().device, func(a netip.Addr) bool { return a.Is6() })
}

// gateway is where other networks are reached.
func (f *Facts) gateway() (any, error) {
	four, six := f.default4(), f.default6()
	return map[string]any{
		"interface": word(cmp.Or(four.device, six.device)), "ipv4": word(four.gateway), "ipv6": word(six.gateway),
	}, nil
}

// default4 reads /proc/net/route: interface, destination, gateway, …, metric in the
// seventh column, mask in the eighth; numbers in hex, of the machine's byte order.
func (f *Facts) default4() route {
	var routes []route
	for line := range strings.Lines(text(f.machine, "/proc/net/route")) {
		w := strings.Fields(line)
		if len(w) < 8 || w[1] != "00000000" || w[7] != "00000000" {
			continue
		}
		metric, _ := strconv.ParseUint(w[6], 10, 32)
		r := route{device: w[0], metric: metric}
		if n, err := strconv.ParseUint(w[2], 16, 32); err == nil && n != 0 {
			var bytes [4]byte
			binary.NativeEndian.PutUint32(bytes[:], uint32(n))
			r.gateway = netip.AddrFrom4(bytes).String()
		}
		routes = append(routes, r)
	}
	return best(routes)
}

// default6 reads /proc/net/ipv6_route: destination, its length, …, gateway in the
// fifth column, metric in the sixth, interface in the last; numbers in hex.
func (f *Facts) default6() route {
	var routes []route
	for line := range strings.Lines(text(f.machine, "/proc/net/ipv6_route")) {
		w := strings.Fields(line)
		if len(w) < 10 || strings.Trim(w[0], "0") != "" || w[1] != "00" || w[9] == "lo" {
			continue
		}
		metric, _ := strconv.ParseUint(w[5], 16, 32)
		r := route{device: w[9], metric: metric}
		if bytes, err := hex.DecodeString(w[4]); err == nil && len(bytes) == 16 {
			if a := netip.AddrFrom16([16]byte(bytes)); !a.IsUnspecified() {
				r.gateway = a.String()
			}
		}
		routes = append(routes, r)
	}
	return best(routes)
}

// route is a default route.
type route struct {
	device  string
	metric  uint64
	gateway string // empty: none
}

func best(routes []route) route {
	if len(routes) == 0 {
		return route{}
	}
	return slices.MinFunc(routes, func(a, b route) int { return cmp.Compare(a.metric, b.metric) })
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
