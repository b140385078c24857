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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fault"
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
}

// grammar is the whole command line.
type grammar struct {
	Globals

	Init       initCmd       `cmd:"" help:"Write a small site, or a component, to begin with."`
	Plan       planCmd       `cmd:"" help:"Show what apply would do."`
	Apply      applyCmd      `cmd:"" help:"Bring this machine, or hosts, into the declared state."`
	Show       showCmd       `cmd:"" help:"Show a saved plan."`
	Watch      watchCmd      `cmd:"" help:"Apply a site, or look for what has drifted, now and at intervals."`
	Validate   validateCmd   `cmd:"" help:"Check a site, and report all that is wrong with it."`
	Test       testCmd       `cmd:"" help:"Test sites on simulated machines."`
	Fmt        fmtCmd        `cmd:"" help:"Rewrite state files in the canonical layout."`
	Compile    compileCmd    `cmd:"" help:"Print what a site compiles to, in the order in which it runs."`
	Graph      graphCmd      `cmd:"" help:"Draw the graph of a site."`
	Inspect    inspectCmd    `cmd:"" help:"Show a site's variables and states, and where they come from."`
	Why        whyCmd        `cmd:"" help:"Explain why something runs, and when."`
	Facts      factsCmd      `cmd:"" help:"Show what is known about this machine, or about hosts."`
	Doc        docCmd        `cmd:"" help:"Describe types of parts, words, options, functions and components."`
	Import     importCmd     `cmd:"" help:"Declare what stands on this machine already."`
	Do         doCmd         `cmd:"" help:"Apply one part, ad hoc, here or on hosts."`
	Ping       pingCmd       `cmd:"" help:"Tell whether hosts can be reached and used."`
	Exec       execCmd       `cmd:"" help:"Run a command on this machine, or on hosts."`
	History    historyCmd    `cmd:"" help:"List the runs on this machine, or on hosts."`
	Status     statusCmd     `cmd:"" help:"Show how things stand on this machine or on hosts, or how a run ended."`
	Logs       logsCmd       `cmd:"" help:"Show what a run did."`
	Hold       holdCmd       `cmd:"" help:"Let nobody apply here, or on hosts, for now; plans still work."`
	Unhold     unholdCmd     `cmd:"" help:"Let applies start again."`
	Forget     forgetCmd     `cmd:"" help:"Let go of what a site has created, and of what a handler is owed."`
	Clean      cleanCmd      `cmd:"" help:"Remove records of former runs."`
	Runner     runnerCmd     `cmd:"" help:"Build what acts on hosts."`
	Secret     secretCmd     `cmd:"" help:"Keep the secrets of a site, encrypted."`
	Version    versionCmd    `cmd:"" help:"Show the version."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
}

// Globals are the flags of every command.
type Globals struct {
	Limit       string        `short:"l" help:"Take these hosts of the site: names, globs, @GROUP, @rest:EXECUTION, !NOT, with commas." placeholder:"HOSTS" group:"selection"`
	Tags        []string      `help:"Take what carries one of these tags, with all it requires." placeholder:"TAG" group:"selection"`
	Target      []string      `help:"Take what has this address, with all it requires." placeholder:"ADDR" sep:"none" group:"selection"`
	Exclude     []string      `help:"Leave out what has this address, and all that requires it." placeholder:"ADDR" sep:"none" group:"selection"`
	Var         []string      `help:"Give a variable a value." placeholder:"NAME=VALUE" sep:"none" group:"values"`
	VarFile     []string      `help:"Give variables values from a file." placeholder:"FILE" sep:"none" group:"values"`
	Facts       string        `name:"facts" help:"Take the facts from a JSON file, in place of this machine's." placeholder:"FILE" group:"values"`
	Identity    []string      `name:"identity" help:"Open secrets with the private key in this file." placeholder:"FILE" sep:"none" group:"values"`
	EvalTimeout time.Duration `help:"How long the evaluation of a site may take." default:"10s" placeholder:"DURATION" group:"values"`
	EvalMemory  string        `help:"How much memory the evaluation of a site may take." default:"1GiB" placeholder:"SIZE" group:"values"`
	StateDir    string        `help:"Keep the records of runs in this directory." placeholder:"DIR" group:"host"`
	Root        string        `help:"Act on the tree below this directory." placeholder:"DIR" group:"host"`
	Parallel    int           `help:"How many invocations run at once." placeholder:"N" group:"host"`
	reaching
	JSON    bool        `name:"json" help:"Print JSON." group:"output"`
	Quiet   bool        `short:"q" help:"Print failures and the sum only." group:"output"`
	NoColor bool        `help:"Print no colours." group:"output"`
	Version versionFlag `help:"Show the version." group:"output"`
	Verbose bool        `short:"v" help:"Print what stays as it is, too." group:"output"`
}

// status is an error that carries the exit status. Nothing is printed for one
// without an error.
type status struct {
	code int
	err  error
	hint string
}

// Error gives the message.
func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprint("exit status ", s.code)
	}
	return s.err.Error()
}

// Unwrap gives the cause.
func (s *status) Unwrap() error { return s.err }

func usage(hint, format string, args ...any) error {
	return &status{code: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

func failed(err error) error {
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
	g := &grammar{}
	exited := -1
	parser, err := kong.New(g,
		kong.Name("tenet"),
		kong.Description("Brings machines into a declared state and keeps them there."),
		kong.Writers(env.Out, env.Err),
		kong.Exit(func(code int) { exited = code }),
		kong.KindMapper(reflect.String, kong.MapperFunc(decodeText)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "selection", Title: "Selection:"}, {Key: "values", Title: "Values:"},
			{Key: "host", Title: "Host:"},
			{Key: "hosts", Title: "Hosts:"}, {Key: "output", Title: "Output:"},
		}),
	)
	if err != nil {
		panic("cli: the grammar is wrong: " + err.Error())
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "test":
		args = slices.Clone(args)
		for i, arg := range args {
			if arg == "-update" { // as go test has it
				args[i] = "--update"
			}
		}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	s := &client{Environment: env, globals: &g.Globals, model: parser.Model}
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
	if err := g.reaching.check(); err != nil {
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
	return &status{code: exitUsage, err: err, hint: hint}
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
			fmt.Fprintln(s.Err, "interrupted: ending what runs; once more ends at once")
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
func (s *client) report(err error) int {
	if err == nil {
		return exitDone
	}
	if unread(err) == nil {
		return exitDone
	}
	st := &status{code: exitFailed, err: err}
	errors.As(err, &st)
	if st.err != nil {
		fmt.Fprintln(s.Err, "tenet: "+ui.Clean(strings.TrimPrefix(st.Error(), "tenet: ")))
		if st.hint != "" {
			fmt.Fprintln(s.Err, "hint: "+ui.Clean(st.hint))
		}
	}
	return st.code
}
