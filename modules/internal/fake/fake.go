// Package fake gives the modules' tests a simulated machine to which they add
// what they need, one thing after the other; see modules/simulated.
package fake

import (
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// The files in which the simulated programs keep what they did.
const (
	AptLock    = simulated.AptLock
	AptLog     = simulated.AptLog
	SystemdLog = simulated.SystemdLog
)

// Host is a small Debian with the user alice, without apt and systemd.
func Host(t testing.TB) *host.Memory {
	t.Helper()
	h, err := simulated.New(t.Context(), simulated.Machine{
		NoApt: true, NoSystemd: true,
		Groups: map[string]simulated.Group{"adm": {Members: []string{"alice"}}},
		Users: map[string]simulated.User{"alice": {
			UID: new(1000), Comment: "Alice", Shell: "/bin/bash", Password: "$6$salt$alice",
		}},
	})
	must(t, err)
	return h
}

// Apt adds apt-get, apt-cache and apt-mark.
func Apt(t testing.TB, h *host.Memory) {
	t.Helper()
	must(t, simulated.AddApt(t.Context(), h))
}

// Offer puts versions of a package into the repository, the newest last, and
// into the package lists if listed.
func Offer(t testing.TB, h host.Host, listed bool, name string, versions ...string) {
	t.Helper()
	must(t, simulated.Offer(t.Context(), h, listed, name, versions...))
}

// Provide makes a name virtual, which these packages provide.
func Provide(t testing.TB, h host.Host, name string, by ...string) {
	t.Helper()
	must(t, simulated.Provide(t.Context(), h, name, by...))
}

// Installed puts a package into dpkg's record; want is its selection state,
// "install" or "hold".
func Installed(t testing.TB, h host.Host, name, version, want string) {
	t.Helper()
	must(t, simulated.RecordInstalled(t.Context(), h.(*host.Memory), name, version, want))
}

// Needed makes packages need another one: they are removed with it.
func Needed(t testing.TB, h host.Host, name string, by ...string) {
	t.Helper()
	must(t, simulated.Need(t.Context(), h, name, by...))
}

// Systemd adds systemctl, and what it needs to run.
func Systemd(t testing.TB, h *host.Memory) {
	t.Helper()
	must(t, simulated.AddSystemd(t.Context(), h))
}

// Unit adds a unit file.
func Unit(t testing.TB, h host.Host, name, text string) {
	t.Helper()
	must(t, simulated.AddUnit(t.Context(), h, name, text))
}

// Start makes a unit run.
func Start(t testing.TB, h host.Host, name string) {
	t.Helper()
	must(t, simulated.StartUnit(t.Context(), h, name))
}

// Put writes a file, with the directories above it.
func Put(t testing.TB, h host.Host, name, content string, mode fs.FileMode) {
	t.Helper()
	must(t, simulated.WriteFile(t.Context(), h, name, content, host.Meta{Mode: &mode}))
}

// Alice gives a file to the user alice, with a mode that she could have chosen.
func Alice(t testing.TB, h host.Host, name string, mode fs.FileMode) {
	t.Helper()
	must(t, h.SetMeta(name, host.Meta{Mode: &mode, UID: new(1000), GID: new(1000)}))
}

// HasMode is a check that a file has a mode, and belongs to a user.
func HasMode(name string, uid int, mode fs.FileMode) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		if info, err := h.Lstat(name); err != nil || info.UID != uid || info.Mode != mode {
			t.Errorf("%s belongs to %d and has mode %v, %v; want %d and %v", name, info.UID, info.Mode, err, uid, mode)
		}
	}
}

// Dir makes a directory, with those above it.
func Dir(t testing.TB, h host.Host, name string, mode fs.FileMode) {
	t.Helper()
	must(t, simulated.MakeDirectory(h, name, &mode))
}

// Link makes a symbolic link, with the directories above it.
func Link(t testing.TB, h host.Host, target, name string) {
	t.Helper()
	must(t, simulated.Link(h, target, name))
}

// Text reads a file, "" where there is none.
func Text(h host.Reader, name string) string { return simulated.Text(h, name) }

// Exists reports whether something is at the path.
func Exists(h host.Reader, name string) bool { return simulated.Exists(h, name) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Answer and Port are what somebody on the network answers, and where somebody
// listens.
type (
	Answer = simulated.Answer
	Port   = simulated.Port
)

// Network gives the machine a network of these.
func Network(h *host.Memory, answers []Answer, ports ...Port) {
	simulated.Connect(h, answers, ports)
}
