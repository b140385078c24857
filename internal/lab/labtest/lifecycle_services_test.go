//go:build lab

package labtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// lingering is a script that gives the account alice a systemd of her own.
const lingering = `useradd -m -s /bin/bash alice && loginctl enable-linger alice
for i in $(seq 600); do test -S /run/user/$(id -u alice)/systemd/private && break; sleep 0.1; done`

// hers runs systemctl as alice.
const hers = `runuser -u alice -- env XDG_RUNTIME_DIR=/run/user/$(id -u alice) systemctl --user `

const sleeper = `[Service]
ExecStart=/bin/sleep infinity
ExecReload=/bin/sh -c 'echo reloaded >> /tmp/reloads'
[Install]
WantedBy=%s
`

func TestLifecycleOfServices(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("cat > /usr/lib/systemd/system/lab.service <<'END'\n" + fmt.Sprintf(sleeper, "multi-user.target") + "END\n" +
		lingering + "\ninstall -d -o alice -g alice /home/alice/.config /home/alice/.config/systemd /home/alice/.local /home/alice/.local/share /home/alice/.local/share/systemd /home/alice/.local/share/systemd/user\n" +
		"install -o alice -g alice /dev/stdin /home/alice/.local/share/systemd/user/lab.service <<'END'\n" + fmt.Sprintf(sleeper, "default.target") + "END\n")
	for _, scope := range []struct{ user, systemctl string }{{"", "systemctl "}, {"user = \"alice\"\n", hers}} {
		service := func(set string) string { return scope.user + set }
		lifecycle{
			Type: "service", Label: "lab", Found: true,
			Steps: []step{
				{Set: service("running = true"), Verify: scope.systemctl + "is-active lab && ! " + scope.systemctl + "is-enabled lab"},
				{Set: service("running = true\nenabled = true"), Verify: scope.systemctl + "is-enabled lab"},
				{Set: service("running = false\nenabled = false"), Verify: "! " + scope.systemctl + "is-active lab && ! " + scope.systemctl + "is-enabled lab"},
				{Set: service("running = false\nmasked = true"), Verify: `[ "$(` + scope.systemctl + `is-enabled lab)" = masked ]`},
				{Set: service("running = true\nenabled = true\nmasked = false"), Verify: scope.systemctl + "is-active lab && " + scope.systemctl + "is-enabled lab"},
			},
		}.run(m)
		m.shell(scope.systemctl + "show -P MainPID lab > /tmp/pid; rm -f /tmp/reloads")
		again := "state \"again\" {\n  reload \"lab\" {\n" + scope.user + "}\n  restart \"lab\" {\n" + scope.user + "}\n}\n"
		m.site(again)
		m.watchActs(again, func() {
			if changed := m.apply(); len(changed) != 2 {
				t.Errorf("changed %q", changed)
			}
		}, "reload", "restart")
		m.shell(`[ "$(` + scope.systemctl + `show -P MainPID lab)" != "$(cat /tmp/pid)" ] && [ "$(wc -l < /tmp/reloads)" = 1 ]; rm -f /tmp/reloads`)
	}
}

func TestLifecycleOfUnits(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(lingering)
	unit := func(text string) string { return fmt.Sprintf("content = <<-END\n%sEND\n", text) }
	lifecycle{
		Type: "systemd_unit", Label: "lab.service",
		Steps: []step{
			{Set: unit(fmt.Sprintf(sleeper, "multi-user.target")), Verify: "systemctl enable --now lab"},
			{Set: unit("[Unit]\nDescription=Changed\n" + fmt.Sprintf(sleeper, "multi-user.target")),
				Verify: `[ "$(systemctl show -P Description lab) $(systemctl show -P NeedDaemonReload lab)" = "Changed no" ]`},
		},
		Gone: "! systemctl is-active lab && ! systemctl cat lab && test ! -e /etc/systemd/system/multi-user.target.wants/lab.service",
	}.run(m)
	lifecycle{
		Type: "systemd_unit", Label: "cron.service", Prepare: "systemctl show -P Nice cron > /tmp/nice", // that of the host, as it was started
		Steps: []step{
			{Set: "drop_in = \"lab\"\ncontent = \"[Service]\\nNice=7\\n\"\n", Verify: `[ "$(systemctl show -P Nice cron)" = 7 ]`},
			{Set: "drop_in = \"lab\"\ncontent = \"[Service]\\nNice=8\\n\"\n", Verify: `[ "$(systemctl show -P Nice cron)" = 8 ]`},
		},
		Gone: `systemctl is-active cron && test ! -e /etc/systemd/system/cron.service.d && [ "$(systemctl show -P Nice cron)" = "$(cat /tmp/nice)" ]`,
	}.run(m)
	lifecycle{
		Type: "systemd_unit", Label: "hers.service",
		Steps: []step{
			{Set: "user = \"alice\"\n" + unit(fmt.Sprintf(sleeper, "default.target")),
				Verify: hers + "enable --now hers && [ \"$(stat -c %U /home/alice/.config/systemd/user/hers.service /home/alice/.config/systemd | sort -u)\" = alice ]"},
			{Set: "user = \"alice\"\n" + unit("[Unit]\nDescription=Hers\n"+fmt.Sprintf(sleeper, "default.target")), Verify: `[ "$(` + hers + `show -P Description hers)" = Hers ]`},
		},
		Gone: "! " + hers + "is-active hers && ! " + hers + "cat hers",
	}.run(m)

	m.site("systemd_unit \"wrong.service\" {\n  content = \"[Service]\\nExecStart=/bin/true\\nExceReload=/bin/true\\n\"\n}\n")
	says(t, m.fails(`systemd_unit["wrong.service"]`), "systemd does not accept the unit", "Unknown key", "ExceReload")
	m.shell("test ! -e /etc/systemd/system/wrong.service && ! ls -d /run/.tenet*")
}

func TestLifecycleOfTimers(t *testing.T) {
	t.Parallel()
	m := bootAs(t, "timers")
	m.shell(lingering)
	const words = `command = ["/usr/bin/printf", "<%s>\\n", "$HOME", "$${X}", "50%", "a\"b\\c'", "x\ny", "", ";"]` + "\n"
	base := words + "on_calendar = [\"daily\"]\n"
	all := words + "on_calendar = [\"Mon..Fri 04:30\"]\n" + `on_boot = "90m"
every            = "2h"
run_as           = "alice"
dir              = "/home/alice"
env              = { A = "1 $X %n \"q\"" }
about            = "Says 100 %"
persistent       = true
randomized_delay = "10m"
`
	unit := "unit = \"cron.service\"\non_calendar = [\"daily\"]\n"
	lifecycle{
		Type: "systemd_timer", Label: "job",
		Steps: []step{
			{Set: base, Verify: `systemctl is-active job.timer && systemctl is-enabled job.timer && systemctl start job && journalctl --sync && \
journalctl -u job -o cat > /tmp/said; printf '<%s>\n' '$HOME' '${X}' '50%' "a\"b\\c'" 'x
y' '' ';' > /tmp/want; grep -F '<' -A1 /tmp/said | head -20; for w in '<$HOME>' '<${X}>' '<50%>' "<a\"b\\c'>" '<x' 'y>' '<>' '<;>'; do grep -qxF -- "$w" /tmp/said || { echo "no $w"; exit 1; }; done`},
			{Set: all, Verify: `systemctl show -P TimersCalendar job.timer | grep -q 'Mon..Fri' && systemctl start job && [ "$(systemctl show -P User job) $(systemctl show -P WorkingDirectory job)" = "alice /home/alice" ] && \
[ "$(systemctl show -P Description job)" = "Says 100 %" ] && systemctl show -P Environment job | grep -F '$X' && systemctl show -P TimersMonotonic job.timer | grep -q 'OnUnitActiveUSec=2h'`},
			{Set: all + "enabled = false\n", Verify: "! systemctl is-active job.timer && ! systemctl is-enabled job.timer"},
			{Set: unit, Verify: `[ "$(systemctl show -P Unit job.timer)" = cron.service ] && test ! -e /etc/systemd/system/job.service && systemctl is-active job.timer`},
			{Set: base, Verify: "systemctl is-active job.timer"},
		},
		Gone: "! systemctl cat job.timer && ! systemctl cat job && test ! -e /etc/systemd/system/timers.target.wants/job.timer",
	}.run(m)
	lifecycle{
		Type: "systemd_timer", Label: "hers",
		Steps: []step{
			{Set: "user = \"alice\"\ncommand = [\"/usr/bin/touch\", \"/home/alice/it\"]\nevery = \"1h\"\non_boot = \"1s\"\n", Verify: "for i in $(seq 600); do test -e /home/alice/it && exit 0; sleep 0.1; done; exit 1"},
		},
		Untried: map[string]string{
			"on_calendar": "above", "on_boot": "above", "every": "above", "command": "above", "unit": "above", "run_as": "above", "dir": "above", "env": "above",
			"about": "above", "persistent": "above", "randomized_delay": "above", "enabled": "above",
		},
		Gone: "! " + hers + "cat hers.timer",
	}.run(m)
	m.site("systemd_timer \"job\" {\n  command = [\"/bin/true\"]\n  on_calendar = [\"whenever\"]\n}\n")
	r := m.tenet("plan")
	if r.status == 0 || !strings.Contains(r.failures()+r.stderr, "Failed to parse calendar specification 'whenever'") {
		t.Errorf("a plan accepts it: %d %s%s", r.status, r.failures(), r.stderr)
	}
	lifecycle{
		Type: "cron", Label: "job", Prepare: "rm -f /tmp/ran*",
		Steps: []step{
			// cron does not see what changes twice in one second.
			{Set: "schedule = \"* * * * *\"\ncommand = \"echo 50% > /tmp/ran\"\n", Verify: "sleep 1"},
			{Set: "schedule = \"* * * * *\"\ncommand = \"echo 60% \\\"$A\\\" > /tmp/ran-alice\"\nuser = \"alice\"\nenv = { A = \"it's\" }\n",
				Verify: "for i in $(seq 200); do test -s /tmp/ran-alice && break; sleep 1; done; [ \"$(stat -c %U /tmp/ran-alice) $(cat /tmp/ran-alice)\" = \"alice 60% it's\" ]"},
			{Set: "schedule = \"@daily\"\ncommand = \"true\"\n"},
		},
		Gone: "test ! -e /etc/cron.d/job",
	}.run(m)
}

// A plan is certain of services whose unit files it writes, and does what it says.
func TestPlanKnowsUnitsThatItWrites(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site(`
systemd_unit "one.service" {
  content = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
}
systemd_unit "two.service" {
  content = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
}
service "one" {
  running = true
  enabled = true
}
service "two" {
  enabled = true
}
`)
	plan := m.tenet("plan")
	foretold := addresses(plan.parts(), func(e states.Event) bool { return e.Action != states.NoChange })
	certain := addresses(plan.parts(), func(e states.Event) bool {
		return e.Action != states.NoChange && e.Certain != nil && *e.Certain
	})
	// A service that starts may do anything, also to the one that nothing puts before it.
	if len(foretold) != 4 || len(certain) < 3 {
		t.Errorf("certain of %q of %q\n%s", certain, foretold, plan.stderr)
	}
	if changed := m.apply(); !slices.Equal(changed, foretold) {
		t.Errorf("changed %q", changed)
	}
	if changed := m.apply(); len(changed) > 0 {
		t.Errorf("the second apply changed %q", changed)
	}
	m.shell("systemctl is-active one && systemctl is-enabled one two && ! systemctl is-active two")
}

// Where systemd starts itself anew in the middle, nobody knows how a restart has ended:
// it is made again.
func TestSystemdIsLost(t *testing.T) {
	t.Parallel()
	m := boot(t)
	// It starts when systemd has started itself anew, which it does when it is to start.
	m.shell("printf '#!/bin/sh\ntouch /run/begun; until test -e /run/anew; do sleep 0.05; done\n' > /usr/local/bin/slow; chmod +x /usr/local/bin/slow\n" +
		"printf '[Service]\nExecStartPre=/usr/local/bin/slow\nExecStart=/bin/sleep infinity\n' > /etc/systemd/system/slow.service; systemctl daemon-reload")
	for _, options := range []string{"retry = { attempts = 1 }", ""} {
		want := states.Unknown
		if options == "" {
			want = states.Changed
		}
		m.shell("rm -f /run/begun /run/anew; (until test -e /run/begun; do sleep 0.05; done; systemctl daemon-reexec; touch /run/anew) > /dev/null 2>&1 &")
		m.site("state \"again\" {\n  restart \"slow\" {\n" + options + "\n}\n}\n")
		r := m.tenet("apply", "--yes")
		ended := r.parts()[len(r.parts())-1]
		if ended.Outcome != want || want == states.Unknown && (ended.Error == nil || !strings.Contains(ended.Error.Message, "the connection was lost")) {
			t.Errorf("%q: it is %s: %+v", options, ended.Outcome, ended.Error)
		}
	}
	m.shell("systemctl is-active slow")
}

// An account without a systemd of its own is told how it gets one.
func TestAccountWithoutSystemd(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("useradd -m bob")
	m.site("service \"x\" {\n  user = \"bob\"\n  running = true\n}\n")
	says(t, m.fails("service.x"), "loginctl enable-linger bob")
}

// A hundred services are read over one connection.
func TestReadingManyServices(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(`for i in $(seq 100); do printf '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' > /etc/systemd/system/many$i.service; done; systemctl daemon-reload`)
	var site strings.Builder
	for i := range 100 {
		fmt.Fprintf(&site, "service \"many%d\" {\n  enabled = false\n  running = false\n}\n", i+1)
	}
	m.site(site.String())
	m.apply()
	times := m.shell(`now() { date +%s%N; }; a=$(now); tenet plan /root/site > /dev/null; b=$(now)
for i in $(seq 100); do systemctl show many$i > /dev/null; systemctl is-enabled many$i > /dev/null; done; c=$(now)
echo "$(((b - a) / 1000000)) $(((c - b) / 1000000))"`)
	var ours, theirs int
	if _, err := fmt.Sscan(times, &ours, &theirs); err != nil {
		t.Fatal(err)
	}
	t.Logf("100 services: a plan takes %d ms, systemctl show and is-enabled %d ms", ours, theirs)
	if ours > theirs {
		t.Errorf("a plan takes %d ms, and systemctl %d ms", ours, theirs)
	}
}
