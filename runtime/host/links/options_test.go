package links

import (
	"bytes"
	"encoding/hex"
	"maps"
	"testing"

	"github.com/vishvananda/netlink/nl"
)

// What is sent to the kernel is what would be read from it.
func TestLinkOptions(t *testing.T) {
	for kind, options := range map[string]map[string]string{
		"bridge": {"stp": "true", "vlan_filtering": "true", "forward_delay": "4s"},
		"gre":    {"local": "192.0.2.1", "remote": "192.0.2.2", "ttl": "64", "key": "17"},
		"ip6gre": {"local": "2001:db8::1", "remote": "2001:db8::2", "ttl": "0", "key": ""},
		"can": {"bitrate": "500000", "sample_point": "0.875", "data_bitrate": "2000000", "data_sample_point": "0.75",
			"fd": "true", "listen_only": "false", "loopback": "true", "restart_ms": "100"},
	} {
		info, err := linkInfo(kind, options)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := nl.ParseRouteAttrAsMap(info.Serialize()[4:])
		if err != nil || string(parts[nl.IFLA_INFO_KIND].Value) != kind {
			t.Fatalf("%s: the kind is %q, %v", kind, parts[nl.IFLA_INFO_KIND].Value, err)
		}
		data, err := nl.ParseRouteAttrAsMap(parts[nl.IFLA_INFO_DATA].Value)
		if err != nil {
			t.Fatal(err)
		}
		if is := decodeOptions(kind, data); !maps.Equal(is, options) {
			t.Errorf("%s: %v became %v", kind, options, is)
		}
	}
}

// The lab's kernel has neither tunnels nor CAN. So the bytes stand here, of a
// little-endian machine, as linux/if_tunnel.h and linux/can/netlink.h have them.
func TestBytesOfOptions(t *testing.T) {
	for _, c := range []struct {
		kind    string
		options map[string]string
		want    string // attributes that must be there
	}{
		{"gre", map[string]string{"key": "17"}, "08000500" + "00000011"},                        // IFLA_GRE_OKEY, big-endian
		{"gre", map[string]string{"key": "17"}, "06000300" + "20000000"},                        // IFLA_GRE_OFLAGS: GRE_KEY
		{"gre", map[string]string{"local": "192.0.2.1"}, "08000600" + "c0000201"},               // IFLA_GRE_LOCAL
		{"can", map[string]string{"listen_only": "true"}, "0c000500" + "02000000" + "02000000"}, // IFLA_CAN_CTRLMODE
		{"can", map[string]string{"bitrate": "500000", "sample_point": "0.875"}, "24000100" + "20a10700" + "6b030000"},
	} {
		info, err := linkInfo(c.kind, c.options)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if is := info.Serialize(); !bytes.Contains(is, want) {
			t.Errorf("%s %v: %x does not contain %x", c.kind, c.options, is, want)
		}
	}
	for kind, options := range map[string]map[string]string{
		"veth": {"x": "y"}, "bridge": {"forward_delay": "x"}, "gre": {"local": "x"}, "can": {"bitrate": "-1"},
	} {
		if _, err := linkInfo(kind, options); err == nil {
			t.Errorf("%s %v is accepted", kind, options)
		}
	}
}
