package cli

import (
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/runtime/runner"
)

// adHoc is the place of what was declared on the command line.
const adHoc = runner.AdHoc

// originOf is where a site lies, by which records know one without a name: the
// same place, however it is written.
func originOf(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// toldOrigin is a place of this machine as other machines are told of it: "NAME:PATH".
func toldOrigin(place string) (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	return name + ":" + place, nil
}

// placeOf gives the place that other machines were told of, if it is one of this machine; others
// stay as they are.
func placeOf(origin string) string {
	name, err := os.Hostname()
	if err != nil {
		return origin
	}
	return strings.TrimPrefix(origin, name+":")
}

// user names who applies here.
func (c *console) user() string {
	name := fmt.Sprint("user ", os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if by := c.getenv("SUDO_USER"); by != "" && by != name {
		name += " (by " + by + ")"
	}
	return name
}

// clientAddress tells where somebody is who applies here: at the other end of SSH, at a
// terminal, or in a unit of systemd.
func (s *client) clientAddress() string {
	address, _, _ := strings.Cut(s.getenv("SSH_CONNECTION"), " ")
	if _, err := netip.ParseAddr(address); err == nil {
		return address
	}
	if tty, err := os.Readlink("/proc/self/fd/0"); err == nil && (strings.HasPrefix(tty, "/dev/tty") || strings.HasPrefix(tty, "/dev/pts/")) {
		return strings.TrimPrefix(tty, "/dev/")
	}
	group, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	if unit := filepath.Base(strings.TrimSpace(string(group))); strings.HasSuffix(unit, ".service") {
		return unit
	}
	return ""
}
