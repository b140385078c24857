package bundle_test

import (
	"fmt"
	"net"
	"os"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	a, z := net.Pipe()
	controller, machine := wire.New(a, a, a.Close), wire.New(z, z, z.Close)
	store := &bundle.Store{Dir: dir}
	have := store.Have("shop") // which a Hello tells

	go func() {
		b := &bundle.Bundle{
			Origin: "admin:/srv/site",
			Run:    &states.StateRun{Format: states.Format, Site: "shop", Host: "web1", Invocations: []states.Invocation{}},
			Files:  fstest.MapFS{},
		}
		if err := b.Send(controller, have, modules.Standard()); err != nil {
			fmt.Println(err)
		}
	}()
	b, err := store.Receive(machine)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Run.Host, "is to do what", b.Origin, "says")
	// Output: web1 is to do what admin:/srv/site says
}
