package links

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"net"
	"slices"
	"sync"
)

// Memory are the network devices of a Memory, or of a Shadow: what a kernel
// would do, without one.
type Memory struct {
	mu   sync.Mutex
	list []Link
	// Kinds are those that this kernel can make; nil: any.
	Kinds []string
}

// NewMemory makes a machine's devices; each is as Devices.List would give it.
func NewMemory(list ...Link) *Memory {
	m := &Memory{}
	for _, l := range list {
		m.list = append(m.list, complete(l.clone()))
	}
	return m
}

// complete gives a new device what it has if nobody says so.
func complete(l Link) Link {
	d := defaultsOf(l.Kind)
	l.Up, l.Master = cmp.Or(l.Up, new(false)), cmp.Or(l.Master, new(""))
	l.MTU = cmp.Or(l.MTU, &d.mtu)
	if d.ethernet && l.MAC == "" {
		sum := crc32.ChecksumIEEE([]byte(l.Name)) // any, and the same each time
		l.MAC = net.HardwareAddr(binary.BigEndian.AppendUint32([]byte{2, 0}, sum)).String()
	}
	l.address(l.Addresses)
	for k, v := range d.options {
		if _, given := l.Options[k]; !given {
			l.Options[k] = v
		}
	}
	return l
}

// linkDefaults are what the kernel gives a new device of a kind.
type linkDefaults struct {
	mtu      int
	ethernet bool
	options  map[string]string
}

func defaultsOf(kind string) linkDefaults {
	gre := map[string]string{"local": "", "remote": "", "ttl": "0", "key": ""}
	switch kind {
	case "bridge":
		return linkDefaults{1500, true, map[string]string{"stp": "false", "forward_delay": "15s", "vlan_filtering": "false"}}
	case "gre", "ip6gre":
		return linkDefaults{1476, false, gre}
	case "gretap", "ip6gretap":
		return linkDefaults{1462, true, gre}
	case "can":
		return linkDefaults{16, false, map[string]string{
			"bitrate": "0", "sample_point": "0", "data_bitrate": "0", "data_sample_point": "0",
			"fd": "false", "listen_only": "false", "loopback": "false", "restart_ms": "0",
		}}
	case "vcan":
		return linkDefaults{72, false, nil}
	}
	return linkDefaults{1500, false, nil}
}

// List is Devices.List.
func (m *Memory) List(context.Context) ([]Link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Link, len(m.list))
	for i, l := range m.list {
		out[i] = l.clone()
	}
	return out, nil
}

// Add is Devices.Add.
func (m *Memory) Add(_ context.Context, l Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find(l.Name) >= 0 {
		return &Error{"add", l.Name, linkExists()}
	}
	if l.Kind == "" || l.Kind == "can" || m.Kinds != nil && !slices.Contains(m.Kinds, l.Kind) {
		return &Error{"add", l.Name, noSuchKind(l.Kind)}
	}
	if err := m.fits(l); err != nil {
		return &Error{"add", l.Name, err}
	}
	m.list = append(m.list, complete(l.clone()))
	return nil
}

// Change is Devices.Change.
func (m *Memory) Change(_ context.Context, have, want Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(have.Name)
	if i < 0 {
		return &Error{"change", have.Name, noSuchLink()}
	}
	if err := m.fits(want); err != nil {
		return &Error{"change", have.Name, err}
	}
	l, want := &m.list[i], want.clone()
	l.Up, l.MTU, l.MAC = cmp.Or(want.Up, l.Up), cmp.Or(want.MTU, l.MTU), cmp.Or(want.MAC, l.MAC)
	l.Master = cmp.Or(want.Master, l.Master)
	maps.Copy(l.Options, want.Options)
	l.address(want.Addresses)
	return nil
}

// address gives a device these addresses and no others, nil: those that it has. One
// of the kernel's sort is among the passing ones from then on.
func (l *Link) address(want []string) {
	if want == nil {
		return
	}
	l.Addresses = nil
	l.Passing = slices.DeleteFunc(l.Passing, func(a string) bool { return slices.Contains(want, a) })
	for _, text := range want {
		if a, err := parseLinkAddress(text); err == nil && byKernel(a) {
			l.Passing = append(l.Passing, text)
		} else {
			l.Addresses = append(l.Addresses, text)
		}
	}
}

// Delete is Devices.Delete. The ports of a bridge stay.
func (m *Memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(name)
	switch {
	case i < 0:
		return &Error{"delete", name, noSuchLink()}
	case m.list[i].Kind == "" || m.list[i].Kind == "can":
		return &Error{"delete", name, errRealLink}
	}
	m.list = slices.Delete(m.list, i, i+1)
	for k := range m.list {
		if *m.list[k].Master == name {
			m.list[k].Master = new("")
		}
	}
	return nil
}

func (m *Memory) find(name string) int {
	return slices.IndexFunc(m.list, func(l Link) bool { return l.Name == name })
}

// fits refuses what a kernel would: a bridge that is none, an address that is none.
func (m *Memory) fits(l Link) error {
	if l.Master != nil && *l.Master != "" {
		if i := m.find(*l.Master); i < 0 || m.list[i].Kind != "bridge" {
			return noSuchMaster(*l.Master)
		}
	}
	for _, a := range l.Addresses {
		if _, err := parseLinkAddress(a); err != nil {
			return err
		}
	}
	return nil
}
