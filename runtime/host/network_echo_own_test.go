package host

import (
	"encoding/hex"
	"net/netip"
	"testing"
)

// A request is as RFC 792 has it, and no other message answers it than its own reply.
func TestEchoMessage(t *testing.T) {
	v4, v6 := echoOf(netip.MustParseAddr("::ffff:192.0.2.1")), echoOf(netip.MustParseAddr("2001:db8::1"))
	if got := hex.EncodeToString(v4.message(0x1234, 2)); got != "0800e5c912340002" {
		t.Errorf("the request is %s", got)
	}
	for name, c := range map[string]struct {
		kind    echoKind
		message string
		want    bool
	}{
		"the reply":          {v4, "0000edc912340002", true},
		"of IPv6":            {v6, "8100000012340002", true},
		"the request":        {v4, "0800e5c912340002", false},
		"another's":          {v4, "0000000012350002", false},
		"of one before":      {v4, "0000000012340001", false},
		"of the other kind":  {v6, "0000edc912340002", false},
		"a part":             {v4, "00000000123400", false},
		"nothing":            {v4, "", false},
		"no way to the host": {v4, "0301000012340002", false},
	} {
		data, err := hex.DecodeString(c.message)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.kind.answers(data, 0x1234, 2); got != c.want {
			t.Errorf("%s: it answers: %t", name, got)
		}
	}
}
