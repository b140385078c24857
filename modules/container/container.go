// Package container is the module "container": a container of podman or docker.
package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Container is the state of one container, wanted or observed. A nil attribute is not
// managed.
type Container struct {
	Name        string            `state:"name,key" doc:"Name of the container."`
	Image       *string           `state:"image,present" doc:"The image, such as \"docker.io/library/nginx:1.27\". A container of another image of that name, as after a pull, is made anew."`
	Command     []string          `state:"command" doc:"What runs in it with its arguments, instead of the image's own command."`
	Environment map[string]string `state:"environment" doc:"Environment variables, beside those of the image. A value is one line."`
	Ports       []string          `state:"ports,set" doc:"What is reached from outside: \"8080:80\", \"127.0.0.1:8080:80\", \"53:53/udp\"."`
	Volumes     []string          `state:"volumes,set" doc:"What it has of the host: \"/srv/data:/data\", \"/etc/site:/etc/site:ro\", or the name of a volume in the place of the path."`
	Devices     []string          `state:"devices,set" doc:"Devices of the host: \"/dev/ttyUSB0\", \"/dev/ttyUSB0:/dev/modem\"."`
	Network     *string           `state:"network" doc:"The network: host, none, bridge, or the name of one. Without it the program's default."`
	Restart     *string           `state:"restart" enum:"no,on-failure,always,unless-stopped" doc:"Whether the program starts it again when it ends."`
	Options     []string          `state:"options" doc:"Further options of \"podman create\" or \"docker create\", each in one word, such as [\"--cap-add=NET_ADMIN\", \"--read-only\"]. They may give the container any right on the host."`
	Running     *bool             `state:"running" doc:"Whether it runs: yes, if nothing else is said."`
	Engine      *string           `state:"engine,in" enum:"podman,docker" doc:"The program. Without it podman, if the host has that, and else docker."`
	Pull        *string           `state:"pull,in" enum:"missing,never" doc:"What to do about an image that the host does not have: pull it (missing, as without this), or fail."`
}

const doc = `A container of podman or docker.

What it is made of is kept in a label of it; where that differs, the container is made anew: the new one is created, then the old one is stopped and removed, and the new one takes its name and starts. So a mistake in the definition costs nothing, and what was written within the old container, outside of volumes, is lost. A container of this name that tenet has not made is compared by its image alone, and made anew where that or anything else is wanted.

A container that has ended is started again, also without a restart policy; one that ends within the first moments fails the part, with what it said last. For one that does a task and ends, write running = false and start it by a command, or use a systemd_timer. With podman, the unit podman-restart.service starts those with restart = "always" at boot.

Values of environment stand neither in a command line nor in a label, but who may ask podman or docker can see them; so they are part of what import prints. The command and all else is seen by every user of the host.

Podman is what this is verified with, in version 4.3; docker is driven by the same commands.

Absent stops and removes it. Images and volumes stay.`

const example = `container "web" {
  image       = "docker.io/library/nginx:1.27"
  ports       = ["8080:80"]
  volumes     = ["/srv/www:/usr/share/nginx/html:ro"]
  environment = { TZ = "UTC" }
  restart     = "always"
}`

// Module is the module "container".
var Module = states.Define(states.Type[Container]{
	Name: "container", Doc: doc, Example: example,
	Validate: validate, Complete: complete, Read: read, Write: write, Remove: remove, List: list, Effects: effects,
})

// effects are those of the program and of what runs in the container: nothing of the host but its
// volumes, unless it is given more. Of one that ends nobody knows what it has.
func effects(want Container, absent bool) states.Effects {
	if absent || len(want.Options) > 0 || len(want.Devices) > 0 || want.Network != nil && *want.Network == "host" {
		return states.Effects{Anything: true}
	}
	e := states.Effects{
		Paths: []string{
			"/var/lib/containers", "/run/containers", "/run/libpod", "/run/crun", "/run/runc", "/run/netns", "/run/lock",
			"/var/lib/docker", "/run/docker*", "/run/containerd", "/var/lib/containerd",
			"/etc/containers", "/var/lib/cni", "/run/cni", "/etc/cni", "/tmp", "/var/tmp", "/var/log", "/dev/shm",
		},
		Services: []string{"var-lib-containers-*", "var-lib-docker-*", "run-netns*", "run-docker*"}, // the units of what is mounted
		Settings: []string{"net.*"},
		Provides: true, // what is asked over the network
	}
	for _, v := range want.Volumes {
		if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, "/") && !strings.HasSuffix(v, ":ro") {
			if from == "/" {
				return states.Effects{Anything: true}
			}
			e.Paths = append(e.Paths, states.Literal(from))
		}
	}
	return e
}

var (
	imagePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)
	})
	envPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	})
	portPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):)?(\d{1,5}(-\d{1,5})?:)?\d{1,5}(-\d{1,5})?(/(tcp|udp|sctp))?$`)
	})
	pathPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(/[^:,\x00-\x1f]*|[A-Za-z0-9][A-Za-z0-9_.-]*):/[^:,\x00-\x1f]*(:[A-Za-z0-9_,=-]+)?$`)
	})
	devPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^/[^:,\x00-\x1f]+(:/[^:,\x00-\x1f]+)?(:[rwm]{1,3})?$`)
	})
	optPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^--[a-z][a-z0-9-]*(=[^\x00-\x1f]*)?$`)
	})
)

// ownOptions are the options that attributes stand for.
func ownOptions() []string {
	return []string{"--name", "--label", "--env", "--env-file", "--env-host", "--publish", "--volume", "--device", "--network", "--net", "--restart", "--pull", "--detach", "--rm", "--replace"}
}

const (
	maxArguments = 64 << 10 // of all that stands in the command line
	maxName      = 200
	maxImage     = 512
)

func validate(want Container) error {
	size := 0
	for _, list := range []struct {
		attribute string
		values    []string
		pattern   *regexp.Regexp
		like      string
	}{
		{"ports", want.Ports, portPattern(), "8080:80"},
		{"volumes", want.Volumes, pathPattern(), "/srv/data:/data:ro"},
		{"devices", want.Devices, devPattern(), "/dev/ttyUSB0:/dev/modem"},
		{"options", want.Options, optPattern(), "--cap-add=NET_ADMIN"},
	} {
		for _, v := range list.values {
			size += len(v)
			if !list.pattern.MatchString(v) {
				return states.InvalidAttribute(list.attribute, fmt.Sprintf("%.100q is none of its values", v),
					fmt.Sprintf("write it like %q", list.like))
			}
		}
	}
	for _, o := range want.Options {
		name, _, _ := strings.Cut(o, "=")
		if slices.Contains(ownOptions(), name) {
			return states.InvalidAttribute("options", name+" is not for here", "there is an attribute for it, or it is the module's own")
		}
	}
	for _, arg := range want.Command {
		size += len(arg)
		if strings.Contains(arg, "\x00") {
			return states.InvalidAttribute("command", "an argument cannot contain a NUL byte", "")
		}
	}
	if size > maxArguments {
		return states.InvalidAttribute("command", fmt.Sprintf("command, options and the like have %d bytes, more than %d", size, maxArguments), "")
	}
	return errors.Join(validateEnvironment(want.Environment), validateNames(want))
}

// validateNames checks what becomes an argument of its own.
func validateNames(want Container) error {
	if want.Image != nil && (len(*want.Image) > maxImage || !imagePattern().MatchString(*want.Image)) {
		return states.InvalidAttribute("image", fmt.Sprintf("%.100q is no name of an image", *want.Image), "")
	}
	if want.Network != nil {
		if err := check.Name("network", *want.Network, "._-:="); err != nil {
			return err
		}
	}
	if len(want.Name) > maxName || strings.HasPrefix(want.Name, ".") || strings.HasPrefix(want.Name, "_") {
		return states.InvalidAttribute("name", fmt.Sprintf("%.100q is no name of a container", want.Name), "")
	}
	return check.Name("name", want.Name, "._-")
}

// validateEnvironment keeps to what a file of variables can hold in each version of
// podman and docker.
func validateEnvironment(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		e := &states.AttributeError{Attribute: "environment"}
		switch value := env[name]; {
		case len(name) > maxName || !envPattern().MatchString(name):
			e.Message = fmt.Sprintf("%.100q is no name of a variable", name)
		case strings.ContainsAny(value, "\n\r\x00"):
			e.Message = fmt.Sprintf("the value of %s is not one line", name)
			e.Hint = "write it to a file, and give that as a volume"
		case len(value) > maxArguments/2:
			e.Message = fmt.Sprintf("the value of %s has %d bytes, more than %d", name, len(value), maxArguments/2)
		default:
			continue
		}
		return e
	}
	return nil
}

// complete wants each container to run that is not said to stand still: one whose first
// start failed, and one that somebody has stopped, too.
func complete(_ context.Context, _ host.Host, want *Container) error {
	if want.Running == nil {
		want.Running = new(true)
	}
	return nil
}

func read(ctx context.Context, h host.Host, want Container) (*Container, error) {
	e, err := findEngine(ctx, h, want.Engine)
	if err != nil {
		return nil, err
	}
	c, err := e.inspect(ctx, h, want.Name)
	if err != nil || c == nil {
		return nil, err
	}
	have := c.container()
	have.Name, have.Engine, have.Pull = want.Name, want.Engine, want.Pull
	if have.Image != nil {
		is, err := e.imageID(ctx, h, *have.Image)
		if err != nil {
			return nil, err
		}
		if is != "" && is != c.imageID() {
			have.Image = new(*have.Image + "@sha256:" + c.imageID())
		}
	}
	return have, nil
}

func write(ctx context.Context, h host.Host, have *Container, want Container) error {
	if want.Image == nil {
		return states.InvalidAttribute("image", "it is required for a container that is to be there", "")
	}
	e, err := findEngine(ctx, h, want.Engine)
	if err != nil {
		return err
	}
	if have == nil || !definitionOf(*have).equal(definitionOf(want)) || !maps.Equal(have.Environment, want.Environment) {
		if err := e.make(ctx, h, have, want); err != nil {
			return err
		}
		have = &Container{Running: new(false)}
	}
	switch {
	case *want.Running == *have.Running:
		return nil
	case *want.Running:
		return e.start(ctx, h, want.Name)
	}
	return e.run(ctx, h, "", "container", "stop", "--", want.Name)
}

func remove(ctx context.Context, h host.Host, have Container) error {
	e, err := findEngine(ctx, h, have.Engine)
	if err != nil {
		return err
	}
	return e.discard(ctx, h, have.Name, *have.Running)
}

// list gives the containers that tenet has made here.
func list(ctx context.Context, h host.Host, _ []string) ([]Container, error) {
	e, err := findEngine(ctx, h, nil)
	if err != nil {
		return nil, err
	}
	out, err := e.query(ctx, h, "container", "ls", "--all", "--filter=label="+label, "--format={{.Names}}")
	if err != nil {
		return nil, err
	}
	var keys []Container
	for name := range strings.FieldsSeq(out) {
		keys = append(keys, Container{Name: name})
	}
	return keys, nil
}
