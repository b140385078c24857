package hosttest

import (
	"errors"
	"io/fs"
	"path"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// OpenInit makes a host for one test, with the account whose services are tried: ""
// is the machine's own.
type OpenInit func(t *testing.T) (h host.Host, user string)

// Init runs the suite that every Init of systemd passes: one that runs, one of
// files alone, and the shadow of either.
func Init(t *testing.T, open OpenInit) {
	for name, test := range map[string]func(*initTester){
		"unknown": testUnknown, "enable": testEnable, "alias and also": testAlias, "template": testTemplate, "mask": testMask,
		"run": testRun, "fail": testFail, "drop-in": testDropIn,
	} {
		t.Run(name, func(t *testing.T) {
			h, user := open(t)
			i, err := host.InitOf(t.Context(), h, user)
			if err != nil {
				t.Fatal(err)
			}
			x := &initTester{T: t, h: h, i: i, dir: "/etc/systemd/system", vendor: "/usr/lib/systemd/system"}
			if user != "" {
				u, err := h.User(user)
				if err != nil {
					t.Fatal(err)
				}
				x.dir, x.vendor = u.Home+"/.config/systemd/user", u.Home+"/.local/share/systemd/user"
			}
			defer x.clean()
			test(x)
		})
	}
}

// initTester is an init system under test.
type initTester struct {
	*testing.T
	h           host.Host
	i           host.Init
	dir, vendor string // where unit files are, of the administrator and of packages
	files       []string
}

// unit writes a file.
func (x *initTester) unit(dir, name, text string) {
	x.Helper()
	at := path.Join(dir, name)
	if err := x.h.Mkdir(path.Dir(at), host.Meta{}); err != nil && !errors.Is(err, fs.ErrExist) {
		x.Fatal(err)
	}
	if err := x.h.WriteFile(x.Context(), at, host.Text(text), host.Meta{}); err != nil {
		x.Fatal(err)
	}
	x.files = append(x.files, at)
	x.refresh()
}

func (x *initTester) refresh() {
	x.Helper()
	if err := x.i.Refresh(x.Context()); err != nil {
		x.Fatal(err)
	}
}

func (x *initTester) clean() {
	for _, at := range x.files {
		if s, err := x.i.Service(x.Context(), path.Base(at)); err == nil && s.Runs() {
			x.do(host.Stop, s.Name)
		}
		if err := x.h.Remove(at); err != nil {
			x.Error(err)
		}
	}
	x.refresh()
}

// do carries out a verb. What a plan cannot foresee is as good.
func (x *initTester) do(verb host.Verb, name string) {
	x.Helper()
	if err := x.i.Do(x.Context(), verb, name); err != nil && !errors.Is(err, host.ErrUnforeseeable) {
		x.Fatalf("%s %s: %v", verb, name, err)
	}
}

func (x *initTester) status(name string) host.Service {
	x.Helper()
	s, err := x.i.Service(x.Context(), name)
	if err != nil {
		x.Fatalf("%s: %v", name, err)
	}
	if s.Name != name {
		x.Errorf("%s is called %q", name, s.Name)
	}
	return s
}

// enablement wants a unit to be enabled in this way.
func (x *initTester) enablement(name, want string) {
	x.Helper()
	if is := x.status(name).Enablement; is != want {
		x.Errorf("%s is %q, want %q", name, is, want)
	}
}

const (
	sleeps  = "[Service]\nExecStart=/bin/sleep infinity\n"
	install = "[Install]\nWantedBy=default.target\n"
)

func testUnknown(x *initTester) {
	if x.i.System() != "systemd" {
		x.Errorf("it is %q", x.i.System())
	}
	if _, err := x.i.Service(x.Context(), "tt-none.service"); !errors.Is(err, fs.ErrNotExist) {
		x.Errorf("asked: %v", err)
	}
	if err := x.i.Do(x.Context(), host.Enable, "tt-none.service"); !errors.Is(err, fs.ErrNotExist) {
		x.Errorf("enabled: %v", err)
	}
}

func testEnable(x *initTester) {
	x.unit(x.dir, "tt-one.service", sleeps+"ExecReload=/bin/true\n"+install)
	x.unit(x.dir, "tt-static.service", sleeps)
	if s := x.status("tt-one.service"); s.Load != "loaded" || s.Type != "simple" || !s.CanReload || s.Runs() || s.Enablement != "disabled" {
		x.Errorf("at first it is %+v", s)
	}
	x.do(host.Enable, "tt-one.service")
	x.enablement("tt-one.service", "enabled")
	if _, err := x.h.Lstat(path.Join(x.dir, "default.target.wants/tt-one.service")); err != nil {
		x.Error(err)
	}
	x.do(host.Enable, "tt-one.service")
	x.do(host.Disable, "tt-one.service")
	x.enablement("tt-one.service", "disabled")
	x.enablement("tt-static.service", "static")
	if err := x.i.Do(x.Context(), host.Enable, "tt-static.service"); err == nil {
		x.Error("a static unit is enabled")
	}
	names := map[string]string{}
	services, err := x.i.Services(x.Context())
	if err != nil {
		x.Fatal(err)
	}
	for _, s := range services {
		names[s.Name] = s.Enablement
	}
	if names["tt-one.service"] != "disabled" || names["tt-static.service"] != "static" {
		x.Errorf("listed as %q and %q", names["tt-one.service"], names["tt-static.service"])
	}
}

func testAlias(x *initTester) {
	x.unit(x.dir, "tt-helper.socket", "[Socket]\nListenStream=/tmp/tt-helper\n[Install]\nWantedBy=sockets.target\n")
	x.unit(x.dir, "tt-main.service", sleeps+"[Install]\nAlias=tt-other.service\nAlso=tt-helper.socket\n")
	x.unit(x.dir, "tt-helper.service", sleeps+"[Install]\nAlso=tt-helper.socket\n")
	x.enablement("tt-helper.service", "indirect")
	x.do(host.Enable, "tt-main.service")
	x.enablement("tt-main.service", "enabled")
	x.enablement("tt-helper.socket", "enabled")
	if s, err := x.i.Service(x.Context(), "tt-other.service"); err != nil || s.Enablement != "alias" {
		x.Errorf("the other name: %+v, %v", s, err)
	}
	x.do(host.Disable, "tt-main.service")
	x.enablement("tt-main.service", "disabled")
	x.enablement("tt-helper.socket", "disabled")
}

func testTemplate(x *initTester) {
	x.unit(x.dir, "tt-many@.service", sleeps+"[Install]\nWantedBy=tt-%i.target\n")
	x.enablement("tt-many@one.service", "disabled")
	x.do(host.Enable, "tt-many@one.service")
	x.enablement("tt-many@one.service", "enabled")
	x.enablement("tt-many@two.service", "disabled")
	x.do(host.Disable, "tt-many@one.service")
	x.enablement("tt-many@one.service", "disabled")
}

func testMask(x *initTester) {
	x.unit(x.vendor, "tt-masked.service", sleeps+install)
	x.do(host.Mask, "tt-masked.service")
	if s := x.status("tt-masked.service"); s.Load != "masked" || s.Enablement != "masked" {
		x.Errorf("masked it is %+v", s)
	}
	if err := x.i.Do(x.Context(), host.Start, "tt-masked.service"); err == nil || errors.Is(err, host.ErrUnforeseeable) {
		x.Errorf("it is started: %v", err)
	}
	if err := x.i.Do(x.Context(), host.Enable, "tt-masked.service"); err == nil {
		x.Error("it is enabled")
	}
	x.do(host.Mask, "tt-masked.service")
	x.do(host.Unmask, "tt-masked.service")
	x.enablement("tt-masked.service", "disabled")
	x.do(host.Unmask, "tt-masked.service")
	x.unit(x.dir, "tt-own.service", sleeps)
	if err := x.i.Do(x.Context(), host.Mask, "tt-own.service"); err == nil {
		x.Error("a mask took the place of the administrator's own file")
	}
}

// offline reports whether nothing runs, and checks that it is said.
func (x *initTester) offline(name string) bool {
	if x.status(name).Active != "" {
		return false
	}
	err := x.i.Do(x.Context(), host.Start, name)
	if _, ok := errors.AsType[*host.NotRunning](err); !ok {
		x.Errorf("started where nothing runs: %v", err)
	}
	return true
}

func testRun(x *initTester) {
	x.unit(x.dir, "tt-run.service", sleeps+"ExecReload=/bin/true\n")
	x.unit(x.dir, "tt-once.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
	if x.offline("tt-run.service") {
		return
	}
	for _, step := range []struct {
		verb host.Verb
		runs bool
	}{{host.Start, true}, {host.Start, true}, {host.Reload, true}, {host.Restart, true}, {host.Stop, false}, {host.Stop, false}, {host.Restart, true}, {host.Stop, false}} {
		x.do(step.verb, "tt-run.service")
		if s := x.status("tt-run.service"); s.Runs() != step.runs {
			x.Errorf("after %s: %+v", step.verb, s)
		}
	}
	x.do(host.Start, "tt-once.service")
	if s := x.status("tt-once.service"); s.Runs() || s.Type != "oneshot" {
		x.Errorf("a oneshot: %+v", s)
	}
}

func testFail(x *initTester) {
	x.unit(x.dir, "tt-fail.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
	x.unit(x.dir, "tt-short.service", "[Service]\nType=simple\nExecStart=/bin/false\n")
	if x.offline("tt-fail.service") {
		return
	}
	for _, name := range []string{"tt-fail.service", "tt-short.service"} {
		err := x.i.Do(x.Context(), host.Start, name)
		if _, failed := errors.AsType[*host.ServiceError](err); !failed && !errors.Is(err, host.ErrUnforeseeable) {
			x.Errorf("%s: %v", name, err)
		}
	}
}

func testDropIn(x *initTester) {
	x.unit(x.dir, "tt-drop.service", sleeps)
	x.unit(path.Join(x.dir, "tt-drop.service.d"), "x.conf", "[Service]\nExecReload=/bin/true\n[Install]\nWantedBy=default.target\n")
	if s := x.status("tt-drop.service"); !s.CanReload {
		x.Errorf("with a drop-in that reloads: %+v", s)
	}
}
