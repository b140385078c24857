//go:build lab

package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

// entry is a host as a site declares it: often an account of a machine that has
// several such entries.
type entry struct {
	name       string
	attributes string // further ones
	config     string // of ssh
	prepare    string // a script for the account's machine, as root, in its home
	says       string // what its line must match; empty: it works
}

// line is what a site that uses entries makes on each.
const line = `
file "mark" {
  path    = "${fact.home}/mark-${host.name}"
  content = "by tenet\n"
}

file "copy" {
  path   = "${fact.home}/copy-${host.name}"
  source = "copied"
}
`

// odd is one machine with many accounts, each with something the matter, and one that
// has nothing.
type odd struct {
	*fleet
	machine, good *lab.Host
}

func oddHost(t *testing.T) *odd {
	t.Parallel()
	f := ownHosts(t, "odd-"+nameOf(t), "good-"+nameOf(t))
	return &odd{f, f.hosts[0], f.hosts[1]}
}

// declare makes a site of entries, whose accounts it makes, and of the good host.
func (o *odd) declare(folder string, entries []entry, rest string) string {
	o.Helper()
	var site, config strings.Builder
	fmt.Fprintf(&site, "host \"good\" {\n  address = %q\n  user    = \"root\"\n}\n", o.good.Name)
	for _, e := range entries {
		account := "a-" + e.name
		o.on(o.machine, fmt.Sprintf("useradd -m -s /bin/bash %s && cd /home/%[1]s && %s", account, or(e.prepare, "true")))
		if err := o.c.Authorize(o.Context(), o.machine, account); err != nil {
			o.Fatal(err)
		}
		attributes := e.attributes
		if !strings.Contains(attributes, "user ") {
			attributes += fmt.Sprintf("\n  user = %q", account)
		}
		if !strings.Contains(attributes, "address ") {
			attributes += fmt.Sprintf("\n  address = %q", o.machine.Name)
		}
		if e.config != "" {
			attributes = strings.Replace(attributes, strconv.Quote(o.machine.Name), strconv.Quote(e.name), 1)
			fmt.Fprintf(&config, "Host %s\n  HostName %s\n  %s\n", e.name, o.machine.Name, e.config)
		}
		fmt.Fprintf(&site, "host %q {\n%s\n}\n", e.name, attributes)
	}
	if err := os.WriteFile(filepath.Join(o.c.Home(), ".ssh", "config"), []byte(config.String()), 0o600); err != nil {
		o.Fatal(err)
	}
	name := o.site(folder, site.String()+rest)
	o.write(name+"/copied", strings.Repeat("as it was sent\n", 1000))
	return name
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// tell wants one line for each entry that cannot work, and the others to have gone on.
func (o *odd) tell(d driven, status int, entries []entry) {
	o.Helper()
	defer func() {
		if o.Failed() {
			o.Logf("%s\n%s", d.stdout, d.stderr)
		}
	}()
	if d.status != status {
		o.Errorf("exit status %d, want %d", d.status, status)
	}
	for _, e := range entries {
		if e.says == "" {
			o.on(o.machine, "test -f /home/a-"+e.name+"/mark-"+e.name+" || test -f /root/mark-"+e.name)
			continue
		}
		// One line says what is the matter; a hint may come below it.
		wanted := regexp.MustCompile("^" + e.name + " +✗ (could not be reached|failed): .*(" + e.says + ")")
		lines := 0
		for text := range strings.Lines(d.stdout + d.stderr) {
			if wanted.MatchString(text) {
				lines++
			}
		}
		if lines != 1 {
			o.Errorf("%s: %d lines name it and say %q", e.name, lines, e.says)
		}
	}
	o.on(o.good, "rm /root/mark-good")
}

// What cannot be reached.
func TestSSHCannotBeReached(t *testing.T) {
	o := oddHost(t)
	entries := []entry{
		{name: "unknownkey", config: "HostKeyAlias unknown.example.test", says: "is not known here"},
		{name: "changedkey", config: "HostKeyAlias changed.example.test", says: "not the one that is known"},
		{name: "wronguser", attributes: `user = "stranger"`, says: "stranger.*|[Pp]ermission denied"},
		{name: "expired", prepare: "chage -E 0 a-expired", says: "ended the connection before a login: Your account has expired"},
		{name: "refused", attributes: "port = 2201", says: "refused"},
		{name: "noname", attributes: `address = "no-such-host"`, says: "resolve|not known|no such"},
		{name: "stopped", attributes: "port = 2202", says: "in time|timed out|did not answer|does not answer|no answer"},
		{name: "away", attributes: `address = "10.77.0.250"`, says: "route|timed out|in time|no answer"},
	}
	site := o.declare("unreachable", entries, line)
	o.on(o.machine, `mkdir -p /run/sshd; /usr/sbin/sshd -p 2202 -o PidFile=/run/sshd-2202.pid; until test -s /run/sshd-2202.pid; do sleep 0.05; done; kill -STOP $(cat /run/sshd-2202.pid)`)
	// The key of another host.
	other, err := o.c.Exec(t.Context(), "sh", "-c", "ssh-keygen -q -t ed25519 -N '' -f other && cut -d' ' -f1,2 other.pub | sed 's/^/changed.example.test /' >> .ssh/known_hosts")
	if err != nil || other.ExitCode != 0 {
		t.Fatalf("%+v %v", other, err)
	}
	began := time.Now()
	d := o.tenet("apply", "--yes", "--connect-timeout", "8s", site)
	if took := time.Since(began); took > 2*time.Minute { // they are asked side by side, 8 s each
		t.Errorf("it took %v", took)
	}
	o.tell(d, 5, entries)
}

// What is reached, and lacks something.
func TestSSHReachedInVain(t *testing.T) {
	o := oddHost(t)
	const small = "install -d -o $(basename $PWD) .cache && mount -t tmpfs -o mode=0777"
	entries := []entry{
		{name: "nosudo", attributes: `become = "root"`, says: "sudo"},
		{name: "password", attributes: `become = "root"`, prepare: "echo 'a-password ALL=(ALL) ALL' > /etc/sudoers.d/a-password", says: "password"},
		{name: "nospace", prepare: small + ",size=64k tmpfs .cache", says: "/home/a-nospace/.cache/tenet, is on a full disk"},
		{name: "noexec", prepare: small + ",noexec tmpfs .cache", says: "/home/a-noexec/.cache/tenet: .*noexec"},
		{name: "closed", prepare: "mkdir -m 0500 .cache", says: "/home/a-closed/.cache"},
		{name: "strange", prepare: "mkdir bin && printf '#!/bin/sh\\necho Linux s390x\\n' > bin/uname && chmod +x bin/uname && sed -i '1i PATH=~/bin:$PATH' .bashrc", says: "s390x"},
		{name: "nologin", prepare: "chsh -s /usr/sbin/nologin a-nologin", says: "not available|shell"},
		{name: "hangs", prepare: "sed -i '1i sleep 600' .bashrc", says: "no answer within 12s"},
		{name: "noise", prepare: "sed -i '1i yes | head -c 5000000; exit' .bashrc", says: "prints so much"},
	}
	site := o.declare("vain", entries, line)
	o.tell(o.tenet("apply", "--yes", "--connect-timeout", "12s", site), 1, entries)
}

// What is odd and works all the same.
func TestSSHOddAndWell(t *testing.T) {
	o := oddHost(t)
	o.on(o.machine, "echo 'deb [trusted=yes] file:"+lab.Parcels+" ./' > /etc/apt/sources.list.d/parcels.list && apt-get update -q && apt-get install -q -y --no-install-recommends csh fish")
	o.on(o.machine, "mv /usr/bin/gzip /usr/bin/gzip.away && mount -t tmpfs -o size=4k tmpfs /tmp && head -c 5000 /dev/zero > /tmp/full || true")
	const wrong = 315576000 // seconds: ten years
	entries := []entry{
		{name: "nogzip"},
		{name: "banner", prepare: "sed -i '1i echo Welcome; echo H; printf \"\\\\0\\\\0\\\\0\\\\0\" ; echo noise >&2' .bashrc"},
		{name: "dash", prepare: "chsh -s /bin/sh a-dash"},
		{name: "csh", prepare: "chsh -s /bin/csh a-csh"},
		{name: "fish", prepare: "chsh -s /usr/bin/fish a-fish"},
		{name: "root", attributes: "user = \"deploy\"\nbecome = \"root\""},
		{name: "other", attributes: "user = \"deploy\"\nbecome = \"a-other\""},
		{name: "future", prepare: clocked("future", wrong)},
		{name: "past", prepare: clocked("past", -wrong)},
		{name: "quote", prepare: `usermod -d "/home/it's a \"home\"" -m a-quote; ln -s "/home/it's a \"home\"" /home/a-quote`},
	}
	site := o.declare("well", entries, line)
	o.clocks()
	began := time.Now()
	o.tell(o.tenet("apply", "--yes", site), 0, entries)
	for name, off := range map[string]time.Duration{"future": wrong * time.Second, "past": -wrong * time.Second} {
		year, later := began.Add(off).UTC().Year(), time.Now().Add(off).UTC().Year()
		o.on(o.machine, fmt.Sprintf(`grep -hE '"started":"(%d|%d)-' /home/a-%s/.local/state/tenet/runs/*/status.json`, year, later, name))
	}

	// A runner that is not what it was is found and replaced.
	o.on(o.machine, `f=$(ls /home/a-nogzip/.cache/tenet/*/tenet-runner); printf X | dd of=$f bs=1 seek=3000000 conv=notrunc status=none; rm -r /home/a-nogzip/mark-nogzip`)
	o.on(o.machine, `f=$(ls /home/a-dash/.cache/tenet/*/tenet-runner); head -c 1000000 $f > $f.new; chmod +x $f.new; mv $f.new $f; rm -r /home/a-dash/mark-dash`)
	o.on(o.machine, `f=$(ls /home/a-banner/.cache/tenet/*/tenet-runner); : > $f; rm -r /home/a-banner/mark-banner`)
	o.tell(o.tenet("apply", "--yes", site), 0, entries)
	if got := o.on(o.machine, "sha256sum /home/a-*/.cache/tenet/*/tenet-runner | cut -c1-64 | sort -u | wc -l"); got != "1" {
		t.Errorf("%s different runners", got)
	}

	// A file that was sent before is not used when it is damaged, and comes anew.
	o.on(o.machine, `cd /home/a-nogzip; n=$(grep -rl 'as it was sent' .local/state/tenet/content | wc -l); test $n = 1
sed -i '1s/as/ax/' $(grep -rl 'as it was sent' .local/state/tenet/content); rm copy-nogzip`)
	damaged := o.tenet("apply", "--yes", "-l", "nogzip", site)
	if text := lineOf(damaged, "nogzip", "copied is damaged", "apply again"); damaged.status != 1 || text == "" {
		t.Errorf("a damaged file: exit status %d\n%s%s", damaged.status, damaged.stdout, damaged.stderr)
	}
	o.tell(o.tenet("apply", "--yes", site), 0, entries)
	o.on(o.machine, "for e in nogzip banner csh fish quote; do cmp /home/a-$e/copy-$e /home/a-dash/copy-dash; done; grep -q '^as it' /home/a-dash/copy-dash; ! grep -r '^ax it' /home/a-nogzip/.local/state/tenet")
}

// clocked gives an account a clock that is so many seconds off: see clocks.
func clocked(name string, seconds int) string {
	return fmt.Sprintf("printf '#!/bin/sh\\nexec /usr/local/bin/clock %d /bin/sh \"$@\"\\n' > /usr/local/bin/%s && chmod +x /usr/local/bin/%[2]s && chsh -s /usr/local/bin/%[2]s a-%[2]s", seconds, name)
}

// clocks puts the program onto the machine that makes clocks wrong.
func (o *odd) clocks() {
	o.Helper()
	dir := o.TempDir()
	build := exec.Command("go", "build", "-o", dir, "github.com/tenetcm/tenet/internal/lab/clock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		o.Fatalf("%v\n%s", err, out)
	}
	(&machine{T: o.T, host: o.machine}).copy(os.DirFS(dir), "/usr/local/bin")
}

// An upload that is cut off leaves nothing that is used, and sshd that is too busy is
// asked again.
func TestSSHUploadIsCutOff(t *testing.T) {
	o := oddHost(t)
	entries := []entry{{name: "cutoff"}}
	site := o.declare("cutoff", entries, line)
	f, _ := o.traced(traceLimit + "=1000000")
	d := f.tenet("apply", "--yes", "-l", "cutoff", site)
	if d.status != 5 && d.status != 1 || lineOf(d, "cutoff") == "" {
		t.Errorf("exit status %d\n%s%s", d.status, d.stdout, d.stderr)
	}
	o.eventually(o.machine, time.Minute, "test -z \"$(find /home/a-cutoff/.cache -type f)\"")
	o.tell(o.tenet("apply", "--yes", site), 0, entries)
}

// An sshd that lets one in at a time is asked again.
func TestSSHIsBusy(t *testing.T) {
	o := oddHost(t)
	var entries []entry
	for i := range 4 {
		entries = append(entries, entry{name: fmt.Sprintf("busy%d", i)})
	}
	site := o.declare("busy", entries, line)
	o.on(o.machine, "echo 'MaxStartups 1:100:1' > /etc/ssh/sshd_config.d/busy.conf && systemctl reload ssh")
	o.tell(o.tenet("apply", "--yes", site), 0, entries)
	if n := o.on(o.machine, "journalctl --sync; journalctl -u ssh -o cat --no-pager | grep -c 'drop connection\\|past MaxStartups' || true"); n == "0" {
		t.Error("sshd has sent nobody away: the test shows nothing")
	}
}
