// Package daemon is the agent as a process on its host: who it is, its link, the machine that it runs on.
package daemon

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/agent/programs"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/link/nats"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Options say what an agent works with.
type Options struct {
	StateDir string           // of the machine; the agent's own records are in its folder "agent"
	Host     runner.Host      // nil: this machine
	Registry *states.Registry // the modules that come with the program
	Version  string
	Volatile bool              // records need not outlive a crash
	Poll     time.Duration     // how often to look whether the host is as wanted; 0: as usual
	Retry    time.Duration     // about how long to wait at first before something is tried again; 0: as usual
	Log      func(text string) // what people may want to know; nil: nobody
	// Name is what releases call the program, Argv and Environ how it was started, and Trial the arguments with which it does what Try of this
	// package does. No Argv: the server can have no other program follow.
	Name          string
	Argv, Environ []string
	Trial         []string
	Executable    string // the path of this program; empty: as the system says
	// Step is of programs.Folder. For tests.
	Step func(name string)
}

// Folder is where the agent's own records are.
func Folder(stateDir string) string { return filepath.Join(stateDir, "agent") }

// identityFolder is where its keys are.
func identityFolder(stateDir string) string { return filepath.Join(Folder(stateDir), "identity") }

// Join asks a server to take the host in, and waits until it has.
func Join(ctx context.Context, stateDir, token string, j identity.Joining) (*identity.Identity, error) {
	dir := identityFolder(stateDir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	return identity.Join(ctx, dir, token, j, identity.Options{})
}

// Load opens the identity of a host that has joined a server.
func Load(stateDir string) (*identity.Identity, error) {
	return identity.Load(identityFolder(stateDir), identity.Options{})
}

// Leave forgets the server, and all that only it needs: what was applied stays as it is, and so do the records of runs.
func Leave(stateDir string) error {
	if _, err := os.Lstat(Folder(stateDir)); errors.Is(err, fs.ErrNotExist) {
		return &diag.HintError{Message: "this machine has joined no server", Hint: "was it by another account, or with another --state-dir?"}
	}
	return os.RemoveAll(Folder(stateDir))
}

// Run runs the agent until the context ends. Where another program is the one to run, this process becomes that.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	for {
		d := &daemon{Options: o, instance: rand.Text()}
		if err := d.findPrograms(); err != nil {
			return err
		}
		if d.programs != nil {
			d.programs.Launch(d.own, o.Argv, o.Environ, o.Log)
		}
		if err := d.run(ctx); !errors.Is(err, agent.ErrRestart) {
			return err
		}
	}
}

// run runs this program.
func (d *daemon) run(ctx context.Context) error {
	who, err := Load(d.StateDir)
	if err != nil {
		return err
	}
	defer who.Close()
	d.who = who
	if err := d.open(); err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	var wait fault.Group
	wait.Go(func() { d.renew(running) })
	err = d.agent.Run(ctx)
	cancel()
	wait.Wait()
	if err == nil && d.programs != nil {
		err = d.programs.End(d.own)
	}
	return err
}

// daemon is a running agent.
type daemon struct {
	Options
	who      *identity.Identity
	instance string
	agent    *agent.Agent
	programs *programs.Folder // nil: there is only this program
	own      programs.Own
}

func (d *daemon) open() (err error) {
	o, r, err := d.options()
	if err != nil {
		return err
	}
	if d.agent, err = agent.New(o); err == nil {
		r.Files, r.Unseal = d.agent.Files, d.agent.Unseal
	}
	return err
}

// options are what the agent works with, of which its machine is a part.
func (d *daemon) options() (o agent.Options, r *runner.Runner, err error) {
	if d.Host == nil {
		if d.Host, err = host.NewLocal(host.LocalOptions{}); err != nil {
			return o, nil, err
		}
	}
	r = &runner.Runner{Host: d.Host, StateDir: d.StateDir, Registry: d.Registry, Program: d.Version, Volatile: d.Volatile,
		// The agent starts with the machine, and goes on with what a reboot has interrupted.
		Continue: func(context.Context) (func() error, error) { return func() error { return nil }, nil },
	}
	if own, err := os.Executable(); err == nil {
		r.Executable = own
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return o, nil, err
	}
	o = agent.Options{
		Dir: Folder(d.StateDir), Identity: d.who, Unsealing: d.who.Unsealing, Connect: d.connect, Fetch: d.who.Fetch, Machine: r, Registry: d.Registry,
		StateDir: d.StateDir, Boot: strings.TrimSpace(string(boot)), Poll: d.Poll, RetryBase: d.Retry, Log: func(err error) { d.say(err) },
		Serve: func(ctx context.Context, c *wire.Conn, o wire.Opening) error { return runner.Serve(ctx, c, o, r) },
		Own:   d.own, Programs: d.programs, Try: d.try,
	}
	for _, variable := range d.Environ {
		if value, ok := strings.CutPrefix(variable, "OTEL_EXPORTER_OTLP_HEADERS="); ok {
			o.OTLPHeaders = value
		}
	}
	if d.Name != "" {
		o.Program = &trust.Running{Name: d.Name, Version: d.Version, OS: goruntime.GOOS, Arch: goruntime.GOARCH}
	}
	return o, r, nil
}

// say logs what went wrong, with what helps.
func (d *daemon) say(err error) {
	text := err.Error()
	if hint := diag.HintOf(err); hint != "" {
		text += " (" + hint + ")"
	}
	d.Log(text)
}

// connect begins the link.
func (d *daemon) connect(h link.Handler) (link.Link, error) {
	return nats.Dial(nats.Config{
		Address: link.Address{Host: d.who.ID(), Instance: d.instance}, Connection: func() string { return d.who.Keys().Connection },
		Endpoints: func() ([]string, error) {
			endpoints, _ := d.who.Brokers()
			if len(endpoints) == 0 {
				return nil, fmt.Errorf("the server has not said yet where agents connect")
			}
			return endpoints, nil
		},
		Credential: func() (string, error) {
			_, credential := d.who.Brokers()
			return credential, nil
		},
		Authorities: d.authorities,
		Sign: func(nonce []byte) ([]byte, error) {
			signature, _, err := d.who.SignNonce(nonce)
			return signature, err
		},
	}, h)
}

// authorities are the CAs that the newest trust document names, and those of brokers elsewhere: by them the server itself is not trusted.
func (d *daemon) authorities() (*x509.CertPool, error) {
	chain, err := d.who.Chain()
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	document := chain.Newest()
	if document == nil {
		return nil, fmt.Errorf("this host trusts no server yet")
	}
	for _, der := range slices.Concat(document.Authorities, d.who.BrokerAuthorities()) {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("a CA that the broker may show: %w", err)
		}
		pool.AddCert(certificate)
	}
	return pool, nil
}

var _ agent.Identity = (*identity.Identity)(nil)
