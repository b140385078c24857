//go:build lab

package labtest

import (
	"strings"
	"testing"
)

// OpenRC and SysV scripts are tried with their real programs, on a host whose systemd
// is hidden from what is started.
func TestOtherInitSystems(t *testing.T) {
	t.Parallel()
	for _, s := range []struct{ name, install, script, bad, hidden string }{{
		name:    "openrc",
		install: "dpkg -i --force-depends /opt/parcels/libeinfo1_*.deb /opt/parcels/librc1_*.deb /opt/parcels/openrc_*.deb > /tmp/dpkg 2>&1 || { cat /tmp/dpkg; exit 1; }",
		script: `#!/sbin/openrc-run
command=/bin/sleep
command_args=infinity
command_background=true
pidfile=/run/lab.pid
extra_started_commands="reload"
reload() { echo reloaded >> /tmp/reloads; }
`,
		bad:    "#!/sbin/openrc-run\nstart() { echo no licence found >&2; return 1; }\n",
		hidden: "unshare -m sh -c 'mount -t tmpfs tmpfs /run/systemd; mkdir -p /run/openrc; touch /run/openrc/softlevel; exec \"$@\"' hidden ",
	}, {
		name:    "sysv",
		install: "cp /bin/sh /tmp/init; grep -q update-rc.d $(command -v update-rc.d)",
		script: `#!/bin/sh
### BEGIN INIT INFO
# Provides: lab
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case "$1" in
start) start-stop-daemon --start --oknodo --background --make-pidfile --pidfile /run/lab.pid --exec /bin/sleep -- infinity;;
stop) start-stop-daemon --stop --pidfile /run/lab.pid --remove-pidfile --oknodo;;
restart) $0 stop; $0 start;;
reload) echo reloaded >> /tmp/reloads;;
status) start-stop-daemon --status --pidfile /run/lab.pid;;
esac
`,
		bad: "#!/bin/sh\ncase $1 in start) echo no licence found >&2; exit 1;; esac\nexit 3\n",
		// A process 1 of its own is called init; what it starts outlives a call by
		// being in no namespace of processes but the host's.
		hidden: "unshare -m sh -c 'mount -t tmpfs tmpfs /run/systemd; echo init > /tmp/comm; mount --bind /tmp/comm /proc/1/comm; exec \"$@\"' hidden ",
	}} {
		t.Run(s.name, func(t *testing.T) {
			m := boot(t)
			m.shell(s.install)
			m.shell("cat > /etc/init.d/lab <<'END'\n" + s.script + "END\ncat > /etc/init.d/bad <<'END'\n" + s.bad + "END\nchmod +x /etc/init.d/lab /etc/init.d/bad")
			tenet := func(args, site string) string {
				m.site(site)
				return m.shell(s.hidden + "tenet " + args + " /root/site 2>&1; echo status $?")
			}
			for _, step := range []struct{ set, verify string }{
				{"running = true\nenabled = true", "kill -0 $(cat /run/lab.pid) && ls /etc/rc2.d/S*lab /etc/runlevels/default/lab 2>/dev/null | grep lab"},
				{"running = false\nenabled = false", "! pgrep -x sleep && ! ls /etc/rc2.d/S*lab /etc/runlevels/default/lab 2>/dev/null | grep ."},
				{"running = true", "kill -0 $(cat /run/lab.pid)"},
			} {
				site := "service \"lab\" {\n" + step.set + "\n}\n"
				for k, args := range []string{"plan --detailed-exitcode", "apply --yes --detailed-exitcode", "plan --detailed-exitcode"} {
					said := tenet(args, site)
					if want := []string{"status 2", "status 2", "status 0"}[k]; !strings.HasSuffix(said, want) {
						t.Fatalf("%s with %s ends as\n%s\nwant %s", args, step.set, said, want)
					}
				}
				m.shell(step.verify)
			}
			m.shell("cp /run/lab.pid /tmp/pid")
			if said := tenet("apply --yes", "state \"again\" {\n  reload \"lab\" {}\n  restart \"lab\" {}\n}\n"); !strings.HasSuffix(said, "status 0") {
				t.Error(said)
			}
			m.shell("! cmp /run/lab.pid /tmp/pid && [ \"$(wc -l < /tmp/reloads)\" = 1 ]")
			if said := tenet("apply --yes", "service \"bad\" {\n  running = true\n}\n"); !strings.Contains(said, "no licence found") || !strings.HasSuffix(said, "status 1") {
				t.Errorf("a service that does not start: %s", said)
			}
			if said := tenet("plan", "service \"none\" {\n  running = true\n}\n"); !strings.Contains(said, "this host has no service named none") {
				t.Errorf("a service that is not there: %s", said)
			}
			if said := tenet("plan", "service \"lab\" {\n  masked = true\n}\n"); !strings.Contains(said, "cannot mask") {
				t.Errorf("a mask: %s", said)
			}
			m.shell("kill $(cat /run/lab.pid)")
		})
	}
}
