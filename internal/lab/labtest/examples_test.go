//go:build lab

package labtest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

// example is what the example of a module needs on a bare host: it is planned and
// applied there, one module's after the other.
type example struct {
	// Prepare is a script that makes the host ready.
	Prepare string
	// Files are what the site has beside the example.
	Files map[string]string
	// Adapt are pairs of a text in the example and what is tried in its place, such as
	// the version of a package.
	Adapt []string
	// Again are the parts that a second apply changes, too: acts.
	Again []string
	// Cannot is why it is not to be had on a host of the lab; then its plan or apply
	// has to fail with the text Fails.
	Cannot, Fails string
}

// examples has an entry for each module that comes with tenet. Modules' pages say
// by it whether an act is verified, and why another module is not. A blank line after
// each entry keeps changes of several people apart.
func examples() map[string]example {
	return map[string]example{
		"absent": {Prepare: "mkdir -p /etc/nginx/sites-enabled /opt/former-agent/lib && touch /etc/nginx/sites-enabled/default /opt/former-agent/lib/a"},

		"apt_repository": {
			Prepare: "mkdir -p /srv/packages && : > /srv/packages/Packages",
			Adapt:   []string{"suites     = [\"bookworm-backports\"]", "suites = [\"bookworm-backports\"]\nenabled = false"}, // which is out of reach
		},

		"archive": {Prepare: "mkdir -p /srv/app-1.2.0/bin && touch /srv/app-1.2.0/bin/app && tar -C /srv -czf /var/cache/app-1.2.0.tar.gz app-1.2.0"},

		"assert": {},

		"authorized_keys": {},

		"bridge": {},

		"bridge_port": {Prepare: "ip link add eth1 type veth peer name other1"},

		"can": {Cannot: "the kernel of the lab has no CAN devices", Fails: "this host has no CAN device can0"},

		"certificate": {},

		"command": {Prepare: "printf '#!/bin/sh\\ntouch /etc/ssl/site.pem\\n' > /usr/local/bin/issue-cert; chmod +x /usr/local/bin/issue-cert; mkdir -p /srv/app; ln -sf /bin/true /usr/local/bin/make", Again: []string{"command.compile"}},
		"container": {
			Prepare: withPodman + "mkdir -p /srv/www; podman tag localhost/box:1 localhost/nginx:1.27",
			Adapt:   []string{`docker.io/library/nginx:1.27"`, "localhost/nginx:1.27\"\n  network = \"host\"\n  command = [\"sleep\", \"1000\"]"},
		},

		"cron": {},

		"directory": {Prepare: "touch /etc/nginx/sites-enabled/old"},

		"download": {Prepare: answers("test2")}, // of which the example has the checksum

		"file": {},

		"git": {Prepare: "git init -q -b main /srv/site.src && cd /srv/site.src && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git clone -q --bare /srv/site.src /srv/site.git"},

		"gre": {Cannot: "the kernel of the lab has no GRE tunnels", Fails: "this kernel has no gretap"},

		"group": {},

		"hostname": {},

		"hosts_entry": {},

		"http": {Prepare: answers("ok"), Again: []string{"http.announce"}},

		"interface": {Prepare: "ip link show eth1 > /dev/null || ip link add eth1 type veth peer name other1"},

		"kernel_module": {Cannot: "the kernel of the lab loads no modules", Fails: "this kernel loads no modules"},

		"known_host": {},

		"limits": {},

		"line": {},

		"locale": {},

		"marked_block": {Prepare: "mkdir -p /srv/www"},

		"mount": {},

		"package": {Adapt: []string{"postgresql-15", "lab-two", "15.6-0+deb12u1", "1.0"}},

		"print": {},

		"reboot": {Adapt: []string{"linux-image-amd64", "lab-one"}},

		"reload": {},

		"restart": {Prepare: "printf '[Service]\\nExecStart=/bin/sleep infinity\\n' > /etc/systemd/system/app.service; systemctl daemon-reload"},

		"service": {},

		"sudoers": {},

		"swap": {Adapt: []string{`size     = "1G"`, "size = \"4M\"\n  active = false"}}, // the kernel is not the host's own

		"symlink": {Prepare: "touch /etc/nginx/sites-available/blog"},

		"sysctl": {},

		"systemd_timer": {},

		"systemd_unit": {},

		"timezone": {},

		"tree": {Prepare: "! mountpoint -q /srv/www || umount /srv/www", Files: map[string]string{"files/www/index.html": "hello\n"}},

		"user": {},

		"wait_for": {Prepare: answers("ready")},

		"setting": {},
	}
}

// answers is a script that makes nginx answer every request with a text.
func answers(text string) string {
	return "rm -f /etc/nginx/sites-enabled/default; echo 'server { listen 80 default_server; location / { return 200 " + text + "; } }' > /etc/nginx/conf.d/health.conf\n" +
		"nginx -t -q && systemctl reload nginx && until curl -fsS http://127.0.0.1/health | grep -q " + text + "; do sleep 0.05; done"
}

// The example of each module is planned and applied on a bare host, and the plan
// foretells what the apply does.
func TestExamples(t *testing.T) {
	t.Parallel()
	host := boot(t)
	registry := modules.Standard()
	entries := examples()
	for name := range entries {
		if registry.Lookup(name) == nil {
			t.Errorf("there is no module %q", name)
		}
	}
	for _, name := range registry.Names() {
		t.Run(name, func(t *testing.T) {
			entry, ok := entries[name]
			if !ok {
				t.Fatal("it has no entry in examples(): say there what its example needs on a bare host")
			}
			m := &machine{T: t, host: host.host}
			entry.run(m, registry.Lookup(name).Example)
		})
	}
}

func (e example) run(m *machine, source string) {
	m.Helper()
	if e.Prepare != "" {
		m.shell(e.Prepare)
	}
	for pair := range slices.Chunk(e.Adapt, 2) {
		if !strings.Contains(source, pair[0]) {
			m.Errorf("the example has no %q any more", pair[0])
		}
	}
	source = "variable \"domain\" {\n  default = \"example.test\"\n}\n" + strings.NewReplacer(e.Adapt...).Replace(source)
	files := fstest.MapFS{"site.hcl": {Data: []byte(source)}}
	for name, content := range e.Files {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	m.shell("rm -rf /root/site")
	m.copy(files, "/root/site")
	if e.Cannot != "" {
		e.refused(m)
		return
	}
	m.foretold()
	again := m.tenet("apply", "--yes")
	if changed := again.changed(); again.status != 0 || !slices.Equal(changed, e.Again) {
		m.Errorf("a second apply: exit status %d, changed %q, want %q\n%s%s", again.status, changed, e.Again, again.failures(), again.stderr)
	}
}

// refused wants the site not to be had here, and that to be said.
func (e example) refused(m *machine) {
	m.Helper()
	r := m.tenet("plan")
	if r.status == 0 {
		r = m.tenet("apply", "--yes")
	}
	if said := r.failures() + r.stderr; r.status == 0 || e.Fails == "" || !strings.Contains(said, e.Fails) {
		m.Errorf("exit status %d, though this cannot be: %s\nit does not say %q:\n%s", r.status, e.Cannot, e.Fails, said)
	}
}

// foretold plans the site and applies it, both of which must end well, and wants the
// apply to do what the plan was certain of, and nothing that it did not name.
func (m *machine) foretold() (plan, apply map[string]states.Event) {
	m.Helper()
	planned := m.tenet("plan")
	if planned.status != 0 {
		m.Fatalf("plan: exit status %d\n%s%s", planned.status, planned.failures(), planned.stderr)
	}
	applied := m.tenet("apply", "--yes")
	if applied.status != 0 {
		m.Fatalf("apply: exit status %d\n%s%s", applied.status, applied.failures(), applied.stderr)
	}
	plan, apply = byAddress(planned), byAddress(applied)
	compareRows(m.T, plan, apply)
	return plan, apply
}

// compareRows wants an apply to have done what its plan was certain of, and nothing
// that the plan did not name.
func compareRows(t *testing.T, plan, apply map[string]states.Event) {
	t.Helper()
	for address, done := range apply {
		row, ok := plan[address]
		certain := ok && row.Certain != nil && *row.Certain
		switch changed := done.Outcome == states.Changed; {
		case !ok && changed:
			t.Errorf("%s has changed, and the plan did not name it: %v", address, done.Changes)
		case certain && changed != (row.Action != states.NoChange) && row.Action != states.Execute:
			t.Errorf("%s is %s; the plan was certain to %s it", address, done.Outcome, row.Action)
		case certain && row.Action == states.Execute && done.Outcome == states.Idle:
			t.Errorf("%s is idle; the plan was certain to execute it", address)
		case certain && changed && !maps.Equal(described(t, row), described(t, done)):
			t.Errorf("%s\nthe plan foretold %v\nand done was   %v", address, described(t, row), described(t, done))
		}
	}
}

// byAddress gives the last event of each part.
func byAddress(r result) map[string]states.Event {
	out := map[string]states.Event{}
	for _, e := range r.parts() {
		out[e.Address] = e
	}
	return out
}
