package runner_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/machine/machinetest"
	"github.com/tenetcm/tenet/runtime/runner"
)

// This machine is one like any other.
func TestMachine(t *testing.T) {
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		h, err := host.NewLocal(host.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := &runner.Runner{
			Host: h, StateDir: t.TempDir() + "/state", Registry: modules.Standard(), Program: "test", Caller: machine.Caller{User: "alice"},
		}
		return machinetest.Subject{Machine: r, Another: func() machine.Machine { return r }, Dir: t.TempDir(), Files: machinetest.LocalFiles{}}
	})
}
