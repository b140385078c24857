//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/states"
)

// mirror starts the host that the server of the example fetches everything from.
func mirror(t *testing.T) {
	t.Helper()
	m := bootAs(t, "mirror")
	m.copy(os.DirFS("../../../examples/server/mirror"), "/var/www/html")
	m.shell(`ln -s /opt/parcels /var/www/html/packages
export GIT_AUTHOR_NAME=lab GIT_AUTHOR_EMAIL=lab@example.test GIT_COMMITTER_NAME=lab GIT_COMMITTER_EMAIL=lab@example.test
git init -q -b main /root/handbook && cd /root/handbook
for chapter in one two; do echo "$chapter" > "$chapter.md"; git add . && git commit -q -m "$chapter"; done
git clone -q --bare . /var/www/html/handbook.git && git -C /var/www/html/handbook.git update-server-info`)
}

// bareServer starts a host with the site of the example, and two network devices
// besides its own, as they come with a machine. KEY opens the account of alice.
func bareServer(t *testing.T, name, key string) *machine {
	t.Helper()
	m := bootAs(t, name)
	m.shell("for i in 1 2; do ip link add eth$i type veth peer name far$i; done")
	m.copy(os.DirFS("../../../examples/server"), "/root/site")
	m.copy(fstest.MapFS{"lab.auto.hcl": {Data: fmt.Appendf(nil,
		"mirror = \"http://mirror\"\nmirror_key = \"/usr/share/keyrings/lab.gpg\"\nkeys = { alice = %q }\n", key)}}, "/root/site")
	return m
}

// A site of many parts brings a bare host up at once, as its plan has foretold; then
// there is nothing to do. What is broken is found and repaired, and a second bare host
// becomes what the first one is.
func TestServer(t *testing.T) {
	t.Parallel()
	mirror(t)
	dir := t.TempDir()
	key := strings.TrimSpace(run(t, "sh", "-c", "ssh-keygen -q -t ed25519 -N '' -f \"$1/key\" && cat \"$1/key.pub\"", "sh", dir))
	first := bareServer(t, "first", key)
	manyParts(first)

	// Much of it installs packages and starts services, which may do anything to the rest: what
	// is certain is found out by foretold, and on a server that is up by idle.
	if plan, _ := first.foretold(); len(plan) < 100 {
		t.Errorf("the plan has %d rows only", len(plan))
	}
	first.idle()
	serves(first, dir)
	snapshot := first.snapshot()

	drift(first)
	first.jobs()
	first.idle()
	differ(t, "after the repair", snapshot, first.snapshot())

	second := bareServer(t, "second", key)
	second.apply()
	second.idle()
	differ(t, "on the second host", snapshot, second.snapshot())
}

// run runs a program in the network of the hosts, which must end well.
func run(t *testing.T, argv ...string) string {
	t.Helper()
	r, err := shared.run.Exec(t.Context(), argv...)
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%q: exit status %d, %v\n%s%s", argv, r.ExitCode, err, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// manyParts wants the site to be as large as it says.
func manyParts(m *machine) {
	m.Helper()
	var run states.StateRun
	if err := json.Unmarshal([]byte(m.shell("tenet compile --json /root/site")), &run); err != nil {
		m.Fatal(err)
	}
	parts, types := 0, map[string]int{}
	for _, i := range run.Invocations {
		for _, p := range i.Parts {
			parts++
			types[p.Type]++
		}
	}
	m.Logf("%d parts of %d types: %v", parts, len(types), types)
	if parts < 150 || len(types) < 25 {
		m.Errorf("%d parts of %d types, want 150 of 25", parts, len(types))
	}
}

// idle wants nothing to be left to do.
func (m *machine) idle() {
	m.Helper()
	for _, e := range m.tenet("plan").parts() {
		if e.Action != states.NoChange && e.Outcome != states.Idle {
			m.Errorf("%s: a plan would %s it (%s): %v", e.Address, e.Action, e.Reason, e.Changes)
		}
	}
	if changed := m.apply(); len(changed) > 0 {
		m.Errorf("another apply changed %q", changed)
	}
}

// serves looks at what the server is for, from outside, with the key of alice in dir.
func serves(m *machine, dir string) {
	m.Helper()
	ca := dir + "/ca.pem"
	if err := os.WriteFile(ca, []byte(m.shell("cat /etc/ssl/server/ca.pem")+"\n"), 0o644); err != nil {
		m.Fatal(err)
	}
	for _, site := range []string{"www", "docs", "shop", "status"} {
		name := site + ".example.test"
		if got := run(m.T, "curl", "-fsS", "--cacert", ca, "--resolve", name+":443:"+m.host.Address, "https://"+name+"/"); !strings.Contains(got, "Welcome to "+name) {
			m.Errorf("%s answers %q", name, got)
		}
	}
	ssh := []string{"ssh", "-i", dir + "/key", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"}
	if got := run(m.T, append(ssh, "alice@"+m.host.Name, "sudo -n id -un; date -d 2024-01-01 +%Z; ulimit -Sn; locale 2>/dev/null | grep ^LANG=")...); got != "root\nCET\n8192\nLANG=en_GB.UTF-8\n" {
		m.Errorf("over ssh: %q", got)
	}
	m.shell("systemctl is-active app cron nginx ssh certificates.timer inventory.timer heartbeat.timer")
	m.gives("cat /srv/www/handbook/two.md; stat -c '%U %a' /srv/www/docs.example.test/manual/images/logo.svg; findmnt -no FSTYPE,SIZE /srv/cache; touch /srv/public/x 2> /dev/null || echo closed",
		"two\nwww-data 640\ntmpfs   64M\nclosed")
}

// drifts are what somebody breaks on the server by hand, each with the address of the
// part that is to tell.
func drifts() map[string]string {
	site := func(name, part string) string {
		return `component.site["` + name + `"].state.` + part
	}
	return map[string]string{
		"echo spoilt >> /etc/motd":                                                                `file["/etc/motd"]`,
		"chmod 0777 /srv/backup":                                                                  `directory.data["/srv/backup"]`,
		"rm /etc/nginx/sites-enabled/www.example.test":                                            site("www", "site.symlink.enabled"),
		"echo spoilt > /srv/www/shop.example.test/robots.txt":                                     site("shop", "content.file.robots"),
		"rm /etc/ssl/server/status.example.test.pem":                                              site("status", "site.certificate.certificate"),
		"echo 4 > /proc/sys/net/ipv4/tcp_fin_timeout":                                             `sysctl.network["net.ipv4.tcp_fin_timeout"]`,
		"sed -i /log_martians/d /etc/sysctl.d/60-server.conf":                                     `sysctl.network["net.ipv4.conf.all.log_martians"]`,
		"systemctl stop nginx":                                                                    "service.nginx",
		"rm /etc/systemd/system/multi-user.target.wants/cron.service":                             "service.cron",
		"systemctl unmask apt-daily.timer":                                                        `service.timers["apt-daily.timer"]`,
		"usermod -s /bin/sh carol":                                                                `state.person["carol"].user.account`,
		"gpasswd -d alice admins":                                                                 `state.person["alice"].user.account`,
		"echo 'ssh-ed25519 AAAA spoilt' >> ~bob/.ssh/authorized_keys":                             `state.person["bob"].authorized_keys.keys`,
		"rm /etc/sudoers.d/deploy":                                                                "sudoers.deploy",
		"sed -i /db1/d /etc/hosts":                                                                `hosts_entry.host["192.0.2.10"]`,
		"ip addr del 192.0.2.1/24 dev br0":                                                        "interface.br0",
		"ip link set eth2 nomaster":                                                               `bridge_port.port["eth2"]`,
		"umount /srv/cache":                                                                       `mount.memory["/srv/cache"]`,
		"apt-get remove -q -y opendoas":                                                           `package.tool["opendoas"]`,
		"rm /etc/cron.d/disk-report":                                                              `cron.job["disk-report"]`,
		"systemctl stop inventory.timer":                                                          `systemd_timer.timer["inventory"]`,
		"sed -i s/DynamicUser=yes/User=root/ /etc/systemd/system/app.service":                     `systemd_unit["app.service"]`,
		"echo spoilt > /srv/www/docs.example.test/manual/index.md":                                "tree.manual",
		"rm -r /srv/www/status.example.test/theme/images":                                         "archive.theme",
		"sed -i s/DefaultTimeoutStopSec=30s/DefaultTimeoutStopSec=9s/ /etc/systemd/system.conf":   `setting.manager["DefaultTimeoutStopSec"]`,
		"git -C /srv/www/handbook reset -q --hard HEAD~1":                                         "git.handbook",
		"ln -sf /usr/share/zoneinfo/UTC /etc/localtime":                                           "timezone.zone",
		"echo spoilt >> /usr/local/bin/agent":                                                     "download.agent",
		"sed -i 's/^PermitRootLogin.*/PermitRootLogin yes/' /etc/ssh/sshd_config.d/00-tenet.conf": "component.ssh.state.settings.file.settings",
	}
}

// drift breaks all of it at once. A plan finds each, and an apply repairs it, and
// changes nothing else: handlers apart.
func drift(m *machine) {
	m.Helper()
	all := drifts()
	if len(all) < 20 {
		m.Errorf("only %d things are broken", len(all))
	}
	scripts := slices.Sorted(maps.Keys(all))
	for _, script := range scripts {
		m.shell(script)
	}
	plan, apply := m.foretold()
	broken := map[string]bool{}
	for _, script := range scripts {
		address := all[script]
		broken[address] = true
		if row, ok := plan[address]; !ok || row.Action == states.NoChange {
			m.Errorf("%s: the plan does not say so: %q %s", script, row.Action, row.Reason)
		}
		if done := apply[address]; done.Outcome != states.Changed {
			m.Errorf("%s: the apply left it %q", script, done.Outcome)
		}
	}
	handler := regexp.MustCompile(`^(restart|reload)\.|^component\.ssh\.state\.activate\.`)
	for address, done := range apply {
		if done.Outcome == states.Changed && !broken[address] && !handler.MatchString(address) {
			m.Errorf("%s has changed, which nobody had touched: %v", address, done.Changes)
		}
	}
}

// jobs runs what cron and the timers would run at some time of the day, and which
// therefore must change nothing that the test compares.
func (m *machine) jobs() {
	m.Helper()
	m.shell(`set -e
for f in /etc/cron.d/clean-import /etc/cron.d/disk-report /etc/cron.d/sync-backup; do
  sh -ec "$(sed -n 's/^\([^ #]* \)\{5\}root //p' "$f")"
done
test -d /srv/backup/data/import
systemctl start certificates.service inventory.service heartbeat.service systemd-tmpfiles-clean.service`)
}

// snapshot is what makes up a host: packages, files, accounts, units, the kernel's
// parameters, devices and mounts, a line each. What its jobs write is left out, and the
// day on which a password was set: both depend on when the test runs.
func (m *machine) snapshot() []string {
	m.Helper()
	return strings.Split(m.shell(`
dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Status} ${db:Status-Want}\n'
find /etc /usr/local /srv /home /opt/tenet 2>/dev/null '(' -name .git -o -path /srv/backup/data ')' -prune -o -printf 'path %p %y %m %u:%g %l\n'
find /etc /usr/local /srv /home '(' -name .git -o -path /srv/backup/data ')' -prune -o -type f -print0 | xargs -0 sha256sum | sed 's/^/content /'
perl -F: -lane '$F[-1] = join ",", sort split /,/, $F[-1] if $ARGV =~ /group|gshadow/; $F[2] = "day" if $ARGV eq "/etc/shadow"; print "$ARGV " . join ":", @F' /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid
for f in /etc/hosts /etc/sysctl.d/60-server.conf /etc/security/limits.d/70-tenet.conf; do sed "s,^,line $f ," $f; done
systemctl list-unit-files --no-legend | awk '{print "unit", $1, $2}'
systemctl list-units --state=active --no-legend --plain --type=service,timer,mount | awk '$1 !~ /user/ {print "active", $1, $3}'
sysctl -a 2>/dev/null | grep -E '^net.ipv4.(ip_forward|tcp_|conf.all|icmp_|ip_local_port_range)' | sed 's/^/sysctl /'
ip -o addr show dev br0 | awk '{print "address", $3, $4}'
for d in eth1 eth2 br0; do echo "device $d $(cat /sys/class/net/$d/mtu) $(readlink /sys/class/net/$d/master) $(cat /sys/class/net/$d/flags)"; done
findmnt -rno TARGET,FSTYPE,VFS-OPTIONS | grep /srv | sed 's/^/mount /'
`), "\n")
}

// own tells what may differ from one host to another: the machine's identity, keys and
// what is made of them, copies that programs leave of what was before, and files whose
// lines have no order, each line of which is compared by itself.
func own(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[0] != "content" {
		return false
	}
	path := fields[2]
	lines := []string{
		"/etc/hosts", "/etc/sysctl.d/60-server.conf", "/etc/security/limits.d/70-tenet.conf",
		"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid",
	}
	return path == "/etc/machine-id" || strings.HasPrefix(path, "/etc/ssl/server/") ||
		slices.Contains(lines, strings.TrimSuffix(path, "-"))
}

// differ wants two snapshots to be equal but for what is a host's own.
func differ(t *testing.T, when string, one, other []string) {
	t.Helper()
	for _, line := range one {
		if !own(line) && !slices.Contains(other, line) {
			t.Errorf("%s there is not: %s", when, line)
		}
	}
	for _, line := range other {
		if !own(line) && !slices.Contains(one, line) {
			t.Errorf("%s there is: %s", when, line)
		}
	}
}
