package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// The unit of systemd that goes on with a run once the machine has started anew. It
// is there for that one start.
const (
	resumeUnit  = "/etc/systemd/system/tenet-resume.service"
	resumeWants = "/etc/systemd/system/multi-user.target.wants/tenet-resume.service"
)

// rebootLimit is how long a machine may take to go down.
const rebootLimit = 10 * time.Minute

// continues gives what puts the unit in place; nil below --root, where nothing
// starts.
func (s *client) continues(c *site, id string) func(context.Context) (func() error, error) {
	if s.globals.Root != "" && s.globals.Root != "/" {
		return nil
	}
	return func(ctx context.Context) (func() error, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		dir, err := s.stateDir()
		if err != nil {
			return nil, err
		}
		text := resumeText(id, program, "apply", "--resume", id, "--state-dir", dir, "--no-color")
		err = c.host.WriteFile(ctx, resumeUnit, host.Text(text), host.Meta{Mode: new(fs.FileMode(0o644))})
		if err == nil {
			err = c.host.Mkdir(filepath.Dir(resumeWants), host.Meta{})
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = c.host.Symlink(resumeUnit, resumeWants, host.Meta{})
		}
		if err == nil {
			err = c.host.Sync()
		}
		if err != nil {
			return nil, errors.Join(err, removeUnit(c.host))
		}
		return func() error { return removeUnit(c.host) }, nil
	}
}

// resumeText is the unit. The machine's start does not wait for the run, which may
// want to start what comes later; what its parts leave running stays.
func resumeText(id string, argv ...string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`, "\n", `\n`).Replace(arg) + `"`
	}
	return `# This machine was started anew by tenet. This unit goes on with run ` + id + `,
# and is removed as the first thing then.
[Unit]
Description=tenet goes on with run ` + id + `
Wants=network-online.target
After=network-online.target

[Service]
Type=simple
ExecStart=` + strings.Join(quoted, " ") + `
Environment=HOME=/root
KillMode=process

[Install]
WantedBy=multi-user.target
`
}

// arrived removes the unit that goes on with a run, if there is one.
func (s *client) arrived(id string) error {
	if s.globals.Root != "" && s.globals.Root != "/" {
		return nil
	}
	text, err := os.ReadFile(resumeUnit)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.Contains(string(text), `"--resume" "`+id+`"`) {
		return nil
	}
	var h *host.Local
	if err == nil {
		h, err = s.newHost()
	}
	if err == nil {
		err = removeUnit(h)
	}
	if err != nil {
		return fmt.Errorf("the unit that goes on with the run cannot be removed: %w", err)
	}
	return nil
}

// outrun removes a unit that would go on with a run which this one has made obsolete:
// one that was killed before the machine went down.
func (s *client) outrun(c *site, folder *journal.Folder) error {
	if s.globals.Root != "" && s.globals.Root != "/" {
		return nil
	}
	text, err := os.ReadFile(resumeUnit)
	if err != nil { // there is none, or it is nobody's business who runs this
		return nil
	}
	_, rest, _ := strings.Cut(string(text), `"--resume" "`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		return nil
	}
	was, err := folder.Status(id)
	if err != nil || journal.Identity(was.Site, was.Origin) != journal.Identity(c.run.Site, c.origin) {
		return nil // another folder's, or another site's
	}
	if err := removeUnit(c.host); err != nil {
		return fmt.Errorf("the unit that goes on with run %s cannot be removed: %w", id, err)
	}
	return nil
}

func removeUnit(h *host.Local) error {
	var errs []error
	for _, path := range []string{resumeWants, resumeUnit} {
		if err := h.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// awaitReboot waits for the end that the machine's going down brings. The lock is
// held until then, so that nothing else is applied meanwhile.
func (s *client) awaitReboot(ctx context.Context, record *journal.Run, result *runtime.Result) error {
	if err := record.Pause(ending(result, nil)); err != nil {
		return err
	}
	fmt.Fprintln(s.Err, ui.Clean("The machine starts anew, and run "+record.ID()+" goes on after that."))
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(rebootLimit):
	}
	err := fmt.Errorf("the machine has not gone down within %s; tenet apply --resume %s goes on with the run", rebootLimit, record.ID())
	end := ending(result, err)
	end.State = journal.Interrupted
	return errors.Join(err, record.Finish(end))
}
