package host

import (
	"context"
	"syscall"
)

// Equip gives a Memory what only a real machine has; what is not offered there
// is ErrUnsupported.
func (m *Memory) Equip(e Equipment) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.equipment = e
}

func (m *Memory) equipped() Equipment {
	m.guard.RLock()
	defer m.guard.RUnlock()
	if m.equipment == nil {
		return bare{}
	}
	return m.equipment
}

// Init is Machine.Init.
func (m *Memory) Init(ctx context.Context, user string) (Init, error) {
	return m.equipped().Init(ctx, user)
}

// EquipLinks gives a Memory network devices, whatever else it is equipped with.
func (m *Memory) EquipLinks(l Links) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.links = l
}

// Links is Machine.Links.
func (m *Memory) Links(ctx context.Context) (Links, error) {
	m.guard.RLock()
	links := m.links
	m.guard.RUnlock()
	if links != nil {
		return links, nil
	}
	return m.equipped().Links(ctx)
}

// Connect gives a Memory a network, whatever else its equipment is.
func (m *Memory) Connect(n Network) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.network = n
}

// Network is Machine.Network.
func (m *Memory) Network() (Network, error) {
	m.guard.RLock()
	n := m.network
	m.guard.RUnlock()
	if n != nil {
		return n, nil
	}
	return m.equipped().Network()
}

// bare is an Equipment without anything.
type bare struct{}

func (bare) Init(context.Context, string) (Init, error) { return nil, lacks("an init system") }
func (bare) Links(context.Context) (Links, error)       { return nil, lacks("network devices") }
func (bare) Network() (Network, error)                  { return nil, lacks("a network") }

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

// Init is Machine.Init; the watcher is told before a service is touched.
func (w *watched) Init(ctx context.Context, user string) (Init, error) {
	i, err := InitOf(ctx, w.Host, user)
	return watchedInit{i, w.watcher}, err
}

// Links is Machine.Links; the watcher is told before a device is touched.
func (w *watched) Links(ctx context.Context) (Links, error) {
	l, err := LinksOf(ctx, w.Host)
	return watchedLinks{l, w.watcher}, err
}

// Tune is Machine.Tune.
func (w *watched) Tune(path, value string) error {
	return w.in("write", path, syscall.EISDIR, func(Place) error { return w.Host.Tune(path, value) })
}

type watchedInit struct {
	Init
	watcher Watcher
}

func (w watchedInit) Do(ctx context.Context, verb Verb, name string) error {
	w.watcher.Run()
	return w.Init.Do(ctx, verb, name)
}

func (w watchedInit) Refresh(ctx context.Context) error {
	w.watcher.Run()
	return w.Init.Refresh(ctx)
}

type watchedLinks struct {
	Links
	watcher Watcher
}

func (w watchedLinks) Add(ctx context.Context, l Link) error {
	w.watcher.Run()
	return w.Links.Add(ctx, l)
}

func (w watchedLinks) Change(ctx context.Context, have, want Link) error {
	w.watcher.Run()
	return w.Links.Change(ctx, have, want)
}

func (w watchedLinks) Delete(ctx context.Context, name string) error {
	w.watcher.Run()
	return w.Links.Delete(ctx, name)
}
