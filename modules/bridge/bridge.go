// Package bridge is the module "bridge": a software bridge of the kernel.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/modules/internal/device"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// Bridge is the state of one bridge, wanted or observed. A nil attribute is not
// managed.
type Bridge struct {
	Name          string         `state:"name,key,device" doc:"Name of the device, at most 15 characters."`
	Up            *bool          `state:"up" doc:"Whether the bridge is up: yes, if nothing else is said."`
	STP           *bool          `state:"stp" doc:"Whether the spanning tree protocol keeps loops out."`
	ForwardDelay  *time.Duration `state:"forward_delay" doc:"How long a new port listens and learns before it forwards: at most 30s; with stp at least 2s."`
	VLANFiltering *bool          `state:"vlan_filtering" doc:"Whether the bridge looks at the VLANs of frames."`
	MAC           *string        `state:"mac" doc:"Hardware address, such as \"02:00:00:00:00:01\". Without one the bridge has that of one of its ports, and another one when ports change."`
}

const doc = `A bridge of the running kernel, which joins network devices like a switch.

Its ports are parts of type bridge_port, its addresses and MTU those of a part of type interface. A device of this name that is no bridge is an error.

` + device.Forgets + `

Absent deletes the bridge; its ports stay as devices.`

const example = `bridge "br0" {
  stp           = true
  forward_delay = "4s"
}

interface "br0" {
  addresses = ["192.0.2.1/24"]
}`

// Module is the module "bridge".
var Module = states.Define(states.Type[Bridge]{
	Name: "bridge", Doc: doc, Example: example, Root: true,
	Validate: validate, Complete: complete, Read: read, Write: write, Remove: remove, List: list,
})

const (
	maxDelay    = 30 * time.Second
	minSTPDelay = 2 * time.Second
	delayUnit   = 10 * time.Millisecond // in which the kernel counts
)

func validate(want Bridge) error {
	if d := want.ForwardDelay; d != nil {
		mistake := &states.AttributeError{Attribute: "forward_delay"}
		switch {
		case *d < 0 || *d > maxDelay:
			mistake.Message = fmt.Sprintf("%s is not between 0s and %s", *d, maxDelay)
		case *d < minSTPDelay && want.STP != nil && *want.STP:
			mistake.Message = fmt.Sprintf("%s is less than the %s that stp needs", *d, minSTPDelay)
		case *d%delayUnit != 0:
			mistake.Message = fmt.Sprintf("%s is finer than the %s in which the kernel counts", *d, delayUnit)
		}
		if mistake.Message != "" {
			return mistake
		}
	}
	return errors.Join(device.Name("name", want.Name), device.MAC("mac", want.MAC))
}

// complete wants the device up unless it is said to be down: also where it was made and
// could not be set up, or somebody has set it down.
func complete(_ context.Context, _ host.Host, want *Bridge) error {
	if want.Up == nil {
		want.Up = new(true)
	}
	return nil
}

func read(ctx context.Context, h host.Host, want Bridge) (*Bridge, error) {
	l, err := device.FindKind(ctx, h, want.Name, "bridge")
	if err != nil || l == nil {
		return nil, err
	}
	delay, err := time.ParseDuration(l.Options["forward_delay"])
	have := &Bridge{
		Name: want.Name, Up: l.Up, ForwardDelay: &delay,
		STP: new(l.Options["stp"] == "true"), VLANFiltering: new(l.Options["vlan_filtering"] == "true"),
	}
	if l.MAC != "" {
		have.MAC = &l.MAC
	}
	return have, err
}

func write(ctx context.Context, h host.Host, have *Bridge, want Bridge) error {
	created := have == nil
	if created {
		have = &Bridge{}
	}
	l := links.Link{Up: want.Up, Options: map[string]string{}}
	if differs(have.STP, want.STP) {
		l.Options["stp"] = strconv.FormatBool(*want.STP)
	}
	if differs(have.VLANFiltering, want.VLANFiltering) {
		l.Options["vlan_filtering"] = strconv.FormatBool(*want.VLANFiltering)
	}
	if differs(have.ForwardDelay, want.ForwardDelay) {
		l.Options["forward_delay"] = want.ForwardDelay.String()
	}
	if differs(have.MAC, want.MAC) {
		l.MAC = *want.MAC
	}
	if created {
		l.Name, l.Kind = want.Name, "bridge"
		return device.Put(ctx, h, nil, l)
	}
	// The kernel looks at the delay before it ends the protocol that limits it.
	if l.Options["stp"] == "false" && l.Options["forward_delay"] != "" {
		off := links.Link{Options: map[string]string{"stp": "false"}}
		if err := device.Put(ctx, h, &links.Link{Name: want.Name}, off); err != nil {
			return err
		}
	}
	return device.Put(ctx, h, &links.Link{Name: want.Name}, l)
}

func differs[T comparable](have, want *T) bool {
	return want != nil && (have == nil || *have != *want)
}

func remove(ctx context.Context, h host.Host, have Bridge) error {
	return device.Delete(ctx, h, have.Name)
}

func list(ctx context.Context, h host.Host, _ []string) ([]Bridge, error) {
	names, err := device.List(ctx, h, func(l links.Link) bool { return l.Kind == "bridge" })
	var out []Bridge
	for _, name := range names {
		out = append(out, Bridge{Name: name})
	}
	return out, err
}
