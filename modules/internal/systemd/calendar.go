package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// CheckCalendar lets systemd-analyze look at a calendar expression, where there is
// one.
func CheckCalendar(ctx context.Context, h host.Host, when string) error {
	_, err := process.Query(ctx, h, host.Query{Command: host.Command{Argv: []string{"systemd-analyze", "calendar", "--", when}}})
	if exit, ok := errors.AsType[*process.ExitError](err); ok {
		return fmt.Errorf("on_calendar: %s", process.Tail(exit.Result.Stderr, 2))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, host.ErrUnanswerable) {
		return nil
	}
	return err
}
