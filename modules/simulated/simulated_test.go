package simulated_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

func newMachine(t *testing.T, m simulated.Machine) *host.Memory {
	t.Helper()
	h, err := simulated.New(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func run(t *testing.T, h *host.Memory, line string) host.Result {
	t.Helper()
	r, err := h.Run(t.Context(), host.Command{Argv: strings.Fields(line)})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

func TestFilesAndOwners(t *testing.T) {
	h := newMachine(t, simulated.Machine{
		Groups: map[string]simulated.Group{"app": {GID: new(700)}},
		Users:  map[string]simulated.User{"deploy": {Groups: []string{"app"}, Home: "/home/deploy"}},
		Files: map[string]simulated.File{"/srv/app/conf": {Content: "x",
			Meta: simulated.Meta{Mode: new(fs.FileMode(0o640)), Owner: "deploy", Group: "app"}}},
		Directories: map[string]simulated.Directory{"/tmp": {simulated.Meta{Mode: new(fs.FileMode(0o700))}}},
		Links:       map[string]string{"/srv/link": "app/conf"},
	})
	info, err := h.Lstat("/srv/app/conf")
	if err != nil || info.Mode != 0o640 || info.UID != 1000 || info.GID != 700 {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err := h.Lstat("/tmp"); err != nil || info.Mode != 0o700 {
		t.Errorf("a directory that is there takes the described mode: %+v, %v", info, err)
	}
	if simulated.Text(h, "/srv/link") != "x" {
		t.Error("the link leads nowhere")
	}
	if info, err := h.Lstat("/home/deploy"); err != nil || info.UID != 1000 {
		t.Errorf("the home: %+v, %v", info, err)
	}
	if g, err := h.Group("app"); err != nil || len(g.Members) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}

// What a package holds comes with it and goes with it, configuration only in a
// purge.
func TestPackageContents(t *testing.T) {
	h := newMachine(t, simulated.Machine{Packages: map[string]simulated.Package{"web": {
		Available: []string{"1", "2"}, Services: []string{"web"},
		Files: map[string]string{"/etc/web.conf": "plain\n", "/usr/share/web/index": "index\n"},
	}}})
	run(t, h, "apt-get -y install -- web=1")
	if v, _ := simulated.InstalledVersion(h, "web"); v != "1" {
		t.Errorf("version %q", v)
	}
	if s, ok := simulated.ServiceOf(h, "web"); !ok || !s.Running || !s.Enabled {
		t.Errorf("the service: %+v", s)
	}
	if err := simulated.WriteFile(t.Context(), h, "/etc/web.conf", "mine\n", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	run(t, h, "apt-get -y install -- web")
	if v, _ := simulated.InstalledVersion(h, "web"); v != "2" || simulated.Text(h, "/etc/web.conf") != "mine\n" {
		t.Errorf("version %q, configuration %q", v, simulated.Text(h, "/etc/web.conf"))
	}
	run(t, h, "apt-get -y remove -- web")
	if _, ok := simulated.ServiceOf(h, "web"); ok || simulated.Exists(h, "/usr/share/web/index") || !simulated.Exists(h, "/etc/web.conf") {
		t.Error("remove leaves the wrong things")
	}
	run(t, h, "apt-get -y purge -- web")
	if simulated.Exists(h, "/etc/web.conf") {
		t.Error("purge leaves the configuration")
	}
	if r := run(t, h, "apt-get -y install -- nosuch"); r.ExitCode != 100 {
		t.Errorf("%+v", r)
	}
}

// A unit that the administrator wrote counts like a package's.
func TestUnits(t *testing.T) {
	h := newMachine(t, simulated.Machine{
		Files: map[string]simulated.File{
			"/etc/systemd/system/app@.service": {Content: "[Service]\nExecStart=/bin/app\n[Install]\nWantedBy=other.target\n"},
		},
		Services: map[string]simulated.Service{
			"db":     {Running: true, Enabled: true},
			"hidden": {Masked: true},
			"broken": {Unit: "[Service]\nExecStart=/bin/false\n"},
		},
	})
	if r := run(t, h, "systemctl enable --now -- app@one.service"); r.ExitCode != 0 {
		t.Errorf("%s", r.Stderr)
	}
	if s, ok := simulated.ServiceOf(h, "app@one"); !ok || !s.Running || !s.Enabled {
		t.Errorf("%+v", s)
	}
	if !simulated.Exists(h, "/etc/systemd/system/other.target.wants/app@one.service") {
		t.Error("it is not where WantedBy says")
	}
	for line, code := range map[string]int{
		"systemctl start -- hidden.service": 5, "systemctl start -- broken.service": 1, "systemctl start -- nosuch.service": 5,
		"systemctl is-active -- db.service": 0, "systemctl is-active -- broken.service": 3, "systemctl nosuch -- db.service": 1,
	} {
		if r := run(t, h, line); r.ExitCode != code {
			t.Errorf("%s ends with %d: %s", line, r.ExitCode, r.Stderr)
		}
	}
}

func TestCommands(t *testing.T) {
	h := newMachine(t, simulated.Machine{
		Packages: map[string]simulated.Package{"web": {Available: []string{"1"}}},
		Commands: []simulated.Command{
			{Name: "issue", Argv: []string{"issue", "a"}, Missing: "/pem", Creates: map[string]string{"/pem": "cert"}},
			{Name: "issue", Argv: []string{"issue", "a"}, ExitCode: 3, Stderr: "twice"},
			{Name: "issue", Argv: []string{"/bin/issue", "*", "-x", "..."}, Removes: []string{"/pem"}},
			{Name: "web", Package: "web", Stdout: "web"},
		},
	})
	if r := run(t, h, "issue a"); r.ExitCode != 0 || simulated.Text(h, "/pem") != "cert" {
		t.Errorf("%+v", r)
	}
	if r := run(t, h, "/usr/bin/issue a"); r.ExitCode != 3 || string(r.Stderr) != "twice" {
		t.Errorf("%+v", r)
	}
	if run(t, h, "issue any -x 1 2"); simulated.Exists(h, "/pem") {
		t.Error("/pem is still there")
	}
	_, err := h.Run(t.Context(), host.Command{Argv: []string{"issue", "b"}})
	if none, ok := errors.AsType[*simulated.NoAnswerError](err); !ok || !strings.Contains(none.Error(), `["issue", "b"]`) {
		t.Errorf("a call that nobody described: %v", err)
	}
	for _, name := range []string{"nosuch", "web"} {
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{name}}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	run(t, h, "apt-get -y install -- web")
	if r := run(t, h, "web --any thing"); string(r.Stdout) != "web" {
		t.Errorf("%+v", r)
	}
}

// A plan sees all there is, and a description that cannot be is an error.
func TestStateIsInTheTree(t *testing.T) {
	h := newMachine(t, simulated.Machine{Services: map[string]simulated.Service{"db": {Running: true}}})
	shadow := host.NewShadow(h)
	if s, ok := simulated.ServiceOf(shadow, "db"); !ok || !s.Running {
		t.Errorf("%+v", s)
	}
	for want, m := range map[string]simulated.Machine{
		`file "etc/x": `:      {Files: map[string]simulated.File{"etc/x": {}}},
		`no user "nobody2"`:   {Files: map[string]simulated.File{"/x": {Meta: simulated.Meta{Owner: "nobody2"}}}},
		`is a file`:           {Files: map[string]simulated.File{"/x": {}, "/x/y": {}}},
		`no apt`:              {NoApt: true, Packages: map[string]simulated.Package{"x": {}}},
		`systemd does not`:    {NoSystemd: true, Services: map[string]simulated.Service{"x": {}}},
		`no group "nosuch"`:   {Users: map[string]simulated.User{"x": {Group: "nosuch"}}},
		`name of an account`:  {Users: map[string]simulated.User{"x:y": {}}},
		`no user "nosuch"`:    {Groups: map[string]simulated.Group{"x": {Members: []string{"nosuch"}}}},
		`does not begin with`: {Commands: []simulated.Command{{Name: "x", Argv: []string{"y"}}}},
		`cannot stand in`:     {Users: map[string]simulated.User{"x": {Home: "/a:b"}}},
	} {
		_, err := simulated.New(t.Context(), m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Broken tables are no reason to panic.
func TestBrokenTables(t *testing.T) {
	h := newMachine(t, simulated.Machine{Files: map[string]simulated.File{
		"/etc/passwd": {Content: "\n:\nx\nalice:x:1000\n"}, "/etc/group": {Content: "x\n:::\n"}, "/etc/shadow": {Content: ""},
	}})
	for _, line := range []string{
		"useradd --create-home --groups x,y new", "usermod --lock alice", "usermod --gid x alice", "userdel alice", "userdel nosuch",
		"chpasswd", "groupadd --gid 5 g", "groupmod --gid 6 x", "groupdel x", "groupdel nosuch", "gpasswd --members a,b g", "useradd",
		"apt-get install", "apt-get", "apt-mark hold", "systemctl", "useradd --uid",
	} {
		run(t, h, line)
	}
}

func TestFacts(t *testing.T) {
	h := newMachine(t, simulated.Machine{Name: "web1"})
	facts, err := simulated.Facts(h, map[string]any{"os": map[string]any{"version": "13"}, "cpus": "8"})
	if err != nil {
		t.Fatal(err)
	}
	os, err := facts.Fact("os")
	if m, ok := os.(map[string]any); err != nil || !ok || m["version"] != "13" || m["family"] != "debian" {
		t.Errorf("os = %v, %v", os, err)
	}
	for name, want := range map[string]any{
		"cpus": "8", "arch": "amd64", "init": "systemd", "package_manager": "apt", "hostname": "web1", "user": "root",
		"home": "/root", "virtual": "none", "kernel": "6.1.0-simulated",
	} {
		if have, err := facts.Fact(name); err != nil || have != want {
			t.Errorf("%s = %v, %v", name, have, err)
		}
	}
	if _, err := simulated.Facts(h, map[string]any{"nosuch": 1}); err == nil {
		t.Error("an unknown fact is accepted")
	}
}
