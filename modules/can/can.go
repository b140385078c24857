// Package can is the module "can": an interface to a CAN bus, real or virtual.
package can

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/device"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// CAN is the state of one device, wanted or observed. A nil attribute is not managed.
type CAN struct {
	Name            string   `state:"name,key,device" doc:"Name of the device, such as \"can0\"."`
	Virtual         *bool    `state:"virtual" doc:"Whether it is a virtual device (vcan), a bus of its own within the machine, which is made where it is missing."`
	Up              *bool    `state:"up" doc:"Whether the device is up: a virtual one is, if nothing else is said."`
	Bitrate         *int     `state:"bitrate" doc:"Bits a second, such as 500000. A real device needs it to be up."`
	SamplePoint     *float64 `state:"sample_point" doc:"Where in a bit it is sampled, such as 0.875. The controller takes the nearest that it can."`
	FD              *bool    `state:"fd" doc:"Whether the device takes part in CAN FD."`
	DataBitrate     *int     `state:"data_bitrate" doc:"Bits a second of the data of CAN FD."`
	DataSamplePoint *float64 `state:"data_sample_point" doc:"Where in a bit of the data of CAN FD it is sampled."`
	ListenOnly      *bool    `state:"listen_only" doc:"Whether the device only listens, without any acknowledgement."`
	Loopback        *bool    `state:"loopback" doc:"Whether the controller receives what it sends, and sends nothing to the bus."`
	RestartMS       *int     `state:"restart_ms" doc:"Milliseconds after which a device that has left the bus for errors comes back; 0: not by itself."`
}

const doc = `An interface to a CAN bus: its bit rates, its modes, whether it is up.

A real device is there when its driver is, and cannot be made or removed. While its attributes change it is down for a moment. A virtual one (vcan) is made; it has none of these attributes. What is not given is not managed.

A controller computes its timing from its own clock: a bit rate within 1% and a sample point within 0.015 of the wanted one count as equal.

` + device.Forgets + `

Absent deletes a virtual device; for a real one it is an error.`

const example = `can "can0" {
  bitrate      = 500000
  sample_point = 0.875
  restart_ms   = 100
}

can "vcan0" {
  virtual = true
}`

// Module is the module "can".
var Module = states.Define(states.Type[CAN]{
	Name: "can", Doc: doc, Example: example, Root: true,
	New:      CAN{Virtual: new(false)},
	Validate: validate, Complete: complete, Read: read, Write: write, Remove: remove, List: list,
})

// complete wants a virtual device up unless it is said to be down: also where it was made
// and could not be set up. A real one needs a bit rate before.
func complete(_ context.Context, _ host.Host, want *CAN) error {
	if want.Up == nil && want.Virtual != nil && *want.Virtual {
		want.Up = new(true)
	}
	return nil
}

func validate(want CAN) error {
	mistake := func(attribute, format string, args ...any) error {
		return states.InvalidAttribute(attribute, fmt.Sprintf(format, args...), "")
	}
	for _, a := range want.options() {
		if a.isGiven && want.Virtual != nil && *want.Virtual {
			return mistake(a.name, "a virtual device has no such attribute")
		}
	}
	// The limits of ISO 11898: 1 Mbit/s, and 8 Mbit/s for the data of CAN FD.
	for _, x := range []struct {
		name string
		rate *int
	}{{"bitrate", want.Bitrate}, {"data_bitrate", want.DataBitrate}} {
		if x.rate != nil && (*x.rate < 1 || *x.rate > 20_000_000) {
			return mistake(x.name, "%d is no bit rate of a CAN bus", *x.rate)
		}
	}
	for _, x := range []struct {
		name  string
		point *float64
	}{{"sample_point", want.SamplePoint}, {"data_sample_point", want.DataSamplePoint}} {
		if x.point != nil && (*x.point <= 0 || *x.point >= 1 || math.IsNaN(*x.point)) {
			return mistake(x.name, "%g is not between 0 and 1", *x.point)
		}
	}
	switch {
	case want.SamplePoint != nil && want.Bitrate == nil:
		return mistake("sample_point", "it needs bitrate beside it")
	case want.DataSamplePoint != nil && want.DataBitrate == nil:
		return mistake("data_sample_point", "it needs data_bitrate beside it")
	case want.DataBitrate != nil && (want.FD == nil || !*want.FD):
		return mistake("data_bitrate", "it needs fd = true beside it")
	case want.FD != nil && *want.FD && want.DataBitrate == nil:
		return mistake("fd", "it needs data_bitrate beside it")
	case want.RestartMS != nil && (*want.RestartMS < 0 || *want.RestartMS > math.MaxInt32):
		return mistake("restart_ms", "%d is no number of milliseconds", *want.RestartMS)
	}
	return device.Name("name", want.Name)
}

// option is an attribute that only a real device has.
type option struct {
	name    string
	isGiven bool
	value   string
}

// options are those of a real device, as links.Link has them.
func (c CAN) options() []option {
	return []option{
		number("bitrate", c.Bitrate), point("sample_point", c.SamplePoint),
		number("data_bitrate", c.DataBitrate), point("data_sample_point", c.DataSamplePoint),
		flag("fd", c.FD), flag("listen_only", c.ListenOnly), flag("loopback", c.Loopback), number("restart_ms", c.RestartMS),
	}
}

func number(name string, v *int) option {
	if v == nil {
		return option{name: name}
	}
	return option{name, true, strconv.Itoa(*v)}
}

func point(name string, v *float64) option {
	if v == nil {
		return option{name: name}
	}
	return option{name, true, strconv.FormatFloat(*v, 'f', -1, 64)}
}

func flag(name string, v *bool) option {
	if v == nil {
		return option{name: name}
	}
	return option{name, true, strconv.FormatBool(*v)}
}

func read(ctx context.Context, h host.Host, want CAN) (*CAN, error) {
	l, err := device.FindKind(ctx, h, want.Name, "can", "vcan")
	if err != nil || l == nil {
		return nil, err
	}
	have := &CAN{Name: want.Name, Virtual: new(l.Kind == "vcan"), Up: l.Up}
	if l.Kind == "vcan" {
		return have, nil
	}
	have.Bitrate = rate(l.Options["bitrate"], want.Bitrate)
	have.DataBitrate = rate(l.Options["data_bitrate"], want.DataBitrate)
	have.SamplePoint = near(l.Options["sample_point"], want.SamplePoint)
	have.DataSamplePoint = near(l.Options["data_sample_point"], want.DataSamplePoint)
	have.FD, have.ListenOnly = new(l.Options["fd"] == "true"), new(l.Options["listen_only"] == "true")
	have.Loopback = new(l.Options["loopback"] == "true")
	ms, err := strconv.Atoi(l.Options["restart_ms"])
	have.RestartMS = &ms
	return have, err
}

// rate is a number as it is wanted, if that is what the controller could do; nil for
// none.
func rate(is string, want *int) *int {
	n, err := strconv.Atoi(is)
	if err != nil || n == 0 {
		return nil
	}
	if want != nil && math.Abs(float64(n-*want)) <= float64(*want)/100 {
		return want
	}
	return &n
}

// near is rate of a sample point.
func near(is string, want *float64) *float64 {
	n, err := strconv.ParseFloat(is, 64)
	if err != nil || n == 0 {
		return nil
	}
	if want != nil && math.Abs(n-*want) <= 0.015 {
		return want
	}
	return &n
}

func write(ctx context.Context, h host.Host, have *CAN, want CAN) error {
	virtual := want.Virtual != nil && *want.Virtual
	switch {
	case have == nil && !virtual:
		return &diag.HintError{Message: "this host has no CAN device " + want.Name,
			Hint: "load its driver before, as with kernel_module; virtual = true makes a device without a bus"}
	case have == nil:
		return device.Put(ctx, h, nil, links.Link{Name: want.Name, Kind: "vcan", Up: want.Up})
	case *have.Virtual != virtual:
		return states.InvalidAttribute("virtual", fmt.Sprintf("%s is there, and a real device cannot become a virtual one, nor the other way round", want.Name), "")
	}
	l := links.Link{Up: want.Up, Options: map[string]string{}}
	if !virtual {
		l.Options = changedOptions(have.options(), want.options())
	}
	return device.Put(ctx, h, &links.Link{Name: want.Name}, l)
}

// changedOptions are the options that differ; a bit rate always goes with its sample point.
func changedOptions(have, want []option) map[string]string {
	out := map[string]string{}
	for i, w := range want {
		if w.isGiven && w.value != have[i].value {
			out[w.name] = w.value
		}
	}
	for i, w := range want {
		partner := i ^ 1
		if i >= 4 || !w.isGiven {
			continue
		}
		if _, goes := out[want[partner].name]; goes {
			out[w.name] = w.value
		}
	}
	return out
}

func remove(ctx context.Context, h host.Host, have CAN) error {
	if !*have.Virtual {
		return fmt.Errorf("%s is a real device, which only its driver can remove: up = false takes it down", have.Name)
	}
	return device.Delete(ctx, h, have.Name)
}

func list(ctx context.Context, h host.Host, _ []string) ([]CAN, error) {
	names, err := device.List(ctx, h, func(l links.Link) bool { return l.Kind == "can" || l.Kind == "vcan" })
	var out []CAN
	for _, name := range names {
		out = append(out, CAN{Name: name})
	}
	return out, err
}
