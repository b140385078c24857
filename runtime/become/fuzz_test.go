package become

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// said is what goes over a connection.
func said(f *testing.F, say func(c *wire.Conn) error) []byte {
	var out bytes.Buffer
	if err := say(wire.New(nil, &out, nil)); err != nil {
		f.Fatal(err)
	}
	return out.Bytes()
}

// FuzzServe: whatever comes, who serves ends with what comes.
func FuzzServe(f *testing.F) {
	for _, c := range []call{{Op: "lstat", Path: "/"}, {Op: "write", Path: "/x", Content: &content{Size: 3}}, {Op: "open", Path: "/x"}, {Op: "dir_lstat", Dir: 7}, {Op: "run"}} {
		f.Add(said(f, func(conn *wire.Conn) error { return sendMessage(conn, kindCall, 1, c, []byte("abc")) }))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = Serve(context.Background(), bytes.NewReader(data), io.Discard, host.NewMemory())
	})
}

// FuzzReply: whatever who serves says, who calls gets an answer or an error.
func FuzzReply(f *testing.F) {
	f.Add(said(f, func(conn *wire.Conn) error { return sendMessage(conn, kindReply, 1, reply{Text: "x"}, nil) }))
	f.Add(said(f, func(conn *wire.Conn) error {
		return sendMessage(conn, kindReply, 1, reply{Failure: failureOf(host.ErrUnforeseeable), Stdout: -1}, []byte("abc"))
	}))
	f.Add(said(f, func(conn *wire.Conn) error { return sendShort(conn, kindContentRequest, 1, 1, nil) }))
	f.Fuzz(func(_ *testing.T, data []byte) {
		here := host.NewMemory()
		m := &machine{link: newLink(wire.New(bytes.NewReader(data), io.Discard, nil), "somebody"), local: here}
		_, _ = m.Run(context.Background(), host.Command{Argv: []string{"x"}})
		_ = m.WriteFile(context.Background(), "/x", host.Text("x"), host.Meta{})
	})
}
