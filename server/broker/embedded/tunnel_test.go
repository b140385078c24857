package embedded

import (
	"bufio"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/server/broker/brokertest"
)

// An agent that does not hang up when it is told to is hung up on, by Disconnect and by Close.
func TestTunnelsEnd(t *testing.T) {
	s := overHTTPS(t, nil)
	for _, end := range []func(link.Address) error{s.Disconnect, func(link.Address) error { return s.Close() }} {
		a := link.Address{Host: brokertest.Host(t), Instance: "stubborn"}
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.https.URL, "https://"), &tls.Config{RootCAs: s.authority.pool})
		must(t, err)
		stream, err := upgrade(conn)
		must(t, err)
		must(t, introduce(stream, bufio.NewReader(stream), a, s.know(t, a.Host)))
		must(t, end(a))
		ends(t, conn)
		must(t, conn.Close())
	}
}
