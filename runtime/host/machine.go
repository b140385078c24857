package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Machine is what a host is beyond files and programs: what can be asked of an init
// system, of the kernel and of the network, without a program in between. What a host
// lacks is an error that wraps ErrUnsupported and names it.
type Machine interface {
	// Init reaches the init system: that of the machine, or, where user is not
	// empty, the one that runs this account's own services.
	Init(ctx context.Context, user string) (Init, error)
	// Links reaches the network devices.
	Links(ctx context.Context) (links.Devices, error)
	// Network opens connections to others.
	Network() (Network, error)
	// Tune writes a file of the kernel in place, such as one below /proc/sys or
	// /sys. The file must be there.
	Tune(path, value string) error
}

// ErrUnsupported is wrapped where a host has no such ability. It is an
// errors.ErrUnsupported, as which packages below this one know it, without its words.
var ErrUnsupported = fmt.Errorf("this host does not offer it%.0w", errors.ErrUnsupported)

// InitOf reaches a host's init system; see Machine.
func InitOf(ctx context.Context, h Host, user string) (Init, error) {
	return h.Init(ctx, user)
}

// LinksOf reaches a host's network devices; see Machine.
func LinksOf(ctx context.Context, h Host) (links.Devices, error) {
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

func lackError(what string) error { return fmt.Errorf("%s: %w", what, ErrUnsupported) }

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

// Network opens connections from a host to others.
type Network interface {
	// Fetch makes one HTTP request. The caller closes the body.
	Fetch(ctx context.Context, r Request) (*Response, error)
	// Dial opens a connection; network and address are as net.Dial has them, or Echo and an IP address.
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
