//go:build lab

package labtest

import (
	"strings"
	"testing"
)

func TestServiceRunsAndStops(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site(`
file "unit" {
  path    = "/etc/systemd/system/lab.service"
  content = <<-END
    [Service]
    ExecStart=/bin/sleep infinity
    [Install]
    WantedBy=multi-user.target
  END
}

service "lab" {
  running = true
  enabled = true
}
`)
	m.converges("file.unit", "service.lab")
	m.shell("systemctl is-active lab && systemctl is-enabled lab")

	m.site("service \"lab\" {\n  running = false\n  enabled = false\n}\n")
	m.converges("service.lab")
	if got := m.shell("systemctl is-active lab; systemctl is-enabled lab; true"); got != "inactive\ndisabled" {
		t.Errorf("stopped: %q", got)
	}

	// A unit file of the administrator's own stands where the mask would go.
	m.shell("mv /etc/systemd/system/lab.service /usr/lib/systemd/system/ && systemctl daemon-reload")
	m.site("service \"lab\" {\n  running = false\n  masked = true\n}\n")
	m.converges("service.lab")
	if got := m.shell("systemctl is-enabled lab; true"); got != "masked" {
		t.Errorf("masked: %q", got)
	}
	m.site("service \"lab\" {\n  running = true\n  masked = false\n}\n")
	m.converges("service.lab")
	m.shell("systemctl is-active lab")
}

func TestServiceThatDoesNotStart(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site(`
file "unit" {
  path    = "/etc/systemd/system/bad.service"
  content = "[Service]\nExecStart=/bin/sh -c 'echo no licence found >&2; exit 7'\n"
}

service "bad" {
  running = true
}
`)
	says(t, m.fails("service.bad"), "bad.service", "no licence found")
	m.site("service \"not-there\" {\n  running = true\n}\n")
	says(t, m.fails("service.not-there"), "not-there.service")
}

// systemd refuses to start again what has failed to start too often in a short time. What
// was put right is started all the same, and so is what was only restarted often.
func TestServiceAtItsStartLimit(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(`cat > /etc/systemd/system/lab.service <<'END'
[Unit]
StartLimitIntervalSec=1h
StartLimitBurst=2
[Service]
Type=exec
ExecStart=/bin/sh -c 'test -e /root/right && exec sleep infinity'
END
systemctl daemon-reload
for i in 1 2 3; do systemctl start lab; sleep 0.2; done
! systemctl start lab && journalctl -u lab | grep -q 'repeated too quickly'`)
	m.site(`
file "/root/right" {
  content = ""
}

service "lab" {
  running = true
}
`)
	m.converges(`file["/root/right"]`, "service.lab")
	m.site(`
file "/root/text" {
  content = "1"
  notify  = [restart.lab]
}

restart "lab" {}
`)
	for range 3 {
		m.converges(`file["/root/text"]`, "restart.lab")
		m.shell("systemctl is-active lab && rm /root/text")
	}
}

// A unit is restarted, or reloaded, when what it reads has changed, and only then.
func TestRestartAndReload(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(`cat > /etc/systemd/system/lab.service <<'END'
[Service]
ExecStart=/bin/sleep infinity
ExecReload=/bin/sh -c 'echo reloaded >> /root/reloads'
END
systemctl daemon-reload && systemctl start lab`)
	site := func(restarted, reloaded string) string {
		return strings.NewReplacer("RESTARTED", restarted, "RELOADED", reloaded).Replace(`
file "/root/restarted" {
  content = "RESTARTED"
  notify  = [restart.lab]
}

file "/root/reloaded" {
  content = "RELOADED"
  notify  = [reload.lab]
}

restart "lab" {}

reload "lab" {}
`)
	}
	pid := func() string { return m.shell("systemctl show -P MainPID lab") }

	first := pid()
	m.site(site("1", "1"))
	m.converges(`file["/root/restarted"]`, `file["/root/reloaded"]`, "restart.lab", "reload.lab")
	second := pid()
	if first == second {
		t.Error("it was not restarted")
	}
	m.site(site("1", "2"))
	m.converges(`file["/root/reloaded"]`, "reload.lab")
	if pid() != second {
		t.Error("a reload has restarted it")
	}
	if got := m.shell("wc -l < /root/reloads"); got != "2" {
		t.Errorf("reloaded %s times, want 2", got)
	}
	m.site(site("2", "2"))
	m.converges(`file["/root/restarted"]`, "restart.lab")
	if pid() == second {
		t.Error("it was not restarted")
	}
}
