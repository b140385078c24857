package become

import (
	"context"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// Network is host.Machine.Network: no account has one of its own.
func (m *machine) Network() (host.Network, error) { return host.NetworkOf(m.local) }

// Init is host.Machine.Init.
func (m *machine) Init(ctx context.Context, user string) (host.Init, error) {
	r, _, err := m.ask(ctx, call{Op: "init", User: user})
	if err != nil {
		return nil, err
	}
	return &services{m, user, string(r.Text)}, nil
}

// services is the init system, as the other process reaches it.
type services struct {
	*machine
	user   string
	system string
}

// System is host.Init.System.
func (s *services) System() string { return s.system }

// Services is host.Init.Services.
func (s *services) Services(ctx context.Context) ([]host.Service, error) {
	r, _, err := s.ask(ctx, call{Op: "services", User: s.user})
	return r.Services, err
}

// Service is host.Init.Service.
func (s *services) Service(ctx context.Context, name string) (host.Service, error) {
	r, _, err := s.ask(ctx, call{Op: "service", User: s.user, Path: text(name)})
	if len(r.Services) != 1 {
		return host.Service{Name: name}, err
	}
	return r.Services[0], err
}

// Do is host.Init.Do.
func (s *services) Do(ctx context.Context, verb host.Verb, name string) error {
	_, _, err := s.ask(ctx, call{Op: "service_do", User: s.user, Verb: verb, Path: text(name)})
	return err
}

// Refresh is host.Init.Refresh.
func (s *services) Refresh(ctx context.Context) error {
	_, _, err := s.ask(ctx, call{Op: "init_refresh", User: s.user})
	return err
}

// Links is host.Machine.Links.
func (m *machine) Links(ctx context.Context) (links.Devices, error) {
	if _, _, err := m.ask(ctx, call{Op: "links"}); err != nil {
		return nil, err
	}
	return &devices{m}, nil
}

// devices are the network devices, as the other process reaches them.
type devices struct{ *machine }

// List is links.Devices.List.
func (d *devices) List(ctx context.Context) ([]links.Link, error) {
	r, _, err := d.ask(ctx, call{Op: "links"})
	return r.Links, err
}

// Add is links.Devices.Add.
func (d *devices) Add(ctx context.Context, l links.Link) error {
	_, _, err := d.ask(ctx, call{Op: "link_add", Links: [2]links.Link{l}})
	return err
}

// Change is links.Devices.Change.
func (d *devices) Change(ctx context.Context, have, want links.Link) error {
	_, _, err := d.ask(ctx, call{Op: "link_change", Links: [2]links.Link{have, want}})
	return err
}

// Delete is links.Devices.Delete.
func (d *devices) Delete(ctx context.Context, name string) error {
	_, _, err := d.ask(ctx, call{Op: "link_delete", Path: text(name)})
	return err
}
