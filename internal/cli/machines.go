package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/runtime/wire"
)

// meant is the hosts that a command is about.
type meant struct {
	site     *site            // that declares them, loaded but not evaluated
	hosts    []lang.Host      // selected, in its order
	machines []*fleet.Machine // the same
	// untouched are hosts of an execution that never came to it.
	untouched []string
}

// names are those of the hosts.
func (m *meant) names() []string {
	names := make([]string, 0, len(m.hosts))
	for i := range m.hosts {
		names = append(names, m.hosts[i].Name)
	}
	return names
}

// onHosts reports whether a command is about hosts of a site, and not about this
// machine.
func (s *client) onHosts() bool { return s.globals.Limit != "" || s.globals.Inventory != "" }

// fleetOf gives the hosts that --limit and --inventory select.
func (s *client) fleetOf(ctx context.Context) (*meant, error) {
	path := s.globals.Inventory
	if path == "" {
		path = "."
	}
	s.secretsHidden = true
	c, err := s.loadBy(ctx, path, s.openInventory)
	if err != nil {
		return nil, err
	}
	if found := c.lang.Found(); found.HasErrors() { // a host may be meant that is not as it is written
		return nil, s.diagnose(c, found)
	}
	hosts, err := s.selected(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, usage("declare some: host \"web1\" {}; without -i and -l the command is about this machine", "%s declares no hosts", path)
	}
	machines, err := s.machines(ctx, hosts, s.noteHost)
	return &meant{site: c, hosts: hosts, machines: machines}, err
}

// machines are hosts as a fleet reaches them. Note is told what people should know of
// one; it may be called for several at a time.
func (s *client) machines(ctx context.Context, hosts []lang.Host, note func(host, text string)) ([]*fleet.Machine, error) {
	password, err := s.becomePassword(ctx)
	if err != nil {
		return nil, err
	}
	client, err := s.sshClient(note)
	if err != nil {
		return nil, err
	}
	list := make([]*fleet.Machine, 0, len(hosts))
	var unsaid []func() // what finds out through what machines are reached
	for _, h := range hosts {
		m := &fleet.Machine{Name: h.Name, Groups: h.Groups}
		switch h.Executor {
		case "local":
			m.Dial, m.InProcess = s.dialLocal, true
		case "ssh":
			if s.globals.Root != "" {
				return nil, usage("leave it out", "--root is a tree of this machine, and %s is another one", h.Name)
			}
			to := s.sshHost(h, password)
			if m.Via = via(slices.Concat(s.globals.SSHOption, to.Options)); m.Via == "" {
				unsaid = append(unsaid, func() { m.Via = client.JumpHosts(ctx, to) })
			}
			m.Dial = func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
				return client.Dial(ctx, to, o)
			}
		default:
			return nil, usage(`give it executor = "ssh", or leave it out by --limit`, "%s is reached by %s, which is not possible yet", h.Name, h.Executor)
		}
		list = append(list, m)
	}
	// Where so few are reached, it does not matter.
	if len(unsaid) > fleet.Handshakes && ssh.HasJumpHosts(s.getenv("HOME")) {
		each(unsaid)
	}
	return list, nil
}

// each calls functions, as many at a time as there are processors.
func each(calls []func()) {
	var wait fault.Group
	places := make(chan struct{}, goruntime.GOMAXPROCS(0))
	for _, call := range calls {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			call()
		})
	}
	wait.Wait()
}

// sshClient starts runners by OpenSSH.
func (s *client) sshClient(note func(host, text string)) (*ssh.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failed(err)
	}
	var dirs []string
	if s.globals.RunnerDir != "" {
		dirs = append(dirs, s.globals.RunnerDir)
	}
	var digests string
	if cache := s.cacheDir(); cache != "" {
		dirs = append(dirs, filepath.Join(cache, "runners", version()))
		digests = filepath.Join(cache, "runners", "digests.json")
	}
	return &ssh.Client{
		Options: s.globals.SSHOption, Timeout: s.globals.ConnectTimeout, Note: note,
		Runners: &ssh.Runners{Dirs: append(dirs, filepath.Dir(self)), Self: self, Version: version(), Digests: digests, Builder: s.runnerBuilder("")},
	}, nil
}

// cacheDir is where this user's caches are; "" where nobody says so.
func (s *client) cacheDir() string {
	switch {
	case filepath.IsAbs(s.getenv("XDG_CACHE_HOME")):
		return filepath.Join(s.getenv("XDG_CACHE_HOME"), "tenet")
	case s.getenv("HOME") != "":
		return filepath.Join(s.getenv("HOME"), ".cache", "tenet")
	}
	return ""
}

// sshHost is how OpenSSH reaches a host.
func (s *client) sshHost(h lang.Host, password string) ssh.Host {
	to := ssh.Host{Name: h.Name, Address: h.Address, Port: h.Port, User: h.User, Options: h.SSHOptions, Cache: h.RunnerCache}
	if h.Become != "" {
		to.Become = ssh.Become{User: h.Become, Method: cmp.Or(s.globals.BecomeMethod, h.BecomeMethod), Password: password}
	}
	return to
}

// via names the jump host that options tell of, or nothing.
func via(options []string) string {
	for _, option := range options { // of several, OpenSSH takes the first
		name, value, _ := strings.Cut(option, "=")
		if strings.EqualFold(strings.TrimSpace(name), "ProxyJump") && value != "none" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// dialLocal starts a runner for this machine, in this process.
func (s *client) dialLocal(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	h, err := s.newHost()
	if err != nil {
		return nil, nil, err
	}
	r, err := s.runner(h)
	if err != nil {
		return nil, nil, err
	}
	return runner.Local(r)(ctx, o)
}
