// Package agentcmd is the command line of the agent alone: "tenet agent" without the rest of tenet.
package agentcmd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/runner"
)

const usageText = `usage: tenet-agent join [--state-dir DIR] [--name NAME] [--label NAME=VALUE]…   with a token on standard input
       tenet-agent run [--state-dir DIR] [--poll DURATION]
       tenet-agent leave [--state-dir DIR]
       tenet-agent rotate [--state-dir DIR]           makes other keys for the connection and for secrets
       tenet-agent version
`

// Exit statuses, as tenet's.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 64
)

// Main does what the arguments say, and gives the exit status.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) > 0 && args[0] == "runner" { // it is started again as other accounts
		return runner.Main(args[1:], runner.Process{In: in, Out: out, Err: errs, Environ: os.Environ(), Registry: modules.Standard(), Version: version.String(), Arguments: []string{"runner"}})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, args, in, out, errs)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(errs, "tenet-agent:", diag.Clean(err.Error(), "\n", '�'))
	if hint := diag.HintOf(err); hint != "" {
		fmt.Fprintln(errs, "hint:", diag.Clean(hint, "\n", '�'))
	}
	if _, wrong := errors.AsType[*usageError](err); wrong {
		fmt.Fprint(errs, usageText)
		return exitUsage
	}
	return exitFailed
}

// usageError says that the arguments mean nothing.
type usageError struct{ error }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// labels are flags that may be repeated.
type labels map[string]string

// String is flag.Value's.
func (l labels) String() string { return "" }

// Set is flag.Value's.
func (l labels) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is no NAME=VALUE", text)
	}
	l[name] = value
	return nil
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) error {
	if len(args) == 0 {
		return usage("no command is given")
	}
	if slices.Contains([]string{"help", "--help", "-help", "-h"}, args[0]) {
		_, err := io.WriteString(out, usageText)
		return err
	}
	f := flag.NewFlagSet("tenet-agent", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	given, claimed := f.String("state-dir", "", ""), labels{}
	name, poll := f.String("name", "", ""), f.Duration("poll", 0, "")
	f.Var(claimed, "label", "")
	if err := f.Parse(args[1:]); err != nil {
		return &usageError{err}
	}
	if f.NArg() > 0 {
		return usage("%q is an argument too many", f.Arg(0))
	}
	if args[0] == "version" {
		_, err := fmt.Fprintln(out, "tenet-agent "+version.String())
		return err
	}
	dir, err := runner.StateDir(*given, "", os.Getenv)
	if err != nil {
		return err
	}
	switch args[0] {
	case "join":
		return join(ctx, dir, *name, claimed, in, out)
	case "run", "probe":
		o := daemon.Options{StateDir: dir, Registry: modules.Standard(), Version: version.String(), Name: "tenet-agent", Poll: *poll, Log: func(text string) {
			// Where nobody reads it there is nothing to be done about that.
			_, _ = fmt.Fprintln(errs, time.Now().UTC().Format(time.RFC3339), diag.Clean(text, "", '�'))
		}}
		if args[0] == "probe" {
			return daemon.Try(ctx, o, in, out)
		}
		o.Argv, o.Environ, o.Trial = os.Args, os.Environ(), []string{"probe", "--state-dir", dir}
		return daemon.Run(ctx, o)
	case "leave":
		return daemon.Leave(dir)
	case "rotate":
		return daemon.Rotate(ctx, dir)
	}
	return usage("there is no command %.40q", args[0])
}

// maxToken bounds what is read for a token.
const maxToken = 4 << 10

func join(ctx context.Context, dir, name string, claimed labels, in io.Reader, out io.Writer) error {
	token, err := io.ReadAll(io.LimitReader(in, maxToken))
	if err != nil {
		return err
	}
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return err
		}
	}
	i, err := daemon.Join(ctx, dir, strings.TrimSpace(string(token)), identity.Joining{Name: name, Labels: claimed})
	if err != nil {
		return err
	}
	state, _ := i.State()
	_, err = fmt.Fprintf(out, "this machine has joined as %s, and is %s\n", diag.Clean(i.Name(), "", '�'), state)
	return errors.Join(err, i.Close())
}
