package host_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

// scripted is a host with scripts, whose programs answer as those of Debian 12 did on
// a host of the lab: OpenRC 0.45.2, sysvinit 3.06.
func scripted(t *testing.T, system string) (host.Init, *host.Memory, *[]string) {
	t.Helper()
	h := host.NewMemory()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/etc", "/etc/init.d", "/etc/runlevels", "/etc/runlevels/default", "/etc/rc2.d", "/usr", "/usr/sbin", "/run"} {
		must(h.Mkdir(dir, host.Meta{}))
	}
	script := "#!/bin/sh\ncase \"$1\" in\nstart) ;;\nreload|force-reload) ;;\nesac\n"
	if system == "openrc" {
		script = "#!/sbin/openrc-run\nextra_started_commands=\"reload\"\n"
	}
	must(h.WriteFile(t.Context(), "/etc/init.d/lab", host.Text(script), host.Meta{}))
	must(h.WriteFile(t.Context(), "/etc/init.d/bad", host.Text("#!/bin/sh\n# no reload\n"), host.Meta{}))
	must(h.WriteFile(t.Context(), "/usr/sbin/update-rc.d", host.Text(""), host.Meta{}))
	var said []string
	running := false
	control := func(_ context.Context, c host.Command) (host.Result, error) {
		args := slices.DeleteFunc(slices.Clone(c.Argv[1:]), func(a string) bool { return a == "--nocolor" })
		name, verb := args[0], args[1]
		if verb != "status" {
			said = append(said, strings.Join(c.Argv, " "))
		}
		switch {
		case name == "bad" && verb == "start":
			return host.Result{ExitCode: 1, Stderr: []byte("no licence found\n * ERROR: bad failed to start\n")}, nil
		case verb == "status" && (name == "bad" || !running):
			return host.Result{ExitCode: 3, Stdout: []byte(" * status: stopped\n")}, nil
		case verb != "status":
			running = verb != "stop"
		}
		return host.Result{}, nil
	}
	h.Handle("rc-service", control)
	h.Handle("service", control)
	h.Handle("rc-update", func(ctx context.Context, c host.Command) (host.Result, error) {
		said = append(said, strings.Join(c.Argv, " "))
		if c.Argv[2] == "add" {
			return host.Result{}, h.Symlink("/etc/init.d/lab", "/etc/runlevels/default/lab", host.Meta{})
		}
		return host.Result{}, h.Remove("/etc/runlevels/default/lab")
	})
	h.Handle("update-rc.d", func(_ context.Context, c host.Command) (host.Result, error) {
		said = append(said, strings.Join(c.Argv, " "))
		switch c.Argv[2] {
		case "enable":
			return host.Result{}, h.Symlink("../init.d/lab", "/etc/rc2.d/S01lab", host.Meta{})
		case "disable":
			return host.Result{}, h.Remove("/etc/rc2.d/S01lab")
		}
		return host.Result{}, nil
	})
	i := host.Scripts(system, h)
	return i, h, &said
}

func TestScripts(t *testing.T) {
	commands := map[string][]string{
		"openrc": {"rc-service --nocolor lab start", "rc-update --nocolor add lab default", "rc-service --nocolor lab reload", "rc-service --nocolor lab stop", "rc-update --nocolor del lab default"},
		"sysv":   {"service lab start", "update-rc.d lab defaults", "update-rc.d lab enable", "service lab reload", "service lab stop", "update-rc.d lab defaults", "update-rc.d lab disable"},
	}
	for system, want := range commands {
		t.Run(system, func(t *testing.T) {
			i, _, said := scripted(t, system)
			status := func() host.Service {
				s, err := i.Service(t.Context(), "lab")
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			if s := status(); i.System() != system || s.Runs() || s.Enablement != "disabled" || !s.CanReload {
				t.Errorf("at first: %+v", s)
			}
			do := func(verbs ...host.Verb) {
				for _, verb := range verbs {
					if err := i.Do(t.Context(), verb, "lab"); err != nil {
						t.Errorf("%s: %v", verb, err)
					}
				}
			}
			do(host.Start, host.Enable, host.Reload)
			if s := status(); !s.Runs() || s.Enablement != "enabled" {
				t.Errorf("started and enabled: %+v", s)
			}
			do(host.Stop, host.Disable)
			if s := status(); s.Runs() || s.Enablement != "disabled" {
				t.Errorf("stopped and disabled: %+v", s)
			}
			if !slices.Equal(*said, want) {
				t.Errorf("it has run %q, want %q", *said, want)
			}
			err := i.Do(t.Context(), host.Start, "bad")
			if failure, ok := errors.AsType[*host.ServiceError](err); !ok || !strings.Contains(string(failure.Log), "no licence found") {
				t.Errorf("a service that does not start: %v", err)
			}
			if err := i.Do(t.Context(), host.Mask, "lab"); !errors.Is(err, host.ErrUnsupported) {
				t.Errorf("a mask: %v", err)
			}
			for _, name := range []string{"none", "../lab", "-x", "a b", ""} {
				if err := i.Do(t.Context(), host.Start, name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%q: %v", name, err)
				}
			}
			services, err := i.Services(t.Context())
			if err != nil || len(services) != 2 || services[0].CanReload {
				t.Errorf("listed: %+v, %v", services, err)
			}
		})
	}
}

// A plan on scripts knows what it has done itself, and lets no program run.
func TestPlanOnScripts(t *testing.T) {
	_, h, said := scripted(t, "sysv")
	h.SetInit(func(context.Context, string) (host.Init, error) { return host.Scripts("sysv", h), nil })
	shadow := host.NewShadow(h)
	i, err := host.InitOf(t.Context(), shadow, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Do(t.Context(), host.Enable, "lab"); err != nil {
		t.Error(err)
	}
	if err := i.Do(t.Context(), host.Start, "lab"); !errors.Is(err, host.ErrUnforeseeable) {
		t.Error(err)
	}
	if s, err := i.Service(t.Context(), "lab"); err != nil || !s.Runs() || s.Enablement != "enabled" {
		t.Errorf("%+v, %v", s, err)
	}
	if len(*said) > 0 {
		t.Errorf("it has run %q", *said)
	}
	if !shadow.HasChanged("/") {
		t.Error("what was started may have changed anything")
	}
}

// Below a root, where nothing runs, services are their files; a plan is like that.
func TestInitBelowRoot(t *testing.T) {
	tree := func(t *testing.T) host.Host {
		root := t.TempDir()
		for _, dir := range []string{"etc/systemd/system", "usr/lib/systemd/system"} {
			if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return local(t, root)
	}
	hosttest.Init(t, func(t *testing.T) (host.Host, string) { return tree(t), "" })
	hosttest.Init(t, func(t *testing.T) (host.Host, string) { return host.NewShadow(tree(t)), "" })
}

// FuzzUnitFiles reads units of any text: the files of a host are nobody's own.
func FuzzUnitFiles(f *testing.F) {
	for _, seed := range []string{"[Service]\nType=oneshot\n", "[Install]\nAlso=a.service\nAlias=../x %i\nWantedBy=%", "[Install\nA", "[Install]\nWantedBy=/etc"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := host.NewMemory()
		for _, dir := range []string{"/etc", "/etc/systemd", "/etc/systemd/system"} {
			if err := h.Mkdir(dir, host.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.WriteFile(t.Context(), "/etc/systemd/system/a.service", host.Text(text), host.Meta{}); err != nil {
			t.Fatal(err)
		}
		i, err := host.UnitFiles(h, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []host.Verb{host.Enable, host.Disable} {
			_ = i.Do(t.Context(), verb, "a.service") // it may refuse, and not get out of its place
		}
		if entries, err := h.ReadDir("/etc"); err != nil || len(entries) != 1 {
			t.Errorf("/etc holds %v, %v", entries, err)
		}
	})
}

// In a tree below a root nothing is started, and a plan says so; also where somebody
// watches the host.
func TestNothingStartsBelowRoot(t *testing.T) {
	for system, files := range map[string][]string{
		"openrc":  {"/sbin/openrc-run", "/etc/init.d/web"},
		"systemd": {"/usr/lib/systemd/systemd", "/etc/systemd/system/web.service"},
	} {
		local, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			dir := ""
			for step := range strings.SplitSeq(strings.TrimPrefix(path.Dir(name), "/"), "/") {
				dir += "/" + step
				if err := local.Mkdir(dir, host.Meta{}); err != nil && !errors.Is(err, fs.ErrExist) {
					t.Fatal(err)
				}
			}
			if err := local.WriteFile(t.Context(), name, host.Text("[Service]\nExecStart=/bin/x\n"), host.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range []host.Host{host.NewShadow(local), host.NewShadow(host.Watched(local, host.Watcher{Run: func() {}})), host.NewShadow(local).Fork()} {
			i, err := host.InitOf(t.Context(), h, "")
			if err != nil || i.System() != system {
				t.Fatal(i, err)
			}
			err = i.Do(t.Context(), host.Start, path.Base(files[1]))
			if !errors.Is(err, host.ErrUnsupported) || errors.Is(err, host.ErrUnforeseeable) {
				t.Errorf("%s, %T: %v", system, h, err)
			}
		}
	}
}
