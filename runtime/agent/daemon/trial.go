package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/child"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/agent/programs"
	"github.com/tenetcm/tenet/runtime/fault"
)

// trialFormat is the version of what a program says that is tried.
const trialFormat = "tenet.trial/1"

// trialResult is what a program says that is tried, as one line.
type trialResult struct {
	Format  string `json:"format"`
	Version string `json:"version"`
	Error   string `json:"error,omitempty"` // why it cannot follow
}

// findPrograms finds the programs that may run in the place of this one.
func (d *daemon) findPrograms() error {
	if len(d.Argv) == 0 || d.Name == "" || d.Volatile {
		return nil
	}
	executable := d.Executable
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return err
		}
	}
	d.own, d.programs = programs.Own{Version: d.Version, Executable: executable}, programs.In(Folder(d.StateDir))
	d.programs.Step = d.Step
	return nil
}

// Try does, as a program that may follow the one of the running agent, what shows that it can, and says so to out. It changes nothing, and ends with in:
// whoever tries it is gone then.
func Try(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fault.Go(func() {
		_, _ = io.Copy(io.Discard, in) // how it ends does not matter
		cancel(errors.New("the agent that tries this program is gone"))
	})
	if o.Log == nil {
		o.Log = func(string) {}
	}
	result := trialResult{Format: trialFormat, Version: o.Version}
	err := tryOut(ctx, o)
	if err != nil {
		result.Error = diag.Clean(err.Error(), "\n", '�')
	}
	data, encoding := plainjson.Marshal(result)
	if encoding == nil {
		_, encoding = out.Write(append(data, '\n'))
	}
	return errors.Join(err, encoding)
}

func tryOut(ctx context.Context, o Options) error {
	who, err := identity.View(identityFolder(o.StateDir), identity.Options{})
	if err != nil {
		return err
	}
	defer who.Close()
	d := &daemon{Options: o, who: who, instance: rand.Text()}
	with, _, err := d.options()
	if err != nil {
		return err
	}
	return agent.Try(ctx, with)
}

// Bounds of what is read of a program that is tried.
const maxTrial = 64 << 10

// try runs a program beside this one, until it says whether it can follow.
func (d *daemon) try(ctx context.Context, path, version string) error {
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = append([]string{d.Argv[0]}, d.Trial...)
	cmd.Env = d.Environ
	child.EndTogether(cmd, 5*time.Second)
	out, errs := &child.Output{Limit: maxTrial}, &child.Output{Limit: maxTrial}
	cmd.Stdout, cmd.Stderr = out, errs
	in, err := cmd.StdinPipe() // it ends with this process
	if err != nil {
		return err
	}
	if d.programs != nil && d.programs.Step != nil {
		d.programs.Step("trial")
	}
	ended := cmd.Run()
	_ = in.Close() // Run has closed it, unless it did not begin
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var result trialResult
	if json.Unmarshal([]byte(lines[len(lines)-1]), &result) != nil || result.Format != trialFormat {
		if ended == nil {
			ended = errors.New("it has ended")
		}
		return fmt.Errorf("it says nothing that is understood here, when it is tried: %w: %.500s", ended, diag.Clean(strings.TrimSpace(errs.String()), "\n", '�'))
	}
	switch {
	case result.Error != "":
		return fmt.Errorf("it was tried, and cannot follow: %.1000s", diag.Clean(result.Error, "\n", '�'))
	case ended != nil:
		return fmt.Errorf("it was tried, and ended with an error: %w", ended)
	case result.Version != version:
		return fmt.Errorf("it says that it is %.100q, and the release that it is %s", result.Version, version)
	}
	return nil
}
