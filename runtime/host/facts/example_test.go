package facts_test

import (
	"fmt"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
)

// Facts are gathered when they are asked for.
func ExampleNew() {
	machine := host.NewMemory()
	if err := machine.Add("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"); err != nil {
		panic(err)
	}
	known := facts.New(machine, map[string]any{"hostname": "web1"})
	os, err := known.Fact("os")
	name, _ := known.Fact("hostname")
	fmt.Println(os.(map[string]any)["family"], name, err)
	// Output: debian web1 <nil>
}
