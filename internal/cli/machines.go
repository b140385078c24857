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
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/runtime/wire"
	api "github.com/tenetcm/tenet/server/api/client"
)

// members are hosts as a fleet reaches them, for runs of the site that is named as
// journal.Identity does; empty: for none. Note is told what people should know of one; it
// may be called for several at a time.
func (s *client) members(ctx context.Context, hosts []lang.Host, site string, note func(host, text string)) ([]*fleet.Member, error) {
	password, err := s.becomePassword(ctx)
	if err != nil {
		return nil, err
	}
	client, err := s.sshClient(note)
	if err != nil {
		return nil, err
	}
	list := make([]*fleet.Member, 0, len(hosts))
	gates := &remote.Gates{}
	var server *api.Client // one for all hosts that have agents
	var unknown []func()   // what finds out through what machines are reached
	for _, h := range hosts {
		m := &fleet.Member{Name: h.Name, Groups: h.Groups}
		switch h.Executor {
		case "local":
			own, err := s.newHost()
			if err != nil {
				return nil, err
			}
			if m.Machine, err = s.runner(own); err != nil {
				return nil, err
			}
			m.InProcess = true
		case "ssh":
			if s.globals.Root != "" {
				return nil, usage("leave it out", "--root is a tree of this machine, and %s is another one", h.Name)
			}
			to := s.sshHost(h, password)
			gate := via(slices.Concat(s.globals.SSHOption, to.Options))
			if gate == "" {
				unknown = append(unknown, func() { gate = client.JumpHosts(ctx, to) })
			}
			m.Machine = &remote.Machine{
				Name: h.Name, Caller: s.caller(), Site: site, Registry: modules.Standard(),
				Dial: gates.Dial(func() string { return gate }, func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
					return client.Dial(ctx, to, o)
				}),
			}
		case "agent":
			if s.globals.Root != "" {
				return nil, usage("leave it out", "--root is a tree of this machine, and %s is another one", h.Name)
			}
			if server == nil {
				if server, err = s.serverOfHosts(); err != nil {
					return nil, err
				}
			}
			m.Machine = &remote.Machine{
				Name: h.Name, Caller: s.caller(), Site: site, Registry: modules.Standard(),
				Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
					return server.Dial(ctx, h.Name, o)
				},
			}
		default:
			return nil, usage(`give it executor = "ssh", or leave it out by --limit`, "%s is reached by %s, which is not possible yet", h.Name, h.Executor)
		}
		list = append(list, m)
	}
	// Where so few are reached, it does not matter.
	if len(unknown) > remote.Handshakes && ssh.HasJumpHosts(s.getenv("HOME")) {
		callEach(unknown)
	}
	return list, nil
}

// caller is who asks machines.
func (s *client) caller() machine.Caller {
	return machine.Caller{User: s.user(), From: s.clientAddress(), Command: s.command}
}

// callEach calls functions, as many at a time as there are processors.
func callEach(calls []func()) {
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
		return nil, failure(err)
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
