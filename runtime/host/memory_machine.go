package host

import (
	"context"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// SetInit gives a Memory an init system, or one for each account: it is asked as
// Machine.Init is.
func (m *Memory) SetInit(of func(ctx context.Context, user string) (Init, error)) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.init = of
}

// Init is Machine.Init.
func (m *Memory) Init(ctx context.Context, user string) (Init, error) {
	m.guard.RLock()
	of := m.init
	m.guard.RUnlock()
	if of == nil {
		return nil, lackError("an init system")
	}
	return of(ctx, user)
}

// SetLinks gives a Memory network devices.
func (m *Memory) SetLinks(l links.Devices) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.links = l
}

// Links is Machine.Links.
func (m *Memory) Links(context.Context) (links.Devices, error) {
	m.guard.RLock()
	defer m.guard.RUnlock()
	if m.links == nil {
		return nil, lackError("network devices")
	}
	return m.links, nil
}

// SetNetwork gives a Memory a network.
func (m *Memory) SetNetwork(n Network) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.network = n
}

// Network is Machine.Network.
func (m *Memory) Network() (Network, error) {
	m.guard.RLock()
	defer m.guard.RUnlock()
	if m.network == nil {
		return nil, lackError("a network")
	}
	return m.network, nil
}

// Tune is Machine.Tune, in memory: as the kernel shows it, with a line's end.
func (t *tree) Tune(path, value string) error {
	info, err := t.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Kind != Regular:
		return pathError("write", path, syscall.EINVAL)
	}
	return t.writeFile(context.Background(), path, Text(value+"\n"), Meta{}, false)
}
