package systemd

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// Start runs one of start and restart, and waits until the unit runs. Unit
// files that have changed are read anew before. A unit that does not run in the
// end is an error with the last lines that it said.
func Start(ctx context.Context, h host.Host, verb string, s Status) error {
	if s.Load == "masked" {
		return fmt.Errorf("%s is masked and cannot be started (a service part with masked = false lifts that)", s.Unit)
	}
	if s.NeedReload {
		if err := systemctl(ctx, h, "daemon-reload"); err != nil {
			return err
		}
	}
	if err := systemctl(ctx, h, verb, "--", s.Unit); err != nil {
		return failure(ctx, h, s.Unit, err)
	}
	return await(ctx, h, s.Unit)
}

// Stop stops the unit, and waits until it is.
func Stop(ctx context.Context, h host.Host, s Status) error {
	if err := systemctl(ctx, h, "stop", "--", s.Unit); err != nil {
		return failure(ctx, h, s.Unit, err)
	}
	return nil
}

// Reload tells the unit to read its configuration anew, and waits until it has.
func Reload(ctx context.Context, h host.Host, s Status) error {
	if s.NeedReload {
		if err := systemctl(ctx, h, "daemon-reload"); err != nil {
			return err
		}
	}
	if err := systemctl(ctx, h, "reload", "--", s.Unit); err != nil {
		return failure(ctx, h, s.Unit, err)
	}
	return nil
}

// A service of type simple counts as started when its process is; whether it
// stays is seen a moment later.
const (
	looks = 4
	pause = 100 * time.Millisecond
)

func await(ctx context.Context, h host.Host, unit string) error {
	for look := range looks {
		if look > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(pause):
			}
		}
		s, err := Show(ctx, h, unit)
		switch {
		case err != nil:
			return err
		case s.Type == "oneshot" && s.Active == "inactive" && s.Result == "success":
			return nil // it did its work and ended
		case !s.IsActive():
			return failure(ctx, h, unit, fmt.Errorf("it does not run (%s, %s; result: %s)", s.Active, s.Sub, s.Result))
		case s.Type != "simple" && s.Type != "exec" && s.Type != "idle":
			return nil // systemd has waited until it was ready
		}
	}
	return nil
}

// failure adds what systemd and the unit's log say.
func failure(ctx context.Context, h host.Host, unit string, err error) error {
	r, qerr := h.Query(ctx, host.Query{
		Command: host.Command{Argv: []string{"systemctl", "status", "--no-pager", "--full", "--lines=10", "--", unit}},
	})
	said := process.Tail(r.Stdout, 15)
	if qerr != nil || said == "" {
		return fmt.Errorf("%s: %w", unit, err)
	}
	return fmt.Errorf("%s: %w\n%s", unit, err, said)
}
