// Package command is the module "command": a program that is run.
package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Command is one program to run, and what it said.
type Command struct {
	Argv    []string          `state:"argv" doc:"Program and arguments, handed over as they are: no shell, no quoting."`
	Shell   *string           `state:"shell" doc:"Text for /bin/sh -c, in place of argv. Whatever is put into it is read by the shell."`
	Creates *string           `state:"creates,path" doc:"Path that the command creates: where it exists the command is not run, and it must exist afterwards."`
	Removes *string           `state:"removes,path" doc:"Path that the command removes: where it is missing the command is not run, and it must be missing afterwards."`
	Env     map[string]string `state:"env" doc:"Environment variables, beside the host's default ones."`
	Dir     *string           `state:"dir,within" doc:"Working directory, / by default. A part that sets it up comes before."`
	User    *string           `state:"user,of_user" doc:"Name of the user to run as."`
	Stdin   *string           `state:"stdin,sensitive" doc:"Text that the command reads from its standard input. It is never shown."`
	Plan    *bool             `state:"plan" doc:"Promises that the command only reads. It then runs in a plan too, and is never a change."`
	Reads   []string          `state:"reads,path" doc:"With plan: the paths whose content the answer depends on, directories with all below them. Where earlier steps of a plan touch them, the answer is known only after apply. Without it, any path counts."`
	Writes  []string          `state:"writes,path" doc:"Promises that the command changes nothing but these paths, directories with all below them, and what creates and removes name: no account, service, package or setting of the kernel either. What looks elsewhere stays certain in a plan. An empty list: it changes nothing on this host. Without it, it may change anything."`

	ChangedIf *states.Condition `state:"changed_if,in" doc:"Whether the command has changed something, decided by what it said: an expression over result, such as result.stdout != \"up to date\"."`
	FailedIf  *states.Condition `state:"failed_if,in" doc:"Whether it has failed, in place of an exit status other than 0: an expression over result, such as result.exit_code > 1."`

	Stdout   *string `state:"stdout,out" doc:"What the command wrote to its standard output, up to 1 MiB."`
	Stderr   *string `state:"stderr,out" doc:"What the command wrote to its standard error, up to 1 MiB."`
	ExitCode *int    `state:"exit_code,out" doc:"Exit status; 128 and the signal's number where a signal ended it."`
}

const doc = `Runs a program, or a line of shell.

An exit status other than 0 is a failure. A command that ran has changed the host, as far as anybody can know: give creates, removes or a guard (only_if, unless) so that it runs only where it must, or plan = true if it only reads.

The attributes changed_if and failed_if judge a command by its result: result.stdout, result.stderr and result.exit_code.

A plan says that a command would be executed, not what it does. What comes after it, and looks at anything, is marked as uncertain; with writes only what looks at these paths. A plan takes the promise as it stands: where a command breaks it, certain rows of the plan may not hold.

When the time runs out or the run is cancelled, the command ends with all processes that it started.`

const example = `command "issue" {
  argv    = ["issue-cert", "--out", "/etc/ssl/site.pem", var.domain]
  creates = "/etc/ssl/site.pem"
}

command "compile" {
  argv   = ["make", "-C", "/srv/app", "all"]
  writes = ["/srv/app"]
}

command "count" {
  shell = "ls /srv | wc -l"
  plan  = true
  reads = ["/srv"]
}`

// Module is the module "command".
var Module = states.Define(states.Type[Command]{
	Name: "command", Doc: doc, Example: example,
	NoAbsent: "A command that ran cannot be undone: declare another one that does, with removes.",
	Validate: validate, Act: act, Effects: effects, Recover: recoverAct,
})

// effects takes the part at its word.
func effects(want Command, _ bool) states.Effects {
	if want.readsOnly() {
		return states.Effects{}
	}
	if want.Writes == nil {
		return states.Effects{Anything: true}
	}
	paths := slices.Clone(want.Writes)
	for _, p := range []*string{want.Creates, want.Removes} {
		if p != nil {
			paths = append(paths, *p)
		}
	}
	for i := range paths {
		paths[i] = states.Literal(paths[i])
	}
	return states.Effects{Paths: paths}
}

func validate(want Command) error {
	mistake := func(attribute, message string) error {
		return states.InvalidAttribute(attribute, message, "")
	}
	switch {
	case want.Argv != nil && want.Shell != nil:
		return states.InvalidAttribute("shell", "it cannot be given beside argv", "leave argv for one program with its arguments, or shell for a line with pipes and the like")
	case want.Argv == nil && want.Shell == nil:
		return states.InvalidAttribute("argv", "it is required, and not given",
			`write argv = ["PROGRAM", "ARGUMENT"], or shell = "…" for a line of shell`)
	case want.Argv != nil && (len(want.Argv) == 0 || want.Argv[0] == ""):
		return states.InvalidAttribute("argv", "it names no program", `write argv = ["PROGRAM", "ARGUMENT"]`)
	case slices.ContainsFunc(want.argv(), func(a string) bool { return strings.Contains(a, "\x00") }):
		return mistake("argv", "an argument cannot contain a NUL byte")
	case want.Reads != nil && !want.readsOnly():
		return states.InvalidAttribute("reads", "it has a meaning only beside plan = true", "add plan = true if the command changes nothing, or leave reads out")
	}
	if want.Writes != nil && want.readsOnly() {
		return states.InvalidAttribute("writes", "a command with plan = true changes nothing", "leave plan out if the command changes these paths, or writes if it only reads")
	}
	for _, name := range slices.Sorted(maps.Keys(want.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(want.Env[name], "\x00") {
			return mistake("env", fmt.Sprintf("%q cannot be set in an environment", name))
		}
	}
	return errors.Join(
		check.OptionalPath("creates", want.Creates),
		check.OptionalPath("removes", want.Removes),
		check.OptionalPath("dir", want.Dir),
		check.Account("user", want.User),
		check.Paths("reads", want.Reads),
		check.Paths("writes", want.Writes),
	)
}

func (c Command) readsOnly() bool { return c.Plan != nil && *c.Plan }

func (c Command) argv() []string {
	if c.Shell != nil {
		return []string{"/bin/sh", "-c", *c.Shell}
	}
	return c.Argv
}

func act(ctx context.Context, h host.Host, want Command) (bool, Command, error) {
	if done, err := isDone(h, want); done || err != nil {
		return false, want, err
	}
	if err := checkHost(h, want); err != nil {
		return false, want, err
	}
	result, err := start(ctx, h, want)
	if err != nil {
		return false, want, err
	}
	out := want
	out.Stdout = new(string(result.Stdout))
	out.Stderr = new(string(result.Stderr))
	out.ExitCode = &result.ExitCode
	if result.ExitCode != 0 && want.FailedIf == nil {
		return false, out, &process.ExitError{Program: want.argv()[0], Result: result}
	}
	return !want.readsOnly(), out, checkResult(h, want)
}

// isDone reports whether what the command creates is there, or what it removes
// is gone.
func isDone(h host.Reader, want Command) (bool, error) {
	if want.Creates != nil {
		if there, err := exists(h, *want.Creates); there || err != nil {
			return there, err
		}
	}
	if want.Removes != nil {
		there, err := exists(h, *want.Removes)
		return !there && err == nil, err
	}
	return false, nil
}

// recoverAct tells by creates and removes whether a command that nobody saw end has
// done what it is for.
func recoverAct(_ context.Context, h host.Host, want Command, _ states.Begun) (states.Outcome, error) {
	if done, err := isDone(h, want); !done || err != nil {
		return states.Unknown, err
	}
	return states.Changed, nil
}

func exists(h host.Reader, path string) (bool, error) {
	_, err := h.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// checkHost finds what would end the command before it starts.
func checkHost(h host.Host, want Command) error {
	if want.User != nil {
		if _, err := h.User(*want.User); errors.Is(err, fs.ErrNotExist) {
			return check.NotOnHost("user", strconv.Quote(*want.User))
		} else if err != nil {
			return fmt.Errorf("looking up the user %q: %w", *want.User, err)
		}
	}
	if want.Dir != nil && *want.Dir != "/" {
		info, err := h.Lstat(*want.Dir)
		if err != nil {
			return fmt.Errorf("dir: %w", states.DirectoryError(h, *want.Dir, err))
		}
		if info.Kind != host.Directory && info.Kind != host.Symlink {
			return fmt.Errorf("the working directory %s is a %s", *want.Dir, info.Kind)
		}
	}
	return nil
}

func start(ctx context.Context, h host.Host, want Command) (host.Result, error) {
	c := host.Command{Argv: want.argv()}
	for _, name := range slices.Sorted(maps.Keys(want.Env)) {
		c.Env = append(c.Env, name+"="+want.Env[name])
	}
	if want.Dir != nil {
		c.Dir = *want.Dir
	}
	if want.User != nil {
		c.User = *want.User
	}
	if want.Stdin != nil {
		c.Stdin = []byte(*want.Stdin)
	}
	if !want.readsOnly() {
		return h.Run(ctx, c)
	}
	reads := want.Reads
	if reads == nil {
		reads = []string{"/"}
	}
	return h.Query(ctx, host.Query{Command: c, Reads: reads})
}

// checkResult reads again: a command that ended well but did not do what it was
// run for would run each time.
func checkResult(h host.Reader, want Command) error {
	if want.Creates != nil {
		if there, err := exists(h, *want.Creates); err != nil {
			return err
		} else if !there {
			return fmt.Errorf("%s ended well, but %s was not created", path.Base(want.argv()[0]), *want.Creates)
		}
	}
	if want.Removes != nil {
		if there, err := exists(h, *want.Removes); err != nil {
			return err
		} else if there {
			return fmt.Errorf("%s ended well, but %s is still there", path.Base(want.argv()[0]), *want.Removes)
		}
	}
	return nil
}
