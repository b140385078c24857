package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/can"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

// newCanHost has a device that was never set up, one that is, and a virtual one.
func newCanHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.SetLinks(links.NewMemory(
		links.Link{Name: "can0", Kind: "can"},
		links.Link{Name: "can1", Kind: "can", Up: new(true), Options: map[string]string{
			"bitrate": "499999", "sample_point": "0.875", "listen_only": "true", "restart_ms": "100"}},
		links.Link{Name: "vcan1", Kind: "vcan", Up: new(true)}, links.Link{Name: "vcan2", Kind: "vcan", Up: new(false)}, links.Link{Name: "eth0"},
	))
	return h
}

func canValues(name string, more ...any) map[string]any {
	out := map[string]any{"name": name}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func TestCAN(t *testing.T) {
	t.Parallel()
	const real = "it is a real device"
	statestest.Run(t, statestest.Suite{Module: can.Module, Host: newCanHost, Hostile: canValues("vcan9", "virtual", true), Cases: []statestest.Case{
		{Name: "set up", Values: canValues("can0", "bitrate", 500000, "sample_point", "0.875", "up", true), Stays: real,
			Action: states.Update, Changes: []string{"up", "bitrate", "sample_point"}},
		{Name: "set up FD", Values: canValues("can0", "up", true, "bitrate", 500000, "fd", true, "data_bitrate", 2000000, "data_sample_point", "0.75", "loopback", true, "listen_only", true, "restart_ms", 5),
			Action: states.Update, Changes: []string{"up", "bitrate", "fd", "data_bitrate", "data_sample_point", "listen_only", "loopback", "restart_ms"}, Stays: real},
		{Name: "as near as the controller can", Values: canValues("can1", "bitrate", 500000, "sample_point", "0.87"), Stays: real},
		{Name: "further off", Values: canValues("can1", "bitrate", 500000, "sample_point", "0.8"), Action: states.Update, Changes: []string{"sample_point"}, Stays: real},
		{Name: "another bit rate", Values: canValues("can1", "bitrate", 250000), Action: states.Update, Changes: []string{"bitrate"}, Stays: real},
		{Name: "modes", Values: canValues("can1", "listen_only", false, "restart_ms", 0, "up", false), Action: states.Update,
			Changes: []string{"up", "listen_only", "restart_ms"}, Stays: real},
		{Name: "virtual", Values: canValues("vcan0", "virtual", true), Action: states.Create, Changes: []string{"virtual", "up"}},
		{Name: "virtual, down", Values: canValues("vcan1", "up", false), Action: states.Update, Changes: []string{"up"}},
		{Name: "virtual is there", Values: canValues("vcan1", "virtual", true)},
		{Name: "virtual, set down by hand", Values: canValues("vcan2", "virtual", true), Action: states.Update, Changes: []string{"up"}},
		{Name: "real, down", Values: canValues("can0"), Stays: real},
		{Name: "absent", Values: canValues("vcan1"), Ensure: states.Absent, Action: states.Remove, Changes: []string{"virtual", "up"}},
		{Name: "absent, real", Values: canValues("can1"), Ensure: states.Absent, Fails: "which only its driver can remove"},
		{Name: "missing", Values: canValues("can9", "bitrate", 500000), Fails: "this host has no CAN device can9", Hint: "kernel_module"},
		{Name: "real to virtual", Values: canValues("can0", "virtual", true), Fails: "cannot become a virtual one"},
		{Name: "not CAN", Values: canValues("eth0"), Fails: "is no can but a real device"},
		{Name: "virtual with bits", Values: canValues("vcan0", "virtual", true, "bitrate", 1), Wrong: "has no such attribute"},
		{Name: "bit rate", Values: canValues("can0", "bitrate", 0), Wrong: "no bit rate"},
		{Name: "point", Values: canValues("can0", "bitrate", 500000, "sample_point", "87.5"), Wrong: "not between 0 and 1"},
		{Name: "point alone", Values: canValues("can0", "sample_point", "0.5"), Wrong: "needs bitrate"},
		{Name: "data alone", Values: canValues("can0", "data_bitrate", 500000), Wrong: "needs fd"},
		{Name: "fd alone", Values: canValues("can0", "fd", true), Wrong: "needs data_bitrate"},
		{Name: "restart", Values: canValues("can0", "restart_ms", -1), Wrong: "milliseconds"},
	}})
}
