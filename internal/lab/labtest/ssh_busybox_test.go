//go:build lab

package labtest

import (
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/internal/lab"
)

// bare makes a tree with a busybox and little else, into which an sshd on another port
// locks those who log in: no bash, no Python, no curl, no sftp-server, no systemd.
const bare = `set -e
mkdir -p /srv/bare/bin /srv/bare/etc /srv/bare/root /srv/bare/proc /srv/bare/dev /srv/bare/tmp /srv/bare/var
dpkg-deb -x /opt/parcels/busybox-static_*.deb /tmp/busybox
cp /tmp/busybox/bin/busybox /srv/bare/bin/
for applet in sh gzip uname mkdir mv rm cat chmod head env id ls sleep rmdir; do ln -s busybox /srv/bare/bin/$applet; done
echo 'root:x:0:0::/root:/bin/sh' > /srv/bare/etc/passwd
echo 'root:x:0:' > /srv/bare/etc/group
mount -t proc proc /srv/bare/proc
mount --bind /dev /srv/bare/dev
usermod -s /bin/sh root
printf 'Port 2203\nPidFile /run/sshd-2203.pid\nChrootDirectory /srv/bare\n' > /etc/ssh/bare
/usr/sbin/sshd -f /etc/ssh/bare`

// A POSIX sh and a gzip are enough of a host.
func TestSSHBareHost(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "bare")
	h := f.hosts[0]
	f.on(h, bare)
	trustPort(f, h, 2203)
	if r, err := f.c.Exec(t.Context(), "ssh", "-p", "2203", "root@bare", "command -v python3 perl curl bash sha256sum base64 sftp dd; echo /bin/*"); err != nil || string(r.Stdout) != "/bin/busybox /bin/cat /bin/chmod /bin/env /bin/gzip /bin/head /bin/id /bin/ls /bin/mkdir /bin/mv /bin/rm /bin/rmdir /bin/sh /bin/sleep /bin/uname\n" {
		t.Fatalf("it is not as bare as it should be: %+v %v", r, err)
	}
	site := f.site("bare", "host \"bare\" {\n  user = \"root\"\n  port = 2203\n}\n"+`
file "/etc/motd" {
  content = "bare\n"
}

directory "/root/made" {}

command "act" {
  argv    = ["/bin/sh", "-c", "echo $(uname) > /root/made/by"]
  creates = "/root/made/by"
}
`)
	f, _ = f.traced()
	f.everywhere(f.applies(0, site), 3)
	f.everywhere(f.applies(0, site), 0)
	if got := f.on(h, "cat /srv/bare/etc/motd /srv/bare/root/made/by"); got != "bare\nLinux" {
		t.Errorf("on the host: %q", got)
	}
}

// trustPort lets the controller know the host's keys on another port.
func trustPort(f *fleet, h *lab.Host, port int) {
	f.Helper()
	script := fmt.Sprintf("sed -n 's/^%s,[^ ]* /[%[1]s]:%d /p' .ssh/known_hosts >> .ssh/more && cat .ssh/more >> .ssh/known_hosts", h.Name, port)
	if r, err := f.c.Exec(f.Context(), "sh", "-c", script); err != nil || r.ExitCode != 0 {
		f.Fatalf("%+v %v", r, err)
	}
}
