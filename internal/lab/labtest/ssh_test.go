//go:build lab

package labtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
	"github.com/tenetcm/tenet/states"
)

// fleet is some hosts, and who drives them by ssh. There is no tenet on them.
type fleet struct {
	*testing.T
	c     *lab.Controller
	hosts []*lab.Host
}

// The accounts of each host, beside root: all have the controller's key.
const (
	deploy   = "deploy"     // may do all by sudo, without a password
	asked    = "asked"      // may do all by sudo, with the password
	nosudo   = "nosudo"     // may not
	password = `geheim 7!'` // the password of "asked"
)

const loginAccounts = `for u in deploy asked nosudo; do useradd -m -s /bin/bash $u; done
echo 'deploy ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/deploy
echo 'asked ALL=(ALL:ALL) ALL' > /etc/sudoers.d/asked
printf '%s\n' "asked:$1" | chpasswd`

// muster boots hosts and lets a new controller in.
func muster(ctx context.Context, names ...string) (*fleet, error) {
	hosts, err := shared.run.BootAll(ctx, names...)
	if err != nil {
		return nil, err
	}
	return enrol(ctx, hosts...)
}

// enrol lets a new controller in to hosts, which get the accounts.
func enrol(ctx context.Context, hosts ...*lab.Host) (*fleet, error) {
	c, err := shared.run.Controller(ctx)
	if err != nil {
		return nil, err
	}
	f := &fleet{c: c, hosts: hosts}
	for _, h := range f.hosts {
		if out, err := h.Exec(ctx, "sh", "-ec", loginAccounts, "sh", password); err != nil || out.ExitCode != 0 {
			return nil, fmt.Errorf("accounts: %w %s", err, out.Stderr)
		}
		if err := c.Authorize(ctx, h, "root", deploy, asked, nosudo); err != nil {
			return nil, err
		}
	}
	return f, c.Trust(ctx, f.hosts...)
}

// twoHosts boots two hosts for a test alone, which runs beside others.
func twoHosts(t *testing.T) *fleet {
	t.Helper()
	t.Parallel()
	return ownHosts(t, nameOf(t)+"-1", nameOf(t)+"-2")
}

// ownHosts boots hosts for a test alone.
func ownHosts(t *testing.T, names ...string) *fleet {
	t.Helper()
	f, err := muster(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, h := range f.hosts {
			if err := h.PowerOff(); err != nil {
				t.Error(err)
			}
		}
	})
	f.T = t
	return f
}

// hostBlocks declares the hosts; each gets the attributes.
func (f *fleet) hostBlocks(attributes string) string {
	var b strings.Builder
	for _, h := range f.hosts {
		fmt.Fprintf(&b, "host %q {\n%s\n}\n\n", h.Name, attributes)
	}
	return b.String()
}

// asRoot declares the hosts, to be reached as root.
func (f *fleet) asRoot() string { return f.hostBlocks(`  user = "root"`) }

// site writes a site into a folder of the controller, which it returns as programs of
// the controller name it.
func (f *fleet) site(folder, text string) string {
	f.Helper()
	dir := filepath.Join(f.c.Home(), folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	return folder
}

// write writes a file of the controller's home.
func (f *fleet) write(name, text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.c.Home(), name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// tenetPath is the program on this machine.
func tenetPath() string { return filepath.Join(shared.bin, "tenet") }

// driven is how a run of tenet over hosts ended.
type driven struct {
	result
	stdout string
}

// tenet runs the program as the controller.
func (f *fleet) tenet(args ...string) driven {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Minute)
	defer cancel()
	r, err := f.c.Exec(ctx, append([]string{tenetPath()}, args...)...)
	if err != nil {
		f.Fatalf("tenet %s: %v\n%s%s", args, err, r.Stdout, r.Stderr)
	}
	return f.read(args, r)
}

// start starts the program as the controller.
func (f *fleet) start(args ...string) *lab.Process {
	f.Helper()
	p, err := f.c.Start(f.Context(), append([]string{tenetPath()}, args...)...)
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// read makes events of what it has printed, where these were asked for.
func (f *fleet) read(args []string, r lab.Result) driven {
	f.Helper()
	d := driven{result: result{status: r.ExitCode, stderr: string(r.Stderr)}, stdout: string(r.Stdout)}
	if !slices.Contains(args, "--json") {
		return d
	}
	for line := range strings.Lines(d.stdout) {
		var e states.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			f.Fatalf("tenet %s: no event: %s\n%s", args, line, d.stderr)
		}
		d.events = append(d.events, e)
	}
	return d
}

// on gives what happened on one host.
func (d driven) on(host string) driven {
	d.events = slices.DeleteFunc(slices.Clone(d.events), func(e states.Event) bool { return e.Host != host })
	return d
}

// applies applies a site, which must end with a status, and gives what happened.
func (f *fleet) applies(status int, args ...string) driven {
	f.Helper()
	d := f.tenet(append([]string{"apply", "--yes", "--json"}, args...)...)
	if d.status != status {
		f.Fatalf("apply %s: exit status %d, want %d\n%s%s\n%s", args, d.status, status, d.failures(), d.stderr, tail(d.stdout))
	}
	return d
}

// changes gives how many parts have changed on each host.
func (d driven) changes() map[string]int {
	n := map[string]int{}
	for _, e := range d.parts() {
		if e.Outcome == states.Changed {
			n[e.Host]++
		}
	}
	return n
}

// everywhere wants so many changes on each host.
func (f *fleet) everywhere(d driven, changes int) {
	f.Helper()
	want := map[string]int{}
	for _, h := range f.hosts {
		if changes > 0 {
			want[h.Name] = changes
		}
	}
	if got := d.changes(); !maps.Equal(got, want) {
		f.Errorf("changed %v, want %v\n%s%s", got, want, d.failures(), d.stderr)
	}
}

// on runs a script on a host, which must succeed, and returns what it prints.
func (f *fleet) on(host *lab.Host, script string) string {
	f.Helper()
	return (&machine{T: f.T, host: host}).shell(script)
}

// logins counts the connections that a host has let in so far.
func (f *fleet) logins(host *lab.Host) int {
	f.Helper()
	n, err := strconv.Atoi(f.on(host, "journalctl --sync; journalctl -t sshd -t sshd-session -o cat --no-pager | grep -c 'Accepted publickey' || true"))
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// within bounds the time of what is waited for.
func (f *fleet) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(f.Context(), d)
	f.Cleanup(cancel)
	return ctx
}

// eventually wants a script on a host to succeed before long.
func (f *fleet) eventually(host *lab.Host, d time.Duration, script string) {
	f.Helper()
	deadline := time.Now().Add(d)
	for {
		r, err := host.Shell(f.Context(), script)
		if err == nil && r.ExitCode == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.Fatalf("%s: not after %v: %s\n%v\n%s%s", host.Name, d, script, err, r.Stdout, r.Stderr)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func tail(s string) string { return s[max(0, len(s)-3000):] }
