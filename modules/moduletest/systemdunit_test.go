package moduletest_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/systemdunit"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	systemdUnitText = "[Unit]\nDescription=App\n[Service]\nExecStart=/usr/bin/app\n[Install]\nWantedBy=multi-user.target\n"
	systemdUnitFile = "/etc/systemd/system/app.service"
)

func newSystemdUnitHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Systemd(t, h)
	fake.Unit(t, h, "web.service", systemdUnitText)
	return h
}

func systemdUnitThere(t *testing.T, h host.Host) {
	fake.Put(t, h, systemdUnitFile, "[Service]\nExecStart=/bin/old\n", 0o644)
}

func enabled(t *testing.T, h host.Host) {
	fake.Put(t, h, systemdUnitFile, systemdUnitText, 0o644)
	fake.Link(t, h, systemdUnitFile, "/etc/systemd/system/multi-user.target.wants/app.service")
	fake.Start(t, h, "app.service")
}

// analyze is a systemd-analyze that says this, as the real one of Debian 12 does.
func analyze(said string) func(*testing.T, host.Host) {
	return func(_ *testing.T, h host.Host) {
		h.(*host.Memory).Handle("systemd-analyze", func(_ context.Context, c host.Command) (host.Result, error) {
			file := c.Argv[len(c.Argv)-1]
			return host.Result{ExitCode: 1, Stderr: []byte(strings.ReplaceAll(said, "FILE", file))}, nil
		})
	}
}

// knows is a systemd that tells what it knows, in the form of Debian 12.
func knows(_ *testing.T, h host.Host) {
	h.(*host.Memory).Handle("/lib/systemd/systemd", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("[Unit]\nDescription=STRING\nWants=UNIT [...]\n\n[Service]\nExecStart=PATH [ARGUMENT [...]]\n" +
			"Restart=SERVICERESTART\nPrivateTmp=BOOLEAN\nMemoryMax=LIMIT\n\n[Install]\nWantedBy=OTHER\n")}, nil
	})
}

func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	plain := map[string]any{"name": "app.service", "content": systemdUnitText}
	with := func(name, value string) map[string]any {
		return map[string]any{"name": "app.service", "content": systemdUnitText, name: value}
	}
	suite := statestest.Suite{Module: systemdunit.Module, Host: newSystemdUnitHost,
		Site:    fstest.MapFS{"app.service": {Data: []byte(systemdUnitText)}, "wrong": {Data: []byte("x")}},
		Hostile: map[string]any{"name": "app.service", "user": "alice", "drop_in": "more", "content": systemdUnitText},
		Cases: []statestest.Case{
			{Name: "create", Values: plain, Action: states.Create, Changes: []string{"content"}, Check: holds(systemdUnitFile, systemdUnitText)},
			{Name: "from the site", Values: map[string]any{"name": "app.service", "source": "app.service"}, Action: states.Create, Changes: []string{"content"}, Check: holds(systemdUnitFile, systemdUnitText)},
			{Name: "change", Prepare: systemdUnitThere, Values: plain, Action: states.Update, Changes: []string{"content"}, Check: holds(systemdUnitFile, systemdUnitText)},
			{Name: "nothing to do", Prepare: enabled, Values: plain},
			{Name: "drop-in", Values: map[string]any{"name": "web.service", "drop_in": "more", "content": "[Service]\nNice=5\n"}, Action: states.Create,
				Changes: []string{"content"}, Check: holds("/etc/systemd/system/web.service.d/more.conf", "[Service]\nNice=5\n")},
			{Name: "an account's", Values: with("user", "alice"), Action: states.Create, Changes: []string{"content"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					for _, at := range []string{"", "/app.service"} {
						info, err := h.Lstat("/home/alice/.config/systemd/user" + at)
						if err != nil || info.UID != 1000 {
							t.Errorf("%q: %+v, %v", at, info, err)
						}
					}
				}},
			{Name: "absent", Prepare: enabled, Ensure: states.Absent, Values: plain, Action: states.Remove, Changes: []string{"content"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if log := fake.Text(h, fake.SystemdLog); log != "stop app.service\n" {
						t.Errorf("systemd did %q", log)
					}
					if fake.Exists(h, "/etc/systemd/system/multi-user.target.wants/app.service") {
						t.Error("it is enabled still")
					}
				}},
			{Name: "others' mistakes", Prepare: analyze("/etc/systemd/system/b.service:1: Unknown key\nb.service: Refusing.\napp.service: Command /usr/bin/app is not executable: No such file or directory\n"),
				Values: plain, Action: states.Create, Changes: []string{"content"}},
			{Name: "refused", Prepare: analyze("FILE:4: Unknown key 'Foo' in section [Service], ignoring.\n"), Values: plain, OnlyOnHost: true,
				Fails: "systemd does not accept the unit:\napp.service:4: Unknown key 'Foo'"},
			{Name: "a setting that it does not know", Prepare: knows, Values: map[string]any{"name": "app.service", "content": systemdUnitText + "Wants=x\n[Service]\nMemorymax=1G\nFoo=1\nX-Mine=1\nRestart=\\\nnonsense=1\n"},
				Fails: "systemd does not accept the unit:\napp.service:7: unknown setting \"Wants\" in section [Install]: it belongs in [Unit]\n" +
					"app.service:9: unknown setting \"Memorymax\" in section [Service]: it is written MemoryMax\napp.service:10: unknown setting \"Foo\" in section [Service]"},
			{Name: "neither on nor off", Prepare: knows, Values: map[string]any{"name": "web.service", "drop_in": "more", "content": "[Service]\nPrivateTmp=maybe\n"},
				Fails: "more.conf:2: PrivateTmp is neither on nor off"},
			{Name: "settings that it knows", Prepare: knows, Values: map[string]any{"name": "app.service", "content": systemdUnitText + "[Service]\nPrivateTmp=\nPrivateTmp=Yes\nX-Mine=1\nMemoryMax=\\\n# Between=both\n  nonsense=1\n[X-Mine]\na=b\n"},
				Action: states.Create, Changes: []string{"content"}},
			{Name: "unknown, and not asked", Prepare: knows, Values: map[string]any{"name": "app.service", "content": systemdUnitText + "Foo=1\n", "verify": false},
				Action: states.Create, Changes: []string{"content"}},
			{Name: "not asked", Prepare: analyze("FILE:4: Unknown key\n"), Values: map[string]any{"name": "app.service", "content": systemdUnitText, "verify": false},
				Action: states.Create, Changes: []string{"content"}},
			{Name: "masked", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/dev/null", systemdUnitFile) }, Values: plain, Fails: "app.service is masked"},
			{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/opt/app.service", systemdUnitFile) }, Values: plain, Fails: "is a symbolic link to /opt/app.service"},
			{Name: "an account's link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc", "/home/alice/.config") },
				Values: with("user", "alice"), Fails: "/home/alice/.config is a symlink, and is not followed"},
			{Name: "nobody's", Values: with("user", "bob"), Fails: `there is no user "bob"`},
			{Name: "no text", Values: map[string]any{"name": "app.service"}, Fails: "neither content nor source"},
			{Name: "a wrong source", Values: map[string]any{"name": "app.service", "source": "wrong"}, Fails: "line 1: it is no setting"},
			{Name: "two texts", Values: with("source", "app.service"), Wrong: "cannot be given beside content"},
			{Name: "no kind", Values: map[string]any{"name": "app", "content": systemdUnitText}, Wrong: "does not say what kind of unit"},
			{Name: "an option", Values: map[string]any{"name": "-x.service", "content": systemdUnitText}, Wrong: "looks like an option"},
			{Name: "a path", Values: map[string]any{"name": "../x.service", "content": systemdUnitText}, Wrong: "name"},
			{Name: "a path in a drop-in", Values: with("drop_in", "../x"), Wrong: "drop_in"},
			{Name: "another's section", Values: map[string]any{"name": "app.timer", "content": systemdUnitText}, Wrong: "line 3: .timer has no section [Service]"},
			{Name: "no setting", Values: map[string]any{"name": "app.service", "content": "[Service]\nExecStart\n"}, Wrong: "line 2: it is no setting"},
			{Name: "NUL", Values: map[string]any{"name": "app.service", "content": "[Service]\nA=\x00\n"}, Wrong: "line 2: it holds what is no text"},
			{Name: "nothing follows", Values: map[string]any{"name": "app.service", "content": "[Service]\nA=b \\\n"}, Wrong: "goes on nowhere"},
			{Name: "empty", Values: map[string]any{"name": "app.service", "content": "# nothing\n"}, Wrong: "it has no section"},
		}}
	statestest.Run(t, suite)
}

// Below a root there are only the files.
// The files of a systemd_timer are that one's to import.
func TestSystemdUnitListLeavesTimersOut(t *testing.T) {
	t.Parallel()
	h := newSystemdUnitHost(t)
	fake.Put(t, h, "/etc/systemd/system/own.service", "[Service]\nExecStart=/bin/true\n", 0o644)
	fake.Put(t, h, "/etc/systemd/system/tidy.timer", "# Written by tenet: what is changed here is put back.\n[Timer]\n", 0o644)
	found, err := systemdunit.Module.List(t.Context(), h, nil)
	if err != nil || len(found) != 1 || found[0].(*systemdunit.Unit).Name != "own.service" {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestSystemdUnitBelowRoot(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: systemdunit.Module, Host: func(t *testing.T) host.Host {
		l, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		fake.Dir(t, l, "/etc/systemd/system", 0o755)
		return l
	}, Cases: []statestest.Case{
		{Name: "create", Values: map[string]any{"name": "app.service", "content": systemdUnitText}, Action: states.Create, Changes: []string{"content"}, Check: holds(systemdUnitFile, systemdUnitText)},
		{Name: "drop-in", Values: map[string]any{"name": "app.service", "drop_in": "x", "content": "[Unit]\n"}, Action: states.Create, Changes: []string{"content"}},
	}})
}

// Several units are one reason to read all files anew.
func TestSystemdUnitSeveralUnits(t *testing.T) {
	t.Parallel()
	counted := &counting{Host: newSystemdUnitHost(t)}
	item := func(name string) states.Item {
		want, err := systemdunit.Module.Decode(map[string]any{"name": name, "content": systemdUnitText}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return states.Item{Want: want}
	}
	for i, err := range systemdunit.Module.Batch(t.Context(), counted, []states.Item{item("a.service"), item("b.service"), item("c.service")}) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if counted.refreshed != 1 {
		t.Errorf("systemd read its files %d times", counted.refreshed)
	}
}

// counting is a host that counts how often its init system reads its files anew.
type counting struct {
	host.Host
	refreshed int
}

func (c *counting) Init(ctx context.Context, user string) (host.Init, error) {
	i, err := host.InitOf(ctx, c.Host, user)
	return countingInit{i, c}, err
}
func (c *counting) Links(ctx context.Context) (links.Devices, error) { return nil, host.ErrUnsupported }
func (c *counting) Network() (host.Network, error)                   { return nil, host.ErrUnsupported }
func (c *counting) Tune(string, string) error                        { return host.ErrUnsupported }

type countingInit struct {
	host.Init
	c *counting
}

func (i countingInit) Refresh(ctx context.Context) error {
	i.c.refreshed++
	return i.Init.Refresh(ctx)
}

// A file that an act has put in place which nobody saw end is made known to systemd.
func TestSystemdUnitRecover(t *testing.T) {
	t.Parallel()
	h := &counting{Host: newSystemdUnitHost(t)}
	want, err := systemdunit.Module.Decode(map[string]any{"name": "app.service", "content": systemdUnitText}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := systemdunit.Module.Recover(t.Context(), h, want, states.Begun{}); err != nil || h.refreshed != 1 {
		t.Errorf("systemd read its files %d times, %v", h.refreshed, err)
	}
}
