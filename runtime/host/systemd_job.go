package host

import (
	"context"
	"fmt"
	"time"
)

// job lets systemd do something, and waits until that is done.
func (s *systemdInit) job(ctx context.Context, c *bus, verb Verb, name string) error {
	act := map[Verb]func(context.Context, string, string, chan<- string) (int, error){
		Start: c.StartUnitContext, Stop: c.StopUnitContext, Restart: c.RestartUnitContext, Reload: c.ReloadUnitContext,
	}[verb]
	if act == nil {
		return fmt.Errorf("systemd cannot %s a unit: %w", verb, ErrUnsupported)
	}
	result := make(chan string, 1)
	if _, err := act(ctx, name, "replace", result); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return fmt.Errorf("%s %s: %w", verb, name, ErrLost)
	case how := <-result:
		if how == "done" || how == "skipped" && verb != Reload {
			return nil
		}
		return &ServiceError{Name: name, Err: fmt.Errorf("the job to %s it ended as: %s", verb, how)}
	}
}

// resetStartLimit lets a unit be started again that was started too often in a short time;
// see StartLimitBurst= in systemd.unit(5). That limit ends the loop of a service that
// systemd itself restarts; an order to start it, which may come after its files were put
// right, is no part of that loop.
func (c *bus) resetStartLimit(ctx context.Context, name string) error {
	err := c.ResetFailedUnitContext(ctx, name)
	if isError(err, "org.freedesktop.systemd1.NoSuchUnit") { // it is not loaded, and was not started
		return nil
	}
	return err
}

// A service of type simple counts as started when its process is; whether it stays
// is seen a moment later.
const (
	looks = 4
	pause = 100 * time.Millisecond
)

func (s *systemdInit) checkStays(ctx context.Context, c *bus, name string) error {
	for look := range looks {
		if look > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(pause):
			}
		}
		now, err := s.ask(ctx, c, name)
		switch {
		case err != nil:
			return err
		case now.Type == "oneshot" && now.Active == "inactive" && now.Result == "success":
			return nil // it did its work and ended
		case !now.Runs():
			return &ServiceError{Name: name, Err: fmt.Errorf("it does not run (%s, %s; result: %s)", now.Active, now.Sub, now.Result)}
		case now.Type != "simple" && now.Type != "exec" && now.Type != "idle":
			return nil // systemd has waited until it was ready
		}
	}
	return nil
}
