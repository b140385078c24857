package simulated_test

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// A machine with a package to install, which brings a service.
func ExampleNew() {
	ctx := context.Background()
	machine, err := simulated.New(ctx, simulated.Machine{
		Files: map[string]simulated.File{"/etc/motd": {Content: "Hello.\n"}},
		Packages: map[string]simulated.Package{
			"nginx": {Available: []string{"1.22.1-9"}, Services: []string{"nginx"}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := machine.Run(ctx, host.Command{Argv: []string{"apt-get", "-y", "install", "nginx"}}); err != nil {
		fmt.Println(err)
	}
	version, _ := simulated.InstalledVersion(machine, "nginx")
	service, _ := simulated.ServiceOf(machine, "nginx")
	fmt.Println(version, service.Running, service.Enabled)
	// Output: 1.22.1-9 true true
}
