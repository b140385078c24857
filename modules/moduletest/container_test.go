package moduletest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/container"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

// stored is a container of the engine below.
type stored struct {
	Image, ImageID, Label string
	Env, Argv             []string
	Running               bool
}

// engine is podman or docker, as far as the module uses them: it keeps its containers
// in a file, and prints what the real ones print (podman 4.3.1; docker's API 1.50).
type engine struct {
	name string
	h    *host.Memory
}

const storage = "/var/lib/engine.json"

func (e engine) load() map[string]stored {
	all := map[string]stored{}
	_ = json.Unmarshal([]byte(fake.Text(e.h, storage)), &all) // empty at first
	return all
}

func (e engine) save(ctx context.Context, all map[string]stored) (host.Result, error) {
	data, err := json.Marshal(all)
	if err == nil {
		err = e.h.WriteFile(ctx, storage, host.Text(string(data)), host.Meta{})
	}
	return host.Result{}, err
}

func images(h host.Reader) []string { return strings.Fields(fake.Text(h, "/var/lib/images")) }

func (e engine) fail(format string, args ...any) (host.Result, error) {
	return host.Result{ExitCode: 125, Stdout: []byte("[]\n"), Stderr: []byte("Error: " + fmt.Sprintf(format, args...) + "\n")}, nil
}

func (e engine) serve(ctx context.Context, c host.Command) (host.Result, error) {
	args := c.Argv[1:]
	if args[0] == "--version" {
		return host.Result{Stdout: []byte(e.name + " version 4.3.1\n")}, nil
	}
	if args[0] == "pull" {
		if !strings.HasPrefix(args[3], "pullable") {
			return e.fail("initializing source docker://%s: connection refused", args[3])
		}
		return host.Result{}, e.h.WriteFile(ctx, "/var/lib/images", host.Text(fake.Text(e.h, "/var/lib/images")+args[3]+"=9\n"), host.Meta{})
	}
	rest := args[2:]
	at := slices.Index(rest, "--")
	if at < 0 && args[1] != "ls" {
		return e.fail("no -- in %q", args)
	}
	if args[0] == "image" {
		for _, image := range images(e.h) {
			if name, id, _ := strings.Cut(image, "="); name == rest[at+1] {
				return host.Result{Stdout: []byte("sha256:" + id + "\n")}, nil
			}
		}
		if e.name == "docker" {
			return e.fail("No such image: %s", rest[at+1])
		}
		return e.fail("inspecting object: %s: image not known", rest[at+1])
	}
	if args[1] == "create" {
		return e.create(ctx, rest[:at], rest[at+1:], string(c.Stdin))
	}
	return e.existing(ctx, args[1], rest[at+1:])
}

func (e engine) create(ctx context.Context, options, rest []string, stdin string) (host.Result, error) {
	all, s, name := e.load(), stored{Image: rest[0], Argv: append(slices.Clone(options), rest...)}, ""
	for _, o := range options {
		if v, ok := strings.CutPrefix(o, "--name="); ok {
			name = v
		}
		if v, ok := strings.CutPrefix(o, "--label="); ok {
			_, s.Label, _ = strings.Cut(v, "=")
		}
		if o == "--volume=/nosuch:/x" {
			return e.fail("statfs /nosuch: no such file or directory")
		}
	}
	for _, image := range images(e.h) {
		if n, id, _ := strings.Cut(image, "="); n == rest[0] {
			s.ImageID = id
		}
	}
	s.Env = append([]string{"PATH=/bin", "container=podman"}, strings.Split(strings.TrimSuffix(stdin, "\n"), "\n")...)
	if _, taken := all[name]; taken || s.ImageID == "" {
		return e.fail("%s is taken, or has no image", name)
	}
	all[name] = s
	return e.save(ctx, all)
}

func (e engine) existing(ctx context.Context, verb string, rest []string) (host.Result, error) {
	all := e.load()
	if verb == "ls" {
		names := ""
		for name, s := range all {
			if s.Label != "" {
				names += name + "\n"
			}
		}
		return host.Result{Stdout: []byte(names)}, nil
	}
	s, there := all[rest[0]]
	switch {
	case !there && e.name == "docker":
		return e.fail("No such container: %s", rest[0])
	case !there:
		return e.fail("inspecting object: no such container %s", rest[0])
	}
	switch verb {
	case "inspect":
		return host.Result{Stdout: e.print(s)}, nil
	case "start":
		s.Running = !slices.Contains(s.Argv, "false")
	case "stop":
		s.Running = false
	case "logs":
		return host.Result{Stdout: []byte("cannot go on\n")}, nil
	case "rm":
		if s.Running {
			return e.fail("cannot remove a running container")
		}
		delete(all, rest[0])
		return e.save(ctx, all)
	case "rename":
		delete(all, rest[0])
		rest = rest[1:]
	default:
		return e.fail("unrecognized command %s", verb)
	}
	all[rest[0]] = s
	return e.save(ctx, all)
}

// print is what inspect prints, in the engine's words.
func (e engine) print(s stored) []byte {
	labels := map[string]string{}
	if s.Label != "" {
		labels["io.tenetcm.container"] = s.Label
	}
	config := map[string]any{"Env": s.Env, "Image": s.Image, "Labels": labels}
	out := map[string]any{"Image": s.ImageID, "ImageName": s.Image, "Config": config,
		"State": map[string]any{"Running": s.Running, "ExitCode": 1}, "HostConfig": map[string]any{"NetworkMode": "host"}}
	if e.name == "docker" {
		out["Image"] = "sha256:" + s.ImageID
		delete(out, "ImageName")
	}
	data, err := json.Marshal([]any{out})
	if err != nil {
		panic(err)
	}
	return data
}

// newContainerHost has an engine with a container that runs and one that somebody has made by
// hand.
func newContainerHost(name string) func(t *testing.T) host.Host {
	return func(t *testing.T) host.Host {
		h := fake.Host(t)
		e := engine{name, h}
		h.Handle(name, e.serve)
		fake.Put(t, h, "/var/lib/images", "box:1=1\nbox:2=2\n", 0o644)
		if _, err := e.save(t.Context(), map[string]stored{
			"app": {Image: "box:1", ImageID: "1", Label: `{"image":"box:1","command":["serve"],"environment":["A"]}`, Env: []string{"A=1", "B=2"}, Running: true},
			"old": {Image: "box:1", ImageID: "1", Running: true},
		}); err != nil {
			t.Fatal(err)
		}
		return h
	}
}

func containerValues(name, image string, more ...any) map[string]any {
	out := map[string]any{"name": name, "image": image}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// containerIs looks at a container of the engine.
func containerIs(name string, check func(stored) bool) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		all := engine{"", h.(*host.Memory)}.load()
		if s, there := all[name]; !there || !check(s) || len(all) > 3 {
			t.Errorf("%s is %+v of %v", name, s, all)
		}
	}
}

func TestContainer(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"podman", "docker"} {
		t.Run(engine, func(t *testing.T) {
			statestest.Run(t, statestest.Suite{Module: container.Module, Host: newContainerHost(engine), Cases: containerCases()})
		})
	}
	statestest.Run(t, statestest.Suite{Module: container.Module, Host: newContainerHost("podman"), Trusted: []string{"options"},
		Hostile: containerValues("web", "box:1", "command", []string{"serve"}, "environment", map[string]string{"A": "1"}, "volumes", []string{"/srv:/srv"})})
	statestest.Run(t, statestest.Suite{Module: container.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) }, Cases: []statestest.Case{
		{Name: "no engine", Values: containerValues("web", "box:1"), Fails: "this host has no podman and no docker"},
		{Name: "not this engine", Values: containerValues("web", "box:1", "engine", "docker"), Fails: "this host has no docker"},
	}})
}

func containerCases() []statestest.Case {
	remade := func(s stored) bool { return s.Running && s.Image == "box:1" && s.Label != "" }
	return []statestest.Case{
		{Name: "create", Values: containerValues("web", "box:1"), Action: states.Create, Changes: []string{"image", "running"}, Check: containerIs("web", remade)},
		{
			Name: "create with all attributes", Action: states.Create,
			Values: containerValues("web", "box:1", "command", []string{"-x", "--", "a b"}, "environment", map[string]string{"SECRET": "s3 'x'", "A": ""},
				"ports", []string{"127.0.0.1:8080:80", "53:53/udp"}, "volumes", []string{"/srv:/data:ro", "named:/x"}, "devices", []string{"/dev/null:/dev/y"},
				"network", "host", "restart", "always", "options", []string{"--read-only", "--cap-add=NET_ADMIN"}, "running", false),
			Changes: []string{"image", "command", "environment", "ports", "volumes", "devices", "network", "restart", "options", "running"},
			Check: containerIs("web", func(s stored) bool {
				return !strings.Contains(strings.Join(s.Argv, " "), "s3") && slices.Contains(s.Env, "SECRET=s3 'x'") &&
					slices.Equal(s.Argv[len(s.Argv)-4:], []string{"box:1", "-x", "--", "a b"}) && slices.Contains(s.Argv, "--device=/dev/null:/dev/y")
			}),
		},
		{Name: "pulled", Values: containerValues("web", "pullable:1"), Action: states.Create, Changes: []string{"image", "running"}},
		{Name: "not to be had", Values: containerValues("web", "none:1"), Fails: "connection refused", OnlyOnHost: true},
		{Name: "not to be pulled", Values: containerValues("web", "none:1", "pull", "never"), Fails: "is not to pull it"},
		{Name: "nothing to do", Values: containerValues("app", "box:1", "command", []string{"serve"}, "environment", map[string]string{"A": "1"}, "running", true)},
		{Name: "what is not given stays", Values: containerValues("app", "box:1")},
		{Name: "another value", Values: containerValues("app", "box:1", "environment", map[string]string{"A": "2"}), Action: states.Update, Changes: []string{"environment"},
			Check: containerIs("app", func(s stored) bool {
				return slices.Contains(s.Env, "A=2") && s.Running && slices.Contains(s.Argv, "serve")
			})},
		{Name: "fewer values", Values: containerValues("app", "box:1", "environment", map[string]string{}), Action: states.Update, Changes: []string{"environment"}},
		{Name: "another image", Values: containerValues("app", "box:2"), Action: states.Update, Changes: []string{"image"}, Check: containerIs("app", func(s stored) bool { return s.ImageID == "2" })},
		{Name: "the image of that name is another one now", Values: containerValues("app", "box:1"), Action: states.Update, Changes: []string{"image"},
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/var/lib/images", "box:1=7\n", 0o644) },
			Check:   containerIs("app", func(s stored) bool { return s.ImageID == "7" })},
		{Name: "the image of that name is gone", Values: containerValues("app", "box:1"),
			Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/var/lib/images", "", 0o644) }},
		{Name: "it has ended", Values: containerValues("app", "box:1", "running", true), Action: states.Update, Changes: []string{"running"},
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, storage, strings.ReplaceAll(fake.Text(h, storage), `"Running":true`, `"Running":false`), 0o644)
			}, Check: containerIs("app", func(s stored) bool { return s.Running && s.Argv == nil })},
		{Name: "it was stopped, and nothing is said", Values: containerValues("app", "box:1"), Action: states.Update, Changes: []string{"running"},
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, storage, strings.ReplaceAll(fake.Text(h, storage), `"Running":true`, `"Running":false`), 0o644)
			}, Check: containerIs("app", func(s stored) bool { return s.Running && s.Argv == nil })},
		{Name: "stop", Values: containerValues("app", "box:1", "running", false), Action: states.Update, Changes: []string{"running"}, Check: containerIs("app", func(s stored) bool { return !s.Running })},
		{Name: "somebody else's", Values: containerValues("old", "box:1")},
		{Name: "somebody else's, made anew", Values: containerValues("old", "box:1", "restart", "always"), Action: states.Update, Changes: []string{"restart"}, Check: containerIs("old", remade)},
		{Name: "a new one was left", Values: containerValues("app", "box:2"), Action: states.Update, Changes: []string{"image"}, Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, storage, strings.Replace(fake.Text(h, storage), `"old"`, `"app.tenet-new"`, 1), 0o644)
		}, Check: containerIs("app", func(s stored) bool { return s.ImageID == "2" })},
		{Name: "a mistake costs nothing", Values: containerValues("app", "box:2", "volumes", []string{"/nosuch:/x"}), Fails: "statfs /nosuch", OnlyOnHost: true},
		{Name: "it ends at once", Values: containerValues("web", "box:1", "command", []string{"false"}), Fails: "ended with status 1 as soon as it was started:\ncannot go on", OnlyOnHost: true, Partial: true},
		{Name: "absent", Values: containerValues("app", "box:1"), Ensure: states.Absent, Action: states.Remove,
			Changes: []string{"image", "command", "environment", "ports", "volumes", "devices", "options", "running"}},
		{Name: "absent already", Values: containerValues("web", "box:1"), Ensure: states.Absent},
		{Name: "image", Values: containerValues("web", "-x"), Wrong: "no name of an image"},
		{Name: "two lines", Values: containerValues("web", "a", "environment", map[string]string{"A": "1\nB=2"}), Wrong: "not one line"},
		{Name: "no variable", Values: containerValues("web", "a", "environment", map[string]string{"A B": "1"}), Wrong: "no name of a variable"},
		{Name: "port", Values: containerValues("web", "a", "ports", []string{"x"}), Wrong: "none of its values"},
		{Name: "volume", Values: containerValues("web", "a", "volumes", []string{"../x:/y"}), Wrong: "none of its values"},
		{Name: "option", Values: containerValues("web", "a", "options", []string{"-v"}), Wrong: "none of its values"},
		{Name: "option with an attribute", Values: containerValues("web", "a", "options", []string{"--env=A=1"}), Wrong: "not for here"},
		{Name: "device", Values: containerValues("web", "a", "devices", []string{"tty"}), Wrong: "none of its values"},
		{Name: "name", Values: containerValues(".x", "a"), Wrong: "no name of a container"},
	}
}
