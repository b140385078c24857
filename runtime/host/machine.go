package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Machine is what a host is beyond files and programs: what can be asked of an init
// system, of the kernel and of the network, without a program in between. What a host
// lacks is an error that wraps ErrUnsupported and names it.
type Machine interface {
	// Init reaches the init system: that of the machine, or, where user is not
	// empty, the one that runs this account's own services.
	Init(ctx context.Context, user string) (Init, error)
	// Links reaches the network devices.
	Links(ctx context.Context) (Links, error)
	// Network opens connections to others.
	Network() (Network, error)
	// Tune writes a file of the kernel in place, such as one below /proc/sys or
	// /sys. The file must be there.
	Tune(path, value string) error
}

// ErrUnsupported is wrapped where a host has no such ability.
var ErrUnsupported = errors.New("this host does not offer it")

// InitOf reaches a host's init system; see Machine.
func InitOf(ctx context.Context, h Host, user string) (Init, error) {
	return h.Init(ctx, user)
}

// LinksOf reaches a host's network devices; see Machine.
func LinksOf(ctx context.Context, h Host) (Links, error) {
	return h.Links(ctx)
}

// NetworkOf reaches a host's network; see Machine.
func NetworkOf(h Host) (Network, error) {
	return h.Network()
}

// Tune writes a file of a host's kernel; see Machine.
func Tune(h Host, path, value string) error {
	return h.Tune(path, value)
}

func lacks(what string) error { return fmt.Errorf("%s: %w", what, ErrUnsupported) }

// Init is an init system and the services that it runs. Names are whole, such as
// nginx.service where the init system is systemd, and nginx elsewhere.
type Init interface {
	// System names it: systemd, openrc or sysv.
	System() string
	// Services lists what it knows.
	Services(ctx context.Context) ([]Service, error)
	// Service tells about one; fs.ErrNotExist: it is not known.
	Service(ctx context.Context, name string) (Service, error)
	// Do carries out a verb on a service, and returns when that is done: a service
	// that was started runs then. What it did not do is a *ServiceError.
	Do(ctx context.Context, verb Verb, name string) error
	// Refresh makes it read its own files anew.
	Refresh(ctx context.Context) error
}

// Verb is what is done to a service.
type Verb string

// The verbs.
const (
	Start   Verb = "start"
	Stop    Verb = "stop"
	Restart Verb = "restart"
	Reload  Verb = "reload"
	Enable  Verb = "enable"
	Disable Verb = "disable"
	Mask    Verb = "mask"
	Unmask  Verb = "unmask"
)

// Service is what an init system says about a service. The words are systemd's;
// another init system says the like of them.
type Service struct {
	Name       string
	Load       string // loaded, not-found, masked, bad-setting, error
	Active     string // active, inactive, failed, activating, …; empty: no init system runs
	Sub        string
	Result     string // success, or why the last run failed
	Type       string // simple, notify, oneshot, …
	Enablement string // enabled, disabled, static, masked, …
	CanReload  bool
	NeedReload bool // its files have changed since they were read
}

// Runs reports whether the service runs.
func (s Service) Runs() bool { return s.Active == "active" || s.Active == "reloading" }

// Links are the network devices of a machine.
type Links interface {
	// List gives all devices, by their index.
	List(ctx context.Context) ([]Link, error)
	// Add makes a device of Kind; what Link leaves open is the kernel's choice.
	Add(ctx context.Context, l Link) error
	// Change gives a device what the second Link holds and the first one, as it
	// was listed, does not.
	Change(ctx context.Context, have, want Link) error
	// Delete removes a device.
	Delete(ctx context.Context, name string) error
}

// Link is one network device. In a wish, nil and empty leave things as they are.
type Link struct {
	Name   string
	Kind   string // bridge, gre, can, veth, …; empty: a real device
	Up     *bool  // as somebody has set it, whether or not there is a carrier
	MTU    *int
	MAC    string
	Master *string // the bridge that it is a port of; "": of none
	// Addresses are those that somebody has given it to stay, with the length of
	// the prefix, such as 192.0.2.1/24 or 192.0.2.1 peer 192.0.2.2/32; nil in a wish:
	// as they are. An IPv6 address may be lost as a device goes down: then the
	// wish brings it back.
	Addresses []string
	// Passing are the others, which List tells and nobody sets: those with a
	// lifetime (DHCP, router advertisements), and those that the kernel makes
	// (link-local, loopback).
	Passing []string
	// Options are those of its kind: of a bridge stp, forward_delay, vlan_filtering;
	// of gre, gretap, ip6gre and ip6gretap local, remote, ttl, key ("": none); of can
	// bitrate, sample_point, data_bitrate, data_sample_point, fd, listen_only,
	// loopback, restart_ms.
	Options map[string]string
}

// Network opens connections from a host to others.
type Network interface {
	// Fetch makes one HTTP request. The caller closes the body.
	Fetch(ctx context.Context, r Request) (*Response, error)
	// Dial opens a connection; network and address are as net.Dial has them.
	Dial(ctx context.Context, network, address string) (io.ReadWriteCloser, error)
}

// Request is one HTTP request. A Shadow lets it through only if it Reads.
type Request struct {
	Method  string // empty: GET
	URL     string // http or https
	Header  map[string]string
	Body    []byte
	Reads   bool          // the caller promises that it changes nothing
	Stay    bool          // a redirect is the answer, and is not followed
	CA      []byte        // certificates (PEM) that are trusted instead of the host's
	Proxy   string        // URL of the proxy to go through; empty: none
	Timeout time.Duration // until the answer's header is there, and without a byte of its body; 0: 30 s
}

// Response is the answer to a request, whatever its status.
type Response struct {
	Status int
	Header map[string][]string // names in canonical form, such as Content-Type
	Body   io.ReadCloser
	URL    string // where the answer came from, after redirects
}
