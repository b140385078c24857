// Package cli is the command line: one client of the library, with one file
// for each command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/evaluate"
)

// Exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1 // something failed
	exitChanges     = 2 // with --detailed-exitcode: there are or were changes
	exitSite        = 3 // the site is wrong
	exitInterrupted = 4
	exitUnreachable = 5 // a host could not be reached
	exitUsage       = 64
)

// Environment is what the program gets from its caller.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // "NAME=value"
	// Exit ends the program at once, where nothing else can; nil: os.Exit.
	Exit func(status int)
	// WorkFactor is the cost of new passphrases, see secrets.Recipients; 0: as strong as
	// they should be.
	WorkFactor int
	// StateDir is where records of runs are kept, unless --state-dir or --root says otherwise; empty: the
	// account's own folder.
	StateDir string
	// Services are what runs for long; nil: there are none.
	Services Services
}

// status is an error that carries the exit status. Nothing is printed for one
// without an error.
type status struct {
	code int
	err  error // whose hint is shown as well
}

// newStatus makes a status; hint may be empty.
func newStatus(code int, err error, hint string) *status {
	return &status{code, &diag.HintError{Err: err, Hint: hint}}
}

// Error gives the message.
func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprint("exit status ", s.code)
	}
	return s.err.Error()
}

// IsRefusal reports whether a host is refused, of which the site is not wrong.
func (s *status) IsRefusal() bool { return s.code == exitFailed }

// Unwrap gives the cause.
func (s *status) Unwrap() error { return s.err }

func usage(hint, format string, args ...any) error {
	return newStatus(exitUsage, fmt.Errorf(format, args...), hint)
}

func failure(err error) error {
	if err == nil {
		return nil
	}
	return &status{code: exitFailed, err: err}
}

// Main runs a command line, and gives the exit status.
func Main(args []string, env Environment) (exit int) {
	defer func() {
		if f := fault.Of(recover()); f != nil {
			fmt.Fprintln(env.Err, "tenet:", f)
			exit = exitFailed
		}
	}()
	if runs(args) {
		return serveHost(args[1:], env)
	}
	if len(args) == 1 && args[0] == evaluate.Argument {
		return evaluateForServer(env)
	}
	args = spell(args)
	g := &grammar{}
	exited := -1
	parser := newParser(g, args, env, func(code int) { exited = code })
	s := &client{console: console{env, &g.Globals}, model: parser.Model}
	parsed, err := parser.Parse(args)
	switch {
	case exited >= 0: // --help
		return exited
	case err != nil:
		s.globals.NoColor = true
		return s.report(usageError(err))
	}
	s.command = parsed.Selected().FullPath()
	if g.JSON {
		s.Out = ui.SafeJSON(s.Out)
	}
	if err := checkEmpty(parsed); err != nil {
		return s.report(err)
	}
	if err := s.checkLimits(); err != nil {
		return s.report(err)
	}
	if err := g.connectFlags.check(); err != nil {
		return s.report(err)
	}
	if err := s.checkHosts(); err != nil {
		return s.report(err)
	}
	if g.Parallel < 0 {
		return s.report(usage("", "--parallel is a number of invocations, not %d", g.Parallel))
	}
	ctx, stop := interruptible(s)
	defer stop()
	defer s.closeCollectors()
	return s.report(parsed.Run(ctx, s))
}

// decodeText takes an argument as it is. Kong's own way would replace bytes that
// are no UTF-8, which a file name may have.
func decodeText(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("text")
	if err != nil {
		return err
	}
	target.SetString(token.String())
	return nil
}

// usageError points to the help of the command that was used wrongly.
func usageError(err error) error {
	hint := "tenet --help lists the commands"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		hint = parse.Context.Selected().FullPath() + " --help shows how it is used"
		switch strings.TrimPrefix(err.Error(), "unknown flag ") {
		case "--check", "--dry-run", "--noop", "--diff", "--test":
			hint = "tenet plan shows what an apply would do"
		}
	}
	return newStatus(exitUsage, err, hint)
}

// runContext is a context as kong hands it to commands.
type runContext struct{ context.Context }

// errInterrupted is the cause of the context that Ctrl-C ends.
var errInterrupted = errors.New("interrupted")

// interruptible ends the context at the first signal, and the program at the
// second.
func interruptible(s *client) (runContext, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that has gone away must not end an apply in its middle: with the
	// signal caught, writing to it fails, and the run goes on.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	fault.Go(func() {
		ended := false
		for sig := range signals {
			if handle := s.interrupts.handler.Load(); handle != nil {
				(*handle)(sig)
				continue
			}
			if ended {
				os.Exit(exitInterrupted)
			}
			ended = true
			if !s.interrupts.onlyLooks.Load() {
				fmt.Fprintln(s.Err, "interrupted: ending what runs; once more ends at once")
			}
			cancel(errInterrupted)
		}
	})
	return runContext{ctx}, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// unread drops the error of writing where nobody reads on, as behind "| head":
// that is no failure.
func unread(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// report prints an error, and gives the exit status.
func (c *console) report(err error) int {
	if err == nil {
		return exitDone
	}
	if unread(err) == nil {
		return exitDone
	}
	st := &status{code: exitFailed, err: err}
	errors.As(err, &st)
	if st.err != nil {
		fmt.Fprintln(c.Err, "tenet: "+ui.Clean(strings.TrimPrefix(st.Error(), "tenet: ")))
		if hint := diag.HintOf(st.err); hint != "" {
			fmt.Fprintln(c.Err, "hint: "+ui.Clean(hint))
		}
	}
	return st.code
}
