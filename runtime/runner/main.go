package runner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Exit statuses of Main.
const (
	exitDone        = 0
	exitFailed      = 1
	exitInterrupted = 4
	exitUsage       = 64
	// ExitDigest says that the program is not the one that was to be started.
	ExitDigest = 97
)

// Process is what a program gets from its caller.
type Process struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string         // "NAME=value"
	Registry *states.Registry // the modules that come with it
	Version  string
	// Arguments are those before what Main is given, with which the program is started
	// once more: "runner".
	Arguments []string
}

const usageText = `usage: runner serve [--facts NAME,…] [--site SITE] [--state-dir DIR] [--root DIR] [--digest SHA256]
       runner resume ID [--state-dir DIR]
       runner become
       runner relay --digest=SHA256 ASK PROMPT PROGRAM ARGUMENT…
`

// Main is the program that acts on hosts: it does what the arguments say, and gives the
// exit status.
func Main(args []string, p Process) int {
	if len(args) == 0 {
		fmt.Fprint(p.Err, usageText)
		return exitUsage
	}
	ctx, stop := untilSignal()
	defer stop()
	var status int
	err := fault.Do(func() (err error) {
		status, err = p.do(ctx, args[0], args[1:])
		return err
	})
	if err != nil {
		return p.status(err)
	}
	return status
}

// do carries out a command. The status is that of the program that it stands for.
func (p *Process) do(ctx context.Context, command string, args []string) (status int, err error) {
	switch command {
	case "serve":
		return exitDone, p.serve(ctx, args)
	case "resume":
		return exitDone, p.resume(ctx, args)
	case "become":
		return exitDone, p.become(ctx, args)
	case "relay":
		return p.relay(ctx, args)
	}
	return 0, usageError("there is no command %q", command)
}

// usageError is the error for wrong usage.
func usageError(format string, args ...any) error {
	return &diag.HintError{Code: machine.CodeUsage, Err: fmt.Errorf(format, args...)}
}

// status prints an error, and gives its exit status.
func (p *Process) status(err error) int {
	fmt.Fprintln(p.Err, "tenet:", printable(err.Error()))
	if hint := diag.HintOf(err); hint != "" {
		fmt.Fprintln(p.Err, "hint:", printable(hint))
	}
	if diag.CodeOf(err) == machine.CodeUsage {
		fmt.Fprint(p.Err, usageText)
		return exitUsage
	}
	if _, damaged := errors.AsType[*DigestError](err); damaged {
		return ExitDigest
	}
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	return exitFailed
}

// printable keeps what a terminal would take for something else away from it.
func printable(s string) string { return diag.Clean(s, "\n", '�') }

var errInterrupted = errors.New("interrupted")

// untilSignal ends the context at a signal to end. That of a terminal or a reader that has
// gone is none: it is caught and dropped, not ignored, since programs that are started
// would inherit that.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped, syscall.SIGHUP, syscall.SIGPIPE)
	fault.Go(func() {
		if _, ok := <-signals; ok {
			cancel(errInterrupted)
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(dropped)
		close(signals)
		cancel(nil)
	}
}

// flags reads the options of a command, which may stand before and behind its arguments.
func (p *Process) flags(args []string, define func(*flag.FlagSet)) (rest []string, err error) {
	f := flag.NewFlagSet("runner", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	define(f)
	for {
		if err := f.Parse(args); err != nil {
			return nil, usageError("%w", err)
		}
		if args = f.Args(); len(args) == 0 {
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// serve does what is asked for over the standard streams.
func (p *Process) serve(ctx context.Context, args []string) error {
	var o wire.Opening
	var names string
	rest, err := p.flags(args, func(f *flag.FlagSet) {
		f.StringVar(&names, "facts", "", "")
		f.StringVar(&o.Site, "site", "", "")
		f.StringVar(&o.StateDir, "state-dir", "", "")
		f.StringVar(&o.Root, "root", "", "")
		f.StringVar(&o.Digest, "digest", "", "")
	})
	if err == nil && len(rest) > 0 {
		err = usageError("serve takes options alone")
	}
	if err != nil {
		return err
	}
	if names != "" {
		o.Facts = strings.Split(names, ",")
	}
	r, err := p.runner(o.StateDir, o.Root)
	if err != nil {
		return err
	}
	r.Login = p.login()
	r.Detach = func() func() { return detachProcess("tenet applies a site") }
	touchRunner()
	r.busy = &atomic.Bool{}
	done := make(chan error, 1)
	fault.Go(func() {
		done <- fault.Do(func() error { return Serve(ctx, wire.New(p.In, p.Out, nil), o, r) })
	})
	select {
	case err = <-done:
		return err
	case <-ctx.Done():
	}
	if !r.busy.Load() { // it waits for the controller, which nothing ends
		return errInterrupted
	}
	return <-done
}

// runner is this machine.
func (p *Process) runner(stateDir, root string) (*Runner, error) {
	dir, err := StateDir(stateDir, root, p.getenv)
	if err != nil {
		return nil, err
	}
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		return nil, err
	}
	r := &Runner{Host: h, StateDir: dir, Root: root, Registry: p.Registry, Program: p.Version, Executable: ownPath()}
	if program := r.Executable; program != "" {
		r.ResumeArgv = func(run string) []string {
			return append(append([]string{program}, p.Arguments...), "resume", run, "--state-dir", dir)
		}
	}
	return r, nil
}

// login is who has logged in to start this: sudo and doas tell whom they serve.
func (p *Process) login() string {
	for _, name := range []string{"SUDO_USER", "DOAS_USER"} {
		if by := p.getenv(name); by != "" {
			return by
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// getenv gives an environment variable, or "".
func (p *Process) getenv(name string) string {
	for _, entry := range p.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// resume goes on with a run after the machine has started anew.
func (p *Process) resume(ctx context.Context, args []string) error {
	var dir string
	rest, err := p.flags(args, func(f *flag.FlagSet) { f.StringVar(&dir, "state-dir", "", "") })
	if err == nil && len(rest) != 1 {
		err = usageError("resume takes the ID of a run")
	}
	if err != nil {
		return err
	}
	r, err := p.runner(dir, "")
	if err != nil {
		return err
	}
	r.Caller = machine.Caller{User: "root", From: "tenet-resume.service", Command: "tenet runner resume"}
	if err := r.Arrived(rest[0]); err != nil {
		return err
	}
	run, err := r.Find(rest[0])
	if err != nil {
		return err
	}
	if run.Root != "" && run.Root != "/" {
		return &diag.HintError{Err: fmt.Errorf("run %s acts on %s, which has not started anew", run.Run, run.Root)}
	}
	result, err := r.Resume(ctx, machine.Resumption{Run: machine.RunRef{ID: run.Run}}, machine.Observer{
		Note: func(n machine.Note) { fmt.Fprintln(p.Err, printable(n.Text)) },
	})
	switch {
	case err != nil:
		return err
	case result.Interrupted:
		return errInterrupted
	case result.Failed:
		return &diag.HintError{Err: fmt.Errorf("run %s has failed", run.Run), Hint: "tenet logs " + run.Run + " shows what"}
	}
	return nil
}

// relay runs a program on a terminal of its own, whose arguments are no options of ours.
func (p *Process) relay(ctx context.Context, args []string) (int, error) {
	if len(args) < 4 {
		return 0, usageError("relay takes what to say, what to wait for, and a program")
	}
	digest, ok := strings.CutPrefix(args[0], "--digest=")
	errs, file := p.Err.(*os.File)
	if !ok || !file {
		return 0, usageError("relay takes --digest first, and has a file as its standard error")
	}
	if err := checkSelf(digest); err != nil {
		return 0, err
	}
	r := privilege.Relay{Ask: args[1], Prompt: args[2], Argv: args[3:], In: p.In, Out: p.Out, Err: errs}
	status, err := r.Run(ctx)
	if err != nil {
		return 0, &diag.HintError{Err: err}
	}
	return status, nil
}

// become lets another runner act as the account of this process.
func (p *Process) become(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usageError("become takes no arguments")
	}
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		return err
	}
	return become.Serve(ctx, p.In, p.Out, h)
}
