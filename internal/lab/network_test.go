//go:build lab

package lab_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

func TestHostsReachOneAnotherByName(t *testing.T) {
	run, err := lab.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	a, err := run.Boot(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	b, err := run.BootLasting(t.Context(), "beta")
	if err != nil {
		t.Fatal(err)
	}
	mustShell(t, a, "curl -fsS -m 60 -o /dev/null http://beta/ && getent hosts alpha beta && ! getent hosts gamma")
	if _, err := run.Boot(t.Context(), "beta"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("two hosts of one name: %v", err)
	}

	// By ssh, from one another and from this machine.
	key := mustShell(t, a, "mkdir -p -m 700 /root/.ssh; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519; cat /root/.ssh/id_ed25519.pub")
	mustShell(t, b, "mkdir -p -m 700 /root/.ssh && echo '"+strings.TrimSpace(key)+"' > /root/.ssh/authorized_keys")
	const ssh = "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR root@beta hostname"
	if out := mustShell(t, a, ssh); out != "beta\n" {
		t.Errorf("over ssh: %q", out)
	}
	r, err := run.Exec(t.Context(), "bash", "-c", "exec 3<>/dev/tcp/beta/22 && head -c 8 <&3")
	if err != nil || string(r.Stdout) != "SSH-2.0-" {
		t.Errorf("from the run: %+v, %v", r, err)
	}
	if err := get(run, "http://alpha/"); err != nil {
		t.Error(err)
	}
	if err := get(run, "http://gamma/"); err == nil || !strings.Contains(err.Error(), "no host") {
		t.Errorf("a host that is not there: %v", err)
	}

	// A reboot costs no address.
	mustShell(t, b, "touch /root/kept; systemd-run -q --on-active=0.5 --timer-property=AccuracySec=10ms systemctl reboot")
	if err := b.AwaitReboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := mustShell(t, a, ssh+" && ssh root@beta ls /root"); out != "beta\nkept\n" {
		t.Errorf("after the reboot: %q", out)
	}
}

func TestLinesAreCutAndSlow(t *testing.T) {
	run, err := lab.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	h, err := run.Boot(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Cut(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if conn, err := run.Dial(ctx, "tcp", "alpha:80"); err == nil {
		t.Error("a host that is cut off answers", conn.Close())
	}
	if err := h.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := get(run, "http://alpha/"); err != nil {
		t.Error(err)
	}

	mustShell(t, h, "head -c 250000 /dev/zero > /var/www/html/zeros")
	took := func() time.Duration {
		began := time.Now()
		if err := get(run, "http://alpha/zeros"); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	quick := took()
	if err := h.Slow(t.Context(), 0, 2_000_000); err != nil {
		t.Fatal(err)
	}
	if slow := took(); slow < 700*time.Millisecond {
		t.Errorf("2 Mbit in %v over a line of 2 Mbit/s; before in %v", slow, quick)
	}
	if err := h.Slow(t.Context(), 0, 0); err != nil {
		t.Fatal(err)
	}
	again := took()
	for deadline := time.Now().Add(time.Minute); again > 500*time.Millisecond && time.Now().Before(deadline); {
		again = took() // this machine itself may be slow
	}
	if again > 500*time.Millisecond {
		t.Errorf("the line is still slow: %v", again)
	}
	// Not every kernel can delay packets; one that cannot says so.
	err = h.Slow(t.Context(), 50*time.Millisecond, 0)
	switch began := time.Now(); {
	case err != nil && !strings.Contains(err.Error(), "CONFIG_NET_SCH_NETEM"):
		t.Error(err)
	case err == nil:
		if err := get(run, "http://alpha/"); err != nil || time.Since(began) < 100*time.Millisecond {
			t.Errorf("no delay: %v, %v", time.Since(began), err)
		}
	}
}

// get asks a host over http, from the run.
func get(run *lab.Run, url string) error {
	transport := &http.Transport{DisableKeepAlives: true}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return run.Dial(ctx, network, address)
	}
	r, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}
