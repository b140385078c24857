//go:build lab

package labtest

import (
	"fmt"
	"strings"
	"testing"
)

// A disk that is full leaves the old file as it was, and nothing beside it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("mkdir /mnt/small && mount -t tmpfs -o size=64k tmpfs /mnt/small && echo old > /mnt/small/file")
	for name, content := range map[string]string{
		"content": "content = join(\"\", [for i in range(1000) : \"" + strings.Repeat("x", 200) + "\"])",
		"source":  "source = \"big\"",
	} {
		m.site("file \"/mnt/small/file\" {\n  " + content + "\n}\n")
		m.shell("head -c 3000000 /dev/zero > /root/site/big")
		says(t, m.fails(`file["/mnt/small/file"]`), "no space left", "/mnt/small")
		if got := m.shell("ls -A /mnt/small; cat /mnt/small/file"); got != "file\nold" {
			t.Errorf("%s: after the failure: %q", name, got)
		}
	}
}

// An interrupted run leaves only whole files, ends what it has started, and the
// next one goes on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, signal := range []string{"INT", "TERM", "KILL"} {
		t.Run(signal, func(t *testing.T) { interrupted(t, signal) })
	}
}

func interrupted(t *testing.T, signal string) {
	m := boot(t)
	m.site(`
directory "/srv/files" {}

file "big" {
  for_each = toset([for i in range(40) : format("f%02d", i)])
  path     = "/srv/files/${each.key}"
  source   = "big"
}

state "slow" {
  require = [directory["/srv/files"]]

  command "sleep" {
    argv    = ["sleep", "4711"]
    creates = "/root/done"
  }
}
`)
	m.shell("head -c 8000000 /dev/urandom > /root/site/big")
	for _, delay := range []string{"0.1", "0.2", "0.4"} {
		m.shell("rm -rf /srv/files")
		script := fmt.Sprintf("timeout --foreground -s %s %s tenet apply --yes /root/site; echo $?", signal, delay)
		lines := strings.Fields(m.shell(script))
		status := lines[len(lines)-1]
		// timeout itself is killed by KILL, and says 124 for the others.
		if status != "124" && status != "137" {
			t.Fatalf("the run was not interrupted: %s", lines)
		}
		whole := m.shell("echo $(sha256sum < /root/site/big)")
		for line := range strings.SplitSeq(m.shell("cd /srv/files 2>/dev/null && for f in f*; do [ ! -e $f ] || echo $(sha256sum < $f); done; true"), "\n") {
			if line != "" && line != whole {
				t.Errorf("after %s s: a file is not whole: %s", delay, line)
			}
		}
		if signal == "KILL" {
			m.shell("pkill -x sleep; true") // nobody was left to end it
			continue
		}
		if got := m.shell("ls -A /srv/files 2>/dev/null | grep -v '^f[0-9][0-9]$'; true"); got != "" {
			t.Errorf("after %s s there are left: %s", delay, got)
		}
		m.until("! pgrep -r R,S,D -x sleep")
	}
	m.shell("rm -rf /srv/files; sed -i 's/4711/0/; s/\\[\"sleep\", \"0\"\\]/[\"touch\", \"\\/root\\/done\"]/' /root/site/site.hcl")
	if got := m.apply(); len(got) != 42 {
		t.Errorf("the next apply changed %d parts, want 42: %q", len(got), got)
	}
	if got := m.apply(); len(got) != 0 {
		t.Errorf("the one after it changed %q", got)
	}
}

// An interrupted run says so by its exit status.
func TestInterruptedStatus(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site("command \"sleep\" {\n  argv = [\"sleep\", \"4711\"]\n}\n")
	got := m.shell("env --default-signal=INT tenet apply --yes /root/site > /dev/null 2>&1 & until pgrep -x sleep > /dev/null; do sleep 0.05; done; kill -INT $!; wait $!; echo $?")
	if got != "4" {
		t.Errorf("exit status %s, want 4", got)
	}
}

// A command that takes too long is ended with all that it has started.
func TestTimeoutEndsTheProcessGroup(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.site(`
command "forks" {
  shell   = "sleep 4711 & (sleep 4712 & sleep 4713) & trap '' TERM; wait"
  timeout = "1s"
  retry   = { attempts = 1 }
}
`)
	says(t, m.fails("command.forks"), "1s")
	m.until("! pgrep -r R,S,D -x sleep") // of which each would last for an hour
}
