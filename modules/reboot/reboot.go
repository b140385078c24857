// Package reboot is the module "reboot": the machine is started anew, and the
// run goes on after that.
package reboot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Reboot is one start of the machine.
type Reboot struct {
	WhenRequired *bool   `state:"when_required" doc:"Only where the machine says that it needs it: where /run/reboot-required exists, which Debian's packages write."`
	Message      *string `state:"message" doc:"Why, for the machine's log and for those who are logged in."`
}

const doc = `Starts the machine anew, and goes on with the run after that.

The run stops where it is, and everything is recorded. A unit of systemd, tenet-resume.service, is put in place for that one start: it goes on with what is left, and is removed as the first thing then. What the run has done before is not done again.

At the top level of a site it is a handler: it runs when something that notifies it has changed. What is to come after it requires it. It runs alone: what runs beside it is awaited.

It needs systemd, and is refused below --root.`

const example = `package "linux-image-amd64" {
  notify = [reboot.kernel]
}

reboot "kernel" {
  when_required = true
  message       = "a new kernel is installed"
}`

// requiredPath is the file by which Debian's packages ask for a start.
const requiredPath = "/run/reboot-required"

// bootID names the time since the kernel was started; see random(4).
const bootID = "/proc/sys/kernel/random/boot_id"

// Module is the module "reboot".
var Module = states.Define(states.Type[Reboot]{
	Name: "reboot", Doc: doc, Example: example, Handler: true, Root: true, Reboots: true,
	NoAbsent: "A start of the machine is an act, and cannot be undone.",
	Validate: validate, Act: act, Recover: recoverAct,
})

func validate(want Reboot) error {
	if want.Message != nil && strings.ContainsFunc(*want.Message, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return states.InvalidAttribute("message", "it is one line of text, without control characters", "")
	}
	return nil
}

func act(ctx context.Context, h host.Host, want Reboot) (bool, Reboot, error) {
	if err := systemd.Require(h); err != nil {
		return false, want, err
	}
	if want.WhenRequired != nil && *want.WhenRequired {
		_, err := h.Lstat(requiredPath)
		if errors.Is(err, fs.ErrNotExist) {
			return false, want, nil
		}
		if err != nil {
			return false, want, err
		}
	}
	before, err := boot(h)
	if err != nil {
		return false, want, err
	}
	argv := []string{"systemctl", "reboot"}
	if want.Message != nil {
		argv = append(argv, "--message="+*want.Message)
	}
	if _, err := process.Run(ctx, h, host.Command{Argv: argv}); err != nil {
		return false, want, err
	}
	now, err := boot(h)
	if err == nil && now == before { // elsewhere than on a simulated machine
		err = states.ErrRebooting
	}
	return err == nil, want, err
}

// recoverAct tells whether the machine has been started anew since.
func recoverAct(_ context.Context, h host.Host, _ Reboot, begun states.Begun) (states.Outcome, error) {
	now, err := boot(h)
	if err != nil || begun.Boot == "" || now == begun.Boot {
		return states.Unknown, err
	}
	return states.Changed, nil
}

func boot(h host.Host) (string, error) {
	text, err := host.ReadFile(h, bootID, 128)
	if err != nil {
		return "", fmt.Errorf("nobody could tell whether the machine has started anew: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
