package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/tenetcm/tenet/runtime/fault"
)

// detachPatience is how long systemd may take to give this process a place of its own.
const detachPatience = 2 * time.Second

// detachProcess makes this process one that outlives the session it was started in: it
// leads a session of its own and, where root asks a systemd for it, has a scope of its
// own, which the end of a login does not end. Where that cannot be had the run goes on
// all the same: most systems leave alone what a login has left behind. The scope is made
// beside what comes next; the result waits for it.
func detachProcess(description string) (done func()) {
	_, _ = syscall.Setsid() // who leads a group already has been started by itself
	if os.Geteuid() != 0 {
		return func() {}
	}
	var wait fault.Group
	wait.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), detachPatience)
		defer stop()
		_ = ownScope(ctx, description)
	})
	return wait.Wait
}

// ownScope moves this process into a scope of systemd.
func ownScope(ctx context.Context, description string) error {
	c, err := systemd.NewSystemdConnectionContext(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	random := make([]byte, 4)
	rand.Read(random)
	name := fmt.Sprintf("tenet-%d-%s.scope", os.Getpid(), hex.EncodeToString(random))
	ended := make(chan string, 1)
	_, err = c.StartTransientUnitContext(ctx, name, "fail", []systemd.Property{
		systemd.PropDescription(description),
		systemd.PropPids(uint32(os.Getpid())),
		{Name: "CollectMode", Value: dbus.MakeVariant("inactive-or-failed")},
	}, ended)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-ended:
		if result != "done" {
			return fmt.Errorf("systemd: %s", result)
		}
		return nil
	}
}
