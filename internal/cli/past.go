package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
)

// adHoc is the place of what was declared on the command line.
const adHoc = "the command line"

// originOf is where a site lies, by which records know one without a name: the
// same place, however it is written.
func originOf(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// remember looks up, for a plan, what earlier runs have left undone. Who may not
// read the records gets a plan without, and is told.
func (s *client) remember(c *site) error {
	folder, err := s.existing()
	if errors.Is(err, fs.ErrPermission) {
		fmt.Fprintln(s.Err, "tenet: what earlier runs have left is not in this plan: "+ui.Clean(err.Error()))
		return nil
	}
	if err != nil || folder == nil {
		return err
	}
	c.runs = folder.StateRun
	if c.past, err = folder.Ledger(); err != nil {
		return &status{code: exitFailed, err: err, hint: elsewhere}
	}
	s.lost(c.past)
	return s.holds(c, folder.Managed)
}

// lost says what of the records could not be read.
func (s *client) lost(past *journal.Ledger) {
	for _, text := range past.Damaged {
		fmt.Fprintln(s.Err, "tenet: the records are damaged: "+ui.Clean(text))
	}
}

// meta says what is applied, and by whom.
func (s *client) meta(c *site) journal.Meta {
	return journal.Meta{
		Run: c.run, Origin: c.origin, Plan: c.plan, Root: s.globals.Root, User: s.user(), From: s.from(), Command: s.command,
		LockTimeout: s.lockTimeout, Waiting: s.waiting,
	}
}

// user names who applies here.
func (s *client) user() string {
	name := fmt.Sprint("user ", os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if by := s.getenv("SUDO_USER"); by != "" && by != name {
		name += " (by " + by + ")"
	}
	return name
}

// from tells where somebody is who applies here: at the other end of SSH, at a
// terminal, or in a unit of systemd.
func (s *client) from() string {
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
