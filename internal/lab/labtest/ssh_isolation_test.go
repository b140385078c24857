//go:build lab

package labtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

const onlyItsOwn = `
variable "token" {}

file "/srv/token" {
  content = "${var.token}\n"
}

file "/srv/own" {
  source = "own-${host.name}"
  mode   = "0644"
}

file "/srv/secret" {
  content = "${secret("${host.name}/db")}\n"
}

command "wait" {
  shell   = "test \"$SECRET\" = \"$(cat /srv/secret)\" && touch /run/waits && until test -e /run/looked; do sleep 0.1; done"
  env     = { SECRET = secret("${host.name}/db") }
  require = [file["/srv/secret"]]
}
`

// A host gets what is its own, for its owner alone; and what is secret is gone when
// the run is over.
func TestSSHHostSeesOnlyItsOwn(t *testing.T) {
	f := twoHosts(t)
	var site strings.Builder
	for _, h := range f.hosts {
		site.WriteString("host \"" + h.Name + "\" {\n  user = \"root\"\n  vars = { token = \"token-of-" + h.Name + "-\" }\n}\n")
	}
	name := f.site("own", site.String()+onlyItsOwn)
	dir := filepath.Join(f.c.Home(), name)
	if err := os.WriteFile(filepath.Join(dir, "secrets.recipients"), []byte(f.c.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, h := range f.hosts {
		if err := os.WriteFile(filepath.Join(dir, "own-"+h.Name), []byte("source-of-"+h.Name+"-\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := f.c.Exec(t.Context(), "sh", "-c", `printf 'secret-of-%s-\n' "$2" | "$1" secret set "$2/db" own`, "sh", tenetPath(), h.Name)
		if err != nil || r.ExitCode != 0 {
			t.Fatalf("%+v %v", r, err)
		}
	}

	p := f.start("apply", "--yes", "--json", name)
	for _, h := range f.hosts {
		f.eventually(h, time.Minute, "test -e /run/waits")
		// The command itself has it in its environment, as it is told to.
		got := f.on(h, `for p in /proc/[0-9]*; do
	tr '\0' ' ' < $p/cmdline | grep -l "secret-o[f]" > /dev/null && echo "argv of $p"
	case $(tr '\0' ' ' < $p/cmdline) in *tenet*) tr '\0' ' ' < $p/environ | grep -q "secret-o[f]" && echo "environment of $p";; esac
done 2>/dev/null | grep -v "/$$\$" ; test -d /var/lib/tenet && test -d /var/cache/tenet || echo nothing of it
find /var/lib/tenet /var/cache/tenet -type d ! -perm 0700 -o -type f -perm /077 2> /dev/null || true`) // of what comes and goes
		if got != "" {
			t.Errorf("%s: while it runs: %s", h.Name, got)
		}
		f.strangers(h)
		f.on(h, "touch /run/looked")
	}
	if r, err := p.Wait(f.within(2 * time.Minute)); err != nil || r.ExitCode != 0 {
		t.Fatalf("exit status %d, %v\n%s", r.ExitCode, err, r.Stderr)
	}
	for _, h := range f.hosts {
		f.strangers(h)
		if got := f.on(h, "grep -rlI secret-of- /var /root /home /tmp /run /etc /srv 2>/dev/null || true"); got != "/srv/secret" {
			t.Errorf("%s: after the run the secret is in %q", h.Name, got)
		}
		if got := f.on(h, "stat -c '%a %n' /srv/secret; cat /srv/token /srv/own"); got != "600 /srv/secret\ntoken-of-"+h.Name+"-\nsource-of-"+h.Name+"-" {
			t.Errorf("%s: %s", h.Name, got)
		}
		if got := f.on(h, "find /var/lib/tenet /var/cache/tenet -type d ! -perm 0700 -o -type f -perm /077"); got != "" {
			t.Errorf("%s: not for the owner alone: %s", h.Name, got)
		}
	}
	// Nor does the controller keep what it has decrypted.
	r, err := f.c.Exec(t.Context(), "sh", "-c", "grep -rl secret-of- ~ /var/lib /var/cache || true")
	if err != nil || len(r.Stdout) > 0 {
		t.Errorf("on the controller: %s %v", r.Stdout, err)
	}
}

// strangers looks on a host's disk for what is another's: also in its logs, and for
// nothing but its name.
func (f *fleet) strangers(h *lab.Host) {
	f.Helper()
	for _, other := range f.hosts {
		if other != h {
			if got := f.on(h, "grep -rl -e '-of-"+other.Name+"-' /var /root /home /tmp /run /srv 2>/dev/null || true"); got != "" {
				f.Errorf("%s: of %s there is something in %s", h.Name, other.Name, got)
			}
		}
	}
}
