package remote_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
)

// says dials a machine that answers every request with frames, and then with an end.
func says(t *testing.T, frames ...wire.Frame) remote.Dial {
	return func(context.Context, wire.Opening) (*wire.Conn, *wire.Hello, error) {
		in, toUs := io.Pipe()
		theirs, out := io.Pipe()
		machine := wire.New(theirs, toUs, nil)
		go func() {
			if _, err := machine.Receive(); err != nil {
				return
			}
			for _, f := range frames {
				if machine.Write(f.Kind, f.Data) != nil {
					return
				}
			}
			_ = machine.Send(wire.KindEnd, wire.End{}) // who listens may have gone
		}()
		c := wire.New(in, out, func() error { return errors.Join(in.Close(), out.Close()) })
		t.Cleanup(func() { c.Close() })
		return c, &wire.Hello{}, nil
	}
}

// Pieces that end in nothing, values that come twice and answers to another question are refused.
func TestImportHostile(t *testing.T) {
	whole := []byte(`{"areas":[{"name":"files","parts":[{"type":"file","label":"/a","values":[]}]}]}`)
	for name, c := range map[string]struct {
		frames []wire.Frame
		want   string
	}{
		"whole":        {[]wire.Frame{{Kind: wire.KindPiece, Data: whole[:7]}, {Kind: wire.KindPiece, Data: whole[7:20]}, {Kind: wire.KindData, Data: whole[20:]}}, ""},
		"nothing":      {nil, "gave none"},
		"pieces alone": {[]wire.Frame{{Kind: wire.KindPiece, Data: whole}}, "gave none"},
		"no JSON":      {[]wire.Frame{{Kind: wire.KindPiece, Data: whole}, {Kind: wire.KindData, Data: []byte("x")}}, "data that is no JSON"},
		"twice":        {[]wire.Frame{{Kind: wire.KindData, Data: whole}, {Kind: wire.KindPiece, Data: []byte(" ")}}, "answered twice"},
		"another type": {[]wire.Frame{{Kind: wire.KindData, Data: []byte(strings.Replace(string(whole), `"file"`, `"command"`, 1))}}, "not asked for"},
		"a guard":      {[]wire.Frame{{Kind: wire.KindData, Data: []byte(strings.Replace(string(whole), `[]`, `[{"name":"only_if","value":{}}]`, 1))}}, "no attribute"},
	} {
		m := &remote.Machine{Name: "subject", Dial: says(t, c.frames...), Registry: modules.Standard()}
		found, err := m.Import(t.Context(), machine.ImportRequest{Type: "file", Keys: machine.Values{"path": "/a"}}, machine.Observer{})
		switch {
		case c.want == "" && (err != nil || found.Areas[0].Parts[0].Label != "/a"):
			t.Errorf("%s: %+v, %v", name, found, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
