package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Controller is somebody on this machine who drives the run's hosts by ssh: with a
// home of its own, in which are a key and what ssh knows, and a /var of its own. Nothing
// it does is seen outside.
type Controller struct {
	Key string // its public key, as a line of authorized_keys
	// Path is put before PATH.
	Path string
	// Env is added to the environment: NAME=VALUE.
	Env []string

	run      *Run
	dir      string
	realHome string // what home is laid over
}

// enterAs becomes a program in a mount namespace of its own. ssh asks the system for
// the home folder, whatever HOME says.
const enterAs = `mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$2/home" "$3" &&
mount --bind "$2/lib" /var/lib && mount --bind "$2/cache" /var/cache && cd || exit 125
shift 3; exec "$@"`

// Controller makes a controller, whose key no host knows yet. It goes with the run.
func (r *Run) Controller(ctx context.Context) (*Controller, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.dir, "controller-")
	if err != nil {
		return nil, err
	}
	c := &Controller{run: r, dir: dir, realHome: me.HomeDir}
	for _, sub := range []string{"home", "home/.ssh", "lib", "cache"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	key := filepath.Join(c.Home(), ".ssh", "id_ed25519")
	if err := quietly(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", key); err != nil {
		return nil, err
	}
	public, err := os.ReadFile(key + ".pub")
	c.Key = string(bytes.TrimSpace(public))
	return c, err
}

// Home is where its home folder lies on this machine.
func (c *Controller) Home() string { return filepath.Join(c.dir, "home") }

// State is where its /var/lib lies.
func (c *Controller) State() string { return filepath.Join(c.dir, "lib") }

// Trust lets it know the keys of hosts, as if somebody had compared them.
func (c *Controller) Trust(ctx context.Context, hosts ...*Host) error {
	var b strings.Builder
	for _, h := range hosts {
		keys, err := h.Shell(ctx, "cat /etc/ssh/ssh_host_*_key.pub")
		if err != nil || keys.ExitCode != 0 {
			return errors.Join(err, fmt.Errorf("lab: the keys of %s: %s", h.Name, keys.Stderr))
		}
		for line := range strings.Lines(string(keys.Stdout)) {
			if f := strings.Fields(line); len(f) >= 2 {
				fmt.Fprintf(&b, "%s,%s %s %s\n", h.Name, h.Address, f[0], f[1])
			}
		}
	}
	f, err := os.OpenFile(filepath.Join(c.Home(), ".ssh", "known_hosts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.String())
	return errors.Join(err, f.Close())
}

// Authorize lets the controller log in to a host as some of its accounts.
func (c *Controller) Authorize(ctx context.Context, h *Host, accounts ...string) error {
	const script = `key=$1; shift
for account; do
	home=$(getent passwd "$account" | cut -d: -f6) && install -d -m 0700 -o "$account" "$home/.ssh" &&
	echo "$key" >> "$home/.ssh/authorized_keys" && chown "$account:" "$home/.ssh/authorized_keys" || exit
done`
	out, err := h.Exec(ctx, append([]string{"sh", "-ec", script, "sh", c.Key}, accounts...)...)
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("lab: a key for %s: %s", h.Name, out.Stderr)
	}
	return err
}

// Argv is the command line by which whoever is root starts a program as the controller,
// apart from Path and Env.
func (c *Controller) Argv(argv ...string) []string {
	enter := []string{
		"nsenter", "--net=" + filepath.Join(namespaces, c.run.name), "unshare", "--mount",
		"sh", "-c", enterAs, "sh", c.run.dir, c.dir, c.realHome,
	}
	return append(enter, argv...)
}

// command is a program of this machine that the controller starts.
func (c *Controller) command(ctx context.Context, argv []string) *exec.Cmd {
	enter := c.Argv(argv...)
	cmd := exec.CommandContext(ctx, enter[0], enter[1:]...)
	path := os.Getenv("PATH")
	if c.Path != "" {
		path = c.Path + ":" + path
	}
	cmd.Env = append([]string{"HOME=" + c.realHome, "USER=root", "LANG=C.UTF-8", "TERM=dumb", "PATH=" + path}, c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Exec runs a program of this machine as the controller, and waits for it.
func (c *Controller) Exec(ctx context.Context, argv ...string) (Result, error) {
	result, err := collect(ctx, c.command(ctx, argv))
	if err == nil && result.ExitCode == 125 {
		err = fmt.Errorf("%s", result.Stderr)
	}
	if err != nil {
		return result, fmt.Errorf("lab: %s as the controller: %w", argv[0], err)
	}
	return result, nil
}

// Process is a program that the controller has started.
type Process struct {
	cmd      *exec.Cmd
	terminal *os.File // nil: none
	ended    chan struct{}
	err      error

	mu             sync.Mutex
	stdout, stderr bytes.Buffer
	peak           int64
}

// Start starts a program of this machine as the controller. It is killed at the end of
// the context.
func (c *Controller) Start(ctx context.Context, argv ...string) (*Process, error) {
	return c.start(c.command(ctx, argv))
}

// start starts what command has made. Output that goes nowhere yet is kept.
func (c *Controller) start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = p.into(&p.stdout), p.into(&p.stderr)
	}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.cmd.WaitDelay = 5 * time.Second // what it has left may hold its output open
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("lab: start %q as the controller: %w", cmd.Args, err)
	}
	go p.measure()
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

type writer func(data []byte) (int, error)

func (w writer) Write(data []byte) (int, error) { return w(data) }

func (p *Process) into(b *bytes.Buffer) writer {
	return func(data []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return b.Write(data)
	}
}

// measure looks how much memory the program holds. The kernel's own account of a
// process counts what it was before.
func (p *Process) measure() {
	path := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	for {
		if data, err := os.ReadFile(path); err == nil {
			kb, _ := strconv.ParseInt(string(bytes.TrimSuffix(field(data, "VmHWM"), []byte(" kB"))), 10, 64)
			p.mu.Lock()
			p.peak = max(p.peak, kb<<10)
			p.mu.Unlock()
		}
		select {
		case <-p.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Output is what it has printed so far.
func (p *Process) Output() (stdout, stderr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String(), p.stderr.String()
}

// Peak is the most memory that it held so far, in bytes.
func (p *Process) Peak() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak
}

// Await returns once its output has what is asked for.
func (p *Process) Await(ctx context.Context, has func(stdout, stderr string) bool) error {
	for {
		stdout, stderr := p.Output()
		if has(stdout, stderr) {
			return nil
		}
		select {
		case <-p.ended:
			if has(p.Output()) {
				return nil
			}
			return fmt.Errorf("lab: it ended before:\n%s%s", stdout, stderr)
		case <-ctx.Done():
			return fmt.Errorf("lab: %w before:\n%s%s", ctx.Err(), stdout, stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Signal sends it, and not what it has started, a signal.
func (p *Process) Signal(signal syscall.Signal) error { return p.cmd.Process.Signal(signal) }

// Kill ends it, and not what it has started, as nothing else could.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

// KillChildren kills the programs of a name that it has started, and tells how many.
func (p *Process) KillChildren(name string) (n int) {
	for _, child := range childrenOf(p.cmd.Process.Pid) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", child))
		if string(field(data, "Name")) == name && syscall.Kill(child, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// Wait waits for its end. What ended by a signal has the exit code -1.
func (p *Process) Wait(ctx context.Context) (Result, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		stdout, stderr := p.Output()
		return Result{}, fmt.Errorf("lab: it does not end: %w\n%s%s", ctx.Err(), stdout, stderr)
	}
	stdout, stderr := p.Output()
	r := Result{Stdout: []byte(stdout), Stderr: []byte(stderr)}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		r.ExitCode = exit.ExitCode()
	} else if p.err != nil && !errors.Is(p.err, exec.ErrWaitDelay) {
		return r, p.err
	}
	return r, nil
}

// BootAll starts hosts of these names, some at a time. Where one does not boot, none
// is left.
func (r *Run) BootAll(ctx context.Context, names ...string) ([]*Host, error) {
	hosts, errs := make([]*Host, len(names)), make([]error, len(names))
	turns := make(chan struct{}, 4)
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() {
			turns <- struct{}{}
			hosts[i], errs[i] = r.Boot(ctx, name)
			<-turns
		})
	}
	wait.Wait()
	err := errors.Join(errs...)
	if err != nil {
		for _, h := range slices.DeleteFunc(hosts, func(h *Host) bool { return h == nil }) {
			err = errors.Join(err, h.PowerOff())
		}
	}
	return hosts, err
}
