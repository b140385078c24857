package host

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

// MemoryLinks are the network devices of a Memory, or of a Shadow: what a kernel
// would do, without one.
type MemoryLinks struct {
	mu   sync.Mutex
	list []Link
	// Kinds are those that this kernel can make; nil: any.
	Kinds []string
}

// NewMemoryLinks makes a machine's devices; each is as Links.List would give it.
func NewMemoryLinks(list ...Link) *MemoryLinks {
	m := &MemoryLinks{}
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

// List is Links.List.
func (m *MemoryLinks) List(context.Context) ([]Link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Link, len(m.list))
	for i, l := range m.list {
		out[i] = l.clone()
	}
	return out, nil
}

// Add is Links.Add.
func (m *MemoryLinks) Add(_ context.Context, l Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find(l.Name) >= 0 {
		return &LinkError{"add", l.Name, linkExists()}
	}
	if l.Kind == "" || l.Kind == "can" || m.Kinds != nil && !slices.Contains(m.Kinds, l.Kind) {
		return &LinkError{"add", l.Name, noSuchKind(l.Kind)}
	}
	if err := m.fits(l); err != nil {
		return &LinkError{"add", l.Name, err}
	}
	m.list = append(m.list, complete(l.clone()))
	return nil
}

// Change is Links.Change.
func (m *MemoryLinks) Change(_ context.Context, have, want Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(have.Name)
	if i < 0 {
		return &LinkError{"change", have.Name, noSuchLink()}
	}
	if err := m.fits(want); err != nil {
		return &LinkError{"change", have.Name, err}
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

// Delete is Links.Delete. The ports of a bridge stay.
func (m *MemoryLinks) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(name)
	switch {
	case i < 0:
		return &LinkError{"delete", name, noSuchLink()}
	case m.list[i].Kind == "" || m.list[i].Kind == "can":
		return &LinkError{"delete", name, errRealLink}
	}
	m.list = slices.Delete(m.list, i, i+1)
	for k := range m.list {
		if *m.list[k].Master == name {
			m.list[k].Master = new("")
		}
	}
	return nil
}

func (m *MemoryLinks) find(name string) int {
	return slices.IndexFunc(m.list, func(l Link) bool { return l.Name == name })
}

// fits refuses what a kernel would: a bridge that is none, an address that is none.
func (m *MemoryLinks) fits(l Link) error {
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

// Links is Machine.Links: a shadow of the base's.
func (s *Shadow) Links(ctx context.Context) (Links, error) {
	s.trace.look("/sys", "/proc")
	s.trace.act()
	s.linksMu.Lock()
	defer s.linksMu.Unlock()
	if s.links == nil {
		base, err := LinksOf(ctx, s.host)
		if err != nil {
			return nil, err
		}
		s.links = &shadowLinks{base: base}
	}
	return s.links, nil
}

// shadowLinks are the devices of a Shadow: the base's, until something changes here.
type shadowLinks struct {
	base Links
	mu   sync.Mutex
	here *MemoryLinks // nil: nothing has changed
}

func (s *shadowLinks) changed() *MemoryLinks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.here
}

// own copies the base's devices before the first change.
func (s *shadowLinks) own(ctx context.Context) (*MemoryLinks, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here == nil {
		list, err := s.base.List(ctx)
		if err != nil {
			return nil, err
		}
		s.here = NewMemoryLinks(list...)
	}
	return s.here, nil
}

// List is Links.List.
func (s *shadowLinks) List(ctx context.Context) ([]Link, error) {
	if here := s.changed(); here != nil {
		return here.List(ctx)
	}
	return s.base.List(ctx)
}

// Add is Links.Add, in memory.
func (s *shadowLinks) Add(ctx context.Context, l Link) error {
	here, err := s.own(ctx)
	if err != nil {
		return err
	}
	return here.Add(ctx, l)
}

// Change is Links.Change, in memory.
func (s *shadowLinks) Change(ctx context.Context, have, want Link) error {
	here, err := s.own(ctx)
	if err != nil {
		return err
	}
	return here.Change(ctx, have, want)
}

// Delete is Links.Delete, in memory.
func (s *shadowLinks) Delete(ctx context.Context, name string) error {
	here, err := s.own(ctx)
	if err != nil {
		return err
	}
	return here.Delete(ctx, name)
}
