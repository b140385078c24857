package become

import (
	"io"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Connect gives the machine that somebody serves over streams.
func Connect(in io.Reader, out io.Writer, here host.Host) (host.Host, error) {
	conn := wire.New(in, out, nil)
	m := &machine{here: here}
	if err := conn.Expect(kindHello, &m.hello); err != nil {
		return nil, err
	}
	m.link = newLink(conn, "somebody")
	return m, nil
}
