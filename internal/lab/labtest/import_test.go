//go:build lab

package labtest

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/states"
)

// A machine that was set up is declared as it stands: a plan of that says "no change",
// and a bare machine becomes the same by it.
func TestImportMachine(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.copy(os.DirFS("../../../examples/nginx"), "/root/example")
	m.shell(`tenet apply --yes /root/example
groupadd --gid 4000 staffers
useradd --create-home --uid 3000 --groups www-data,staffers --shell /bin/bash --comment 'Deploy & Co' --password '$6$salt$0123456789abcdef' deploy
mkdir -p /etc/nginx/extra
printf 'map $a ${b} { %%{x} }\n# EOT\nEOT\n' > /etc/nginx/extra/odd.conf
head -c 3000 /dev/urandom > /etc/nginx/extra/blob
chown deploy:staffers /etc/nginx/extra/odd.conf; chmod 640 /etc/nginx/extra/odd.conf
ln -s ../extra/odd.conf "/etc/nginx/extra/a link"
openssl genrsa -out /etc/nginx/extra/tls.key 2>/dev/null || printf -- '-----BEGIN PRIVATE KEY-----\nx\n' > /etc/nginx/extra/tls.key
systemctl disable -q cron.service`)
	said := m.shell("tenet import --all packages,services,users,files /etc/nginx --out /root/site")
	for _, text := range []string{`file["/etc/nginx/extra/tls.key"]`, "it holds a private key"} {
		if !strings.Contains(said, text) {
			t.Errorf("it does not say %q:\n%s", text, said)
		}
	}
	m.shell("! grep -r -e 'PRIVATE KEY' -e 0123456789abcdef /root/site && tenet validate /root/site && tenet fmt --check /root/site")
	plan := m.tenet("plan")
	if plan.status != 0 {
		t.Fatalf("plan: exit status %d\n%s%s", plan.status, plan.failures(), plan.stderr)
	}
	var found []string
	for _, e := range plan.parts() {
		found = append(found, e.Part+" "+e.Key)
		if e.Action != states.NoChange {
			t.Errorf("the plan would %s %s (%s): %v", e.Action, e.Address, e.Reason, e.Changes)
		}
	}
	for _, want := range []string{
		"package nginx", "user deploy", "group staffers", "service cron", "service nginx",
		"file /etc/nginx/extra/odd.conf", "file /etc/nginx/extra/blob", "symlink /etc/nginx/extra/a link", "directory /etc/nginx/extra",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("%s is not declared; there are %q\n%s", want, found, said)
		}
	}
	if slices.Contains(found, "file /etc/nginx/nginx.conf") {
		t.Error("a file of a package, unchanged, is declared")
	}
	m.shell(`tenet import --all packages,services,users,files /etc/nginx --out /root/star --star
tenet plan --detailed-exitcode /root/star
! tenet import --all users --out /root/site`)

	bare := bootAs(t, "another")
	m.hand(bare)
	bare.apply()
	if again := bare.apply(); len(again) > 0 {
		t.Errorf("on another machine a second apply changed %q", again)
	}
	bare.shell(`[ "$(stat -c '%U:%G %a' /etc/nginx/extra/odd.conf)" = "deploy:staffers 640" ] && id -nG deploy | grep -w www-data`)
}

// hand gives another machine the site.
func (m *machine) hand(to *machine) {
	site := strings.Fields(m.shell("cd /root/site && tar -c . | base64 -w0"))[0]
	to.copy(fstest.MapFS{"site.b64": {Data: []byte(site)}}, "/root")
	to.shell("mkdir /root/site && base64 -d /root/site.b64 | tar -x -C /root/site")
}

// A package of somebody else's repository comes to a bare machine: its source and the
// source's key are there first. Who may use sudo without a password is no secret.
func TestImportWithSources(t *testing.T) {
	t.Parallel()
	m := boot(t)
	key, _ := signedRepository(m)
	text, err := strconv.Unquote(key)
	if err != nil {
		t.Fatal(err)
	}
	m.copy(fstest.MapFS{"lab.asc": {Data: []byte(text)}}, "/etc/apt/keyrings")
	m.shell(`echo 'deb [signed-by=/etc/apt/keyrings/lab.asc] file:/srv/signed ./' > /etc/apt/sources.list.d/lab.list
chmod 0755 /etc/apt/keyrings
chmod 0644 /etc/apt/keyrings/lab.asc
apt-get -q -o APT::Update::Error-Mode=any update >&2
apt-get -q install -y lab-signed >&2
mkdir -p /etc/sudoers.d
echo '%staff ALL=(root) NOPASSWD: /bin/true' > /etc/sudoers.d/staff
chmod 0440 /etc/sudoers.d/staff`)
	if said := m.shell("tenet import --all files,packages,services,users /etc/apt /etc/sudoers.d --out /root/site"); strings.Contains(said, "sudoers.d/staff") {
		t.Errorf("a file without a secret is left out:\n%s", said)
	}
	bare := bootAs(t, "withsources")
	signedRepository(bare)
	m.hand(bare)
	bare.apply()
	if again := bare.apply(); len(again) > 0 {
		t.Errorf("on another machine a second apply changed %q", again)
	}
	bare.shell("grep -qx 1.0 /usr/share/lab/lab-signed && grep -q NOPASSWD /etc/sudoers.d/staff")
}
