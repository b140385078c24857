package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// engine is podman or docker, by the commands that both have.
type engine string

// findEngine gives the wanted program, or the one that the host has.
func findEngine(ctx context.Context, h host.Processes, wanted *string) (engine, error) {
	names := []string{"podman", "docker"}
	if wanted != nil && *wanted != "" {
		names = []string{*wanted}
	}
	for _, name := range names {
		_, err := process.Query(ctx, h, host.Query{Command: host.Command{Argv: []string{name, "--version"}}})
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return engine(name), err
		}
	}
	return "", fmt.Errorf("this host has no %s: %w", strings.Join(names, " and no "), fs.ErrNotExist)
}

// run starts the program for something that changes the host.
func (e engine) run(ctx context.Context, h host.Processes, stdin string, args ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: append([]string{string(e)}, args...), Stdin: []byte(stdin)})
	return err
}

// query starts it to read.
func (e engine) query(ctx context.Context, h host.Processes, args ...string) (string, error) {
	r, err := process.Query(ctx, h, host.Query{Command: host.Command{Argv: append([]string{string(e)}, args...), MaxOutput: 16 << 20}})
	return string(r.Stdout), err
}

// isMissing reports whether the program has failed since there is no such thing; every
// other failure is one.
func isMissing(err error) bool {
	exit, ended := errors.AsType[*process.ExitError](err)
	if !ended {
		return false
	}
	said := strings.ToLower(string(exit.Result.Stderr))
	return strings.Contains(said, "no such") && !strings.Contains(said, "no such file") || strings.Contains(said, "not known") || strings.Contains(said, "no container with name")
}

// inspect describes a container; nil: there is none.
func (e engine) inspect(ctx context.Context, h host.Processes, name string) (*inspection, error) {
	out, err := e.query(ctx, h, "container", "inspect", "--", name)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(out)
}

// imageID gives the number of an image, without the name of its hash; empty: the host
// does not have it.
func (e engine) imageID(ctx context.Context, h host.Processes, image string) (string, error) {
	out, err := e.query(ctx, h, "image", "inspect", "--format={{.Id}}", "--", image)
	if isMissing(err) {
		return "", nil
	}
	return strings.TrimPrefix(strings.TrimSpace(out), "sha256:"), err
}

// temporaryName is the name of a container that is not in its place yet.
func temporaryName(name string) string { return name + ".tenet-new" }

// make creates a container, in the place of one that may be there. That one goes only
// once the new one is.
func (e engine) make(ctx context.Context, h host.Processes, have *Container, want Container) error {
	id, err := e.imageID(ctx, h, *want.Image)
	if err != nil {
		return err
	}
	if id == "" {
		if want.Pull != nil && *want.Pull == "never" {
			return fmt.Errorf("this host has no image %s, and is not to pull it", *want.Image)
		}
		if err := e.run(ctx, h, "", "pull", "--quiet", "--", *want.Image); err != nil {
			return err
		}
	}
	left, err := e.inspect(ctx, h, temporaryName(want.Name))
	if err == nil && left != nil { // by an attempt that was cut short
		err = e.discard(ctx, h, temporaryName(want.Name), left.State.Running)
	}
	if err != nil {
		return err
	}
	env, argv, err := creation(want)
	if err != nil {
		return err
	}
	if err := e.run(ctx, h, env, argv...); err != nil {
		return err
	}
	if have != nil {
		if err := e.discard(ctx, h, want.Name, *have.Running); err != nil {
			return err
		}
	}
	return e.run(ctx, h, "", "container", "rename", "--", temporaryName(want.Name), want.Name)
}

// creation gives the arguments that create a container, and what it reads: the
// variables, which other users of the host may not see.
func creation(want Container) (stdin string, argv []string, err error) {
	definition, err := definitionOf(want).encode(want.Environment)
	if err != nil {
		return "", nil, err
	}
	argv = []string{"container", "create", "--name=" + temporaryName(want.Name), "--pull=never", "--label=" + label + "=" + definition}
	for _, o := range []struct {
		option string
		values []string
	}{{"--publish=", want.Ports}, {"--volume=", want.Volumes}, {"--device=", want.Devices}, {"", want.Options}} {
		for _, v := range o.values {
			argv = append(argv, o.option+v)
		}
	}
	if want.Network != nil && *want.Network != "" {
		argv = append(argv, "--network="+*want.Network)
	}
	if want.Restart != nil && *want.Restart != "" {
		argv = append(argv, "--restart="+*want.Restart)
	}
	if len(want.Environment) > 0 {
		argv = append(argv, "--env-file=/dev/stdin")
		for _, name := range slices.Sorted(maps.Keys(want.Environment)) {
			stdin += name + "=" + want.Environment[name] + "\n"
		}
	}
	argv = append(argv, "--", *want.Image)
	return stdin, append(argv, want.Command...), nil
}

// discard stops a container and removes it.
func (e engine) discard(ctx context.Context, h host.Processes, name string, running bool) error {
	if running {
		if err := e.run(ctx, h, "", "container", "stop", "--", name); err != nil {
			return err
		}
	}
	return e.run(ctx, h, "", "container", "rm", "--", name)
}

// A container that cannot run ends as it starts; whether it stays is seen a moment
// later.
const (
	looks = 4
	pause = 100 * time.Millisecond
)

func (e engine) start(ctx context.Context, h host.Host, name string) error {
	if err := e.run(ctx, h, "", "container", "start", "--", name); err != nil {
		return err
	}
	for range looks {
		c, err := e.inspect(ctx, h, name)
		if err != nil {
			return err
		}
		if c == nil || !c.State.Running {
			return e.endError(ctx, h, name, c)
		}
		if err := host.Sleep(ctx, h, pause); err != nil {
			return err
		}
	}
	return nil
}

// endError tells why a container does not run.
func (e engine) endError(ctx context.Context, h host.Processes, name string, c *inspection) error {
	if c == nil {
		return fmt.Errorf("the container %s was removed by somebody as it started", name)
	}
	r, err := h.Query(ctx, host.Query{Command: host.Command{Argv: []string{string(e), "container", "logs", "--tail=10", "--", name}}})
	said := process.Tail(append(r.Stdout, r.Stderr...), 10)
	if err != nil || said == "" {
		said = "it has said nothing"
	}
	return fmt.Errorf("the container %s has ended with status %d as soon as it was started:\n%s", name, c.State.ExitCode, said)
}
