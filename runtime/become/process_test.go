package become

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// liar says that it acts as root.
type liar struct{ *host.Local }

func (liar) Actor() (uid, gid int) { return 0, 0 }

// deaf says that it is there whenever it is asked, and does nothing else.
func deaf() {
	conn := wire.New(os.Stdin, os.Stdout, nil)
	err := conn.Send(kindHello, hello{Protocol: protocol})
	for err == nil {
		var f wire.Frame
		if f, err = conn.Receive(); err == nil && f.Kind == kindPing {
			err = conn.Write(kindPong, f.Data)
		}
	}
	os.Exit(0)
}

// asServer makes this program the process of another account, as tests start it.
const asServer = "serving"

// TestMain is that process, where it is started as one.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, asServer) {
		os.Exit(m.Run())
	}
	l, err := host.NewLocal(host.LocalOptions{})
	if slices.Contains(os.Args, "deaf") {
		deaf()
	}
	h := host.Host(l)
	if slices.Contains(os.Args, "lying") {
		h = liar{l}
	}
	if err == nil {
		err = Serve(context.Background(), os.Stdin, os.Stdout, h)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
