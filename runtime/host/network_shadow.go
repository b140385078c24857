package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Network is Machine.Network: what only reads goes through, unless the answer
// depends on what was changed here.
func (s *Shadow) Network() (Network, error) {
	s.trace.lookAt(LookNetwork, "", nil)
	n, err := NetworkOf(s.host)
	return shadowNetwork{s, n}, err
}

type shadowNetwork struct {
	shadow *Shadow
	base   Network
}

// addressOwner is offered by networks that know which names and addresses are the
// machine's own.
type addressOwner interface {
	Near(ctx context.Context, name string) bool
}

// checkAnswerable is an error where somebody on the other side may answer otherwise by
// the time of an apply: the machine itself, whose services follow from all that was
// changed here. By what names are found, and who is trusted, any answer changes.
func (n shadowNetwork) checkAnswerable(ctx context.Context, name string) error {
	for _, path := range []string{"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ssl/certs"} {
		if n.shadow.HasChanged(path) {
			return fmt.Errorf("%w, which change %s", ErrUnanswerable, path)
		}
	}
	near, known := n.base.(addressOwner)
	if !n.shadow.HasChanged("/") || !isLoopback(name) && !(known && near.Near(ctx, name)) {
		return nil
	}
	return fmt.Errorf("%w, since %s is this machine", ErrUnanswerable, name)
}

// Fetch is Network.Fetch.
func (n shadowNetwork) Fetch(ctx context.Context, r Request) (*Response, error) {
	if !r.Reads {
		return nil, ErrUnforeseeable
	}
	if u, err := url.Parse(r.URL); err == nil {
		if err := n.checkAnswerable(ctx, u.Hostname()); err != nil {
			return nil, err
		}
	}
	return n.base.Fetch(ctx, r)
}

// Dial is Network.Dial.
func (n shadowNetwork) Dial(ctx context.Context, network, address string) (io.ReadWriteCloser, error) {
	name := address
	if network == Echo && n.shadow.haveLinksChanged() {
		return nil, fmt.Errorf("%w, which change network devices", ErrUnanswerable)
	}
	if network != Echo {
		var err error
		if name, _, err = net.SplitHostPort(address); err != nil {
			return n.base.Dial(ctx, network, address) // which says what is wrong with it
		}
	}
	if err := n.checkAnswerable(ctx, name); err != nil {
		return nil, err
	}
	return n.base.Dial(ctx, network, address)
}

// isLoopback reports whether a name always means the machine itself.
func isLoopback(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && (a.Unmap().IsLoopback() || a.IsUnspecified())
}

type opaqueNetwork struct{}

func (opaqueNetwork) Fetch(_ context.Context, r Request) (*Response, error) {
	if !r.Reads {
		return nil, ErrUnforeseeable
	}
	return nil, ErrUnanswerable
}

func (opaqueNetwork) Dial(context.Context, string, string) (io.ReadWriteCloser, error) {
	return nil, ErrUnanswerable
}
