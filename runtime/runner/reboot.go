package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// The unit of systemd that goes on with a run once the machine has started anew. It
// is there for that one start.
const (
	resumeUnit  = "/etc/systemd/system/tenet-resume.service"
	resumeWants = "/etc/systemd/system/multi-user.target.wants/tenet-resume.service"
)

// rebootLimit is how long a machine may take to go down.
const rebootLimit = 10 * time.Minute

// tree reports whether it acts on a tree of files, where nothing starts.
func (r *Runner) tree() bool { return r.Root != "" && r.Root != "/" }

// continues gives what puts the unit in place; nil where nothing would go on.
func (r *Runner) continues(id string) func(context.Context) (func() error, error) {
	if r.Continue != nil {
		return r.Continue
	}
	if r.tree() || r.ResumeArgv == nil {
		return nil
	}
	return func(ctx context.Context) (func() error, error) {
		err := r.Host.WriteFile(ctx, resumeUnit, host.Text(resumeText(id, r.ResumeArgv(id)...)), host.Meta{Mode: new(fs.FileMode(0o644))})
		if err == nil {
			err = r.Host.Mkdir(filepath.Dir(resumeWants), host.Meta{})
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = r.Host.Symlink(resumeUnit, resumeWants, host.Meta{})
		}
		if err == nil {
			err = r.Host.Sync()
		}
		if err != nil {
			return nil, journal.Join(err, r.removeUnit())
		}
		return r.removeUnit, nil
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

// resumes gives the run that a unit goes on with; empty: it is none of ours.
func resumes(unit string) string {
	_, rest, _ := strings.Cut(unit, "\nDescription=tenet goes on with run ")
	id, _, found := strings.Cut(rest, "\n")
	if !found {
		return ""
	}
	return id
}

// Arrived removes the unit that goes on with a run, if there is one: whatever comes of
// it, it is not tried again at each start of the machine.
func (r *Runner) Arrived(id string) error {
	if r.tree() {
		return nil
	}
	text, err := host.ReadText(r.Host, resumeUnit)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (id == "" || resumes(text) != id) {
		return nil
	}
	if err == nil {
		err = r.removeUnit()
	}
	if err != nil {
		return fmt.Errorf("the unit that goes on with the run cannot be removed: %w", err)
	}
	return nil
}

// removeObsoleteUnit removes a unit that would go on with a run of the same site, which a new run
// has made obsolete: one that was killed before the machine went down.
func (r *Runner) removeObsoleteUnit(j *machine.Job, folder *journal.Folder) error {
	if r.tree() {
		return nil
	}
	text, err := host.ReadText(r.Host, resumeUnit)
	if err != nil { // there is none, or it is nobody's business who runs this
		return nil
	}
	id := resumes(text)
	if id == "" {
		return nil
	}
	was, err := folder.Status(id)
	if err != nil || journal.Identity(was.Site, was.Origin) != journal.Identity(j.Run.Site, j.Origin) {
		return nil // another folder's, or another site's
	}
	if err := r.removeUnit(); err != nil {
		return fmt.Errorf("the unit that goes on with run %s cannot be removed: %w", id, err)
	}
	return nil
}

func (r *Runner) removeUnit() error {
	var errs []error
	for _, path := range []string{resumeWants, resumeUnit} {
		if err := r.Host.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return journal.Join(errs...)
}

// awaitReboot waits for the end that the machine's going down brings. The lock is
// held until then, so that nothing else is applied meanwhile.
func (c *call) awaitReboot(ctx context.Context, record *journal.Run, result *runtime.Result) error {
	if err := record.Pause(journalEnd(result, nil)); err != nil {
		return err
	}
	c.note(machine.NoteReboot, "The machine starts anew, and run "+record.ID()+" goes on after that.")
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(rebootLimit):
	}
	err := fmt.Errorf("the machine has not gone down within %s; tenet apply --resume %s goes on with the run", rebootLimit, record.ID())
	end := journalEnd(result, err)
	end.State = journal.Interrupted
	return journal.Join(err, record.Finish(end))
}
