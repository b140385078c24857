package links

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
)

// The options of the kinds of devices as rtnetlink carries them: linux/if_link.h,
// linux/if_tunnel.h and linux/can/netlink.h.

type attributes = map[uint16]syscall.NetlinkRouteAttr

// unable is the error that something is not to be had, whatever is done.
type unable string

func (e unable) Error() string { return string(e) }

// Is makes it an errors.ErrUnsupported, whatever else wraps that.
func (e unable) Is(target error) bool { return errors.Is(target, errors.ErrUnsupported) }

// noSuchKind says which module of the kernel may be missing.
func noSuchKind(kind string) error {
	module := kind
	switch kind {
	case "", "can":
		return unable("such a device is made by its driver, and cannot be added")
	case "gre", "gretap":
		module = "ip_gre"
	case "ip6gre", "ip6gretap":
		module = "ip6_gre"
	}
	return unable(fmt.Sprintf("this kernel has no %s (modprobe %s may load it), or not with these options", kind, module))
}

func isTunnel(kind string) bool {
	switch kind {
	case "gre", "gretap", "ip6gre", "ip6gretap":
		return true
	}
	return false
}

// linkInfo is the attribute with a device's kind and its options.
func linkInfo(kind string, options map[string]string) (*nl.RtAttr, error) {
	info := nl.NewRtAttr(syscall.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(kind))
	if len(options) == 0 {
		return info, nil
	}
	e := &encoder{data: info.AddRtAttr(nl.IFLA_INFO_DATA, nil), options: options}
	switch {
	case kind == "bridge":
		e.bridge()
	case isTunnel(kind):
		e.tunnel()
	case kind == "can":
		e.encodeCAN()
	default:
		return info, fmt.Errorf("a %s has no options", kind)
	}
	return info, e.err
}

// encoder makes attributes of options; an option that is no number or the like is
// its first error.
type encoder struct {
	data    *nl.RtAttr
	options map[string]string
	err     error
}

func (e *encoder) number(name string, bits int) (uint64, bool) {
	s, given := e.options[name]
	if !given {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, bits)
	e.fail(name, err)
	return n, true
}

func (e *encoder) flag(name string) (on, given bool) {
	s, given := e.options[name]
	if !given {
		return false, false
	}
	on, err := strconv.ParseBool(s)
	e.fail(name, err)
	return on, true
}

func (e *encoder) fail(name string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (e *encoder) bridge() {
	if on, given := e.flag("stp"); given {
		e.data.AddRtAttr(nl.IFLA_BR_STP_STATE, nl.Uint32Attr(number(on)))
	}
	if on, given := e.flag("vlan_filtering"); given {
		e.data.AddRtAttr(nl.IFLA_BR_VLAN_FILTERING, nl.Uint8Attr(uint8(number(on))))
	}
	if s, given := e.options["forward_delay"]; given {
		d, err := time.ParseDuration(s)
		e.fail("forward_delay", err)
		e.data.AddRtAttr(nl.IFLA_BR_FORWARD_DELAY, nl.Uint32Attr(uint32(d/(10*time.Millisecond))))
	}
}

func number(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

// tunnel sets the key in both directions. Without a TTL (0) a tunnel's packets take
// that of what they carry.
func (e *encoder) tunnel() {
	for name, kind := range map[string]int{"local": nl.IFLA_GRE_LOCAL, "remote": nl.IFLA_GRE_REMOTE} {
		if s := e.options[name]; s != "" {
			a, err := netip.ParseAddr(s)
			e.fail(name, err)
			e.data.AddRtAttr(kind, a.AsSlice())
		}
	}
	if n, given := e.number("ttl", 8); given {
		e.data.AddRtAttr(nl.IFLA_GRE_TTL, nl.Uint8Attr(uint8(n)))
	}
	if e.options["key"] == "" {
		return
	}
	n, _ := e.number("key", 32)
	key := binary.BigEndian.AppendUint32(nil, uint32(n))
	flags := binary.BigEndian.AppendUint16(nil, nl.GRE_KEY)
	e.data.AddRtAttr(nl.IFLA_GRE_IFLAGS, flags)
	e.data.AddRtAttr(nl.IFLA_GRE_OFLAGS, flags)
	e.data.AddRtAttr(nl.IFLA_GRE_IKEY, key)
	e.data.AddRtAttr(nl.IFLA_GRE_OKEY, key)
}

// canModes are the bits of struct can_ctrlmode.
func canModes() map[string]uint32 {
	return map[string]uint32{"loopback": 0x01, "listen_only": 0x02, "fd": 0x20}
}

func (e *encoder) encodeCAN() {
	var mask, flags uint32
	for name, bit := range canModes() {
		if on, given := e.flag(name); given {
			mask |= bit
			flags |= bit * number(on)
		}
	}
	if mask != 0 {
		e.data.AddRtAttr(nl.IFLA_CAN_CTRLMODE, append(nl.Uint32Attr(mask), nl.Uint32Attr(flags)...))
	}
	if n, given := e.number("restart_ms", 32); given {
		e.data.AddRtAttr(nl.IFLA_CAN_RESTART_MS, nl.Uint32Attr(uint32(n)))
	}
	e.encodeTiming(nl.IFLA_CAN_BITTIMING, "")
	e.encodeTiming(nl.IFLA_CAN_DATA_BITTIMING, "data_")
}

// encodeTiming is a struct can_bittiming, in which the kernel computes what is 0.
func (e *encoder) encodeTiming(kind int, prefix string) {
	rate, given := e.number(prefix+"bitrate", 32)
	if !given || rate == 0 {
		return
	}
	point := 0.0
	if s := e.options[prefix+"sample_point"]; s != "" {
		var err error
		point, err = strconv.ParseFloat(s, 64)
		e.fail(prefix+"sample_point", err)
	}
	timing := append(nl.Uint32Attr(uint32(rate)), nl.Uint32Attr(uint32(math.Round(point*1000)))...)
	e.data.AddRtAttr(kind, append(timing, make([]byte, 6*4)...))
}

// decodeOptions is the inverse of linkInfo, of the options that it knows.
func decodeOptions(kind string, data attributes) map[string]string {
	switch {
	case kind == "bridge":
		delay := time.Duration(number32(data[nl.IFLA_BR_FORWARD_DELAY].Value)) * 10 * time.Millisecond
		return map[string]string{
			"stp":            strconv.FormatBool(number32(data[nl.IFLA_BR_STP_STATE].Value) != 0),
			"vlan_filtering": strconv.FormatBool(number8(data[nl.IFLA_BR_VLAN_FILTERING].Value) != 0),
			"forward_delay":  delay.String(),
		}
	case isTunnel(kind):
		out := map[string]string{
			"local": address(data[nl.IFLA_GRE_LOCAL].Value), "remote": address(data[nl.IFLA_GRE_REMOTE].Value),
			"ttl": strconv.Itoa(int(number8(data[nl.IFLA_GRE_TTL].Value))), "key": "",
		}
		flags, key := data[nl.IFLA_GRE_OFLAGS].Value, data[nl.IFLA_GRE_OKEY].Value
		if len(flags) == 2 && len(key) == 4 && binary.BigEndian.Uint16(flags)&nl.GRE_KEY != 0 {
			out["key"] = strconv.FormatUint(uint64(binary.BigEndian.Uint32(key)), 10)
		}
		return out
	case kind == "can":
		return decodeCAN(data)
	}
	return nil
}

func decodeCAN(data attributes) map[string]string {
	out := map[string]string{"restart_ms": strconv.FormatUint(uint64(number32(data[nl.IFLA_CAN_RESTART_MS].Value)), 10)}
	var flags uint32
	if mode := data[nl.IFLA_CAN_CTRLMODE].Value; len(mode) == 8 {
		flags = number32(mode[4:])
	}
	for name, bit := range canModes() {
		out[name] = strconv.FormatBool(flags&bit != 0)
	}
	for prefix, kind := range map[string]uint16{"": nl.IFLA_CAN_BITTIMING, "data_": nl.IFLA_CAN_DATA_BITTIMING} {
		var rate, point uint32
		if timing := data[kind].Value; len(timing) >= 8 {
			rate, point = number32(timing[:4]), number32(timing[4:8])
		}
		out[prefix+"bitrate"] = strconv.FormatUint(uint64(rate), 10)
		out[prefix+"sample_point"] = strconv.FormatFloat(float64(point)/1000, 'f', -1, 64)
	}
	return out
}

// address gives an address in words; "" for none.
func address(value []byte) string {
	a, ok := netip.AddrFromSlice(value)
	if !ok || a.IsUnspecified() {
		return ""
	}
	return a.String()
}

func number8(value []byte) uint8 {
	if len(value) != 1 {
		return 0
	}
	return value[0]
}
