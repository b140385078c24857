// Package bridgeport is the module "bridge_port": a network device that is a port of a
// bridge.
package bridgeport

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/modules/internal/device"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// Port is the state of one port, wanted or observed.
type Port struct {
	Port   string  `state:"port,key,on_device" doc:"Name of the network device."`
	Bridge *string `state:"bridge,present,on_device" doc:"Name of the bridge that it is a port of."`
}

const doc = `A network device is a port of a bridge.

Device and bridge must be there; where parts make them, these come first, wherever they stand. A port of another bridge changes over. A port forwards only while it is up: see interface. Its own addresses are of no use any more, so that a machine which is reached by this device is cut off unless the bridge gets the address: do that in one block with confirm.

` + device.Forgets + `

Absent takes the device out of its bridge, whichever that is.`

const example = `bridge "br0" {}

bridge_port "eth1" {
  bridge = "br0"
}

interface "eth1" {
  up = true
}`

// Module is the module "bridge_port".
var Module = states.Define(states.Type[Port]{
	Name: "bridge_port", Doc: doc, Example: example, Root: true,
	Validate: validate, Read: read, Write: write, Remove: remove, List: list,
})

func validate(want Port) error {
	err := device.Name("port", want.Port)
	if want.Bridge == nil {
		return err
	}
	if *want.Bridge == want.Port {
		return states.InvalidAttribute("bridge", "a bridge cannot be a port of itself", "name the device that is to be the port, and in bridge the bridge")
	}
	return errors.Join(err, device.Name("bridge", *want.Bridge))
}

func read(ctx context.Context, h host.Host, want Port) (*Port, error) {
	l, err := device.Find(ctx, h, want.Port)
	if err != nil || l == nil || *l.Master == "" {
		return nil, err
	}
	return &Port{Port: want.Port, Bridge: l.Master}, nil
}

func write(ctx context.Context, h host.Host, _ *Port, want Port) error {
	if want.Bridge == nil {
		return states.InvalidAttribute("bridge", "it is required for a port that is to be there", "")
	}
	master, err := device.FindKind(ctx, h, *want.Bridge, "bridge")
	if err != nil {
		return err
	}
	if master == nil {
		return fmt.Errorf("this host has no bridge %s", *want.Bridge)
	}
	return device.Put(ctx, h, &links.Link{Name: want.Port}, links.Link{Master: want.Bridge})
}

func remove(ctx context.Context, h host.Host, have Port) error {
	return device.Put(ctx, h, &links.Link{Name: have.Port}, links.Link{Master: new("")})
}

func list(ctx context.Context, h host.Host, _ []string) ([]Port, error) {
	names, err := device.List(ctx, h, func(l links.Link) bool { return *l.Master != "" })
	var out []Port
	for _, name := range names {
		out = append(out, Port{Port: name})
	}
	return out, err
}
