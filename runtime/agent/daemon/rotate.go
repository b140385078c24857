package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
)

// Limits of a rotation of keys by the agent that runs.
const (
	rotationPatience = 2 * time.Minute
	rotationLook     = 200 * time.Millisecond
)

// Rotate has the host make another connection key and another sealing key, and waits until the server has answered to them. The agent that runs does it, and
// where none runs this process.
func Rotate(ctx context.Context, stateDir string) error {
	who, err := Load(stateDir)
	if diag.CodeOf(err) == identity.CodeInUse {
		return rotateRunning(ctx, identityFolder(stateDir))
	}
	if err != nil {
		return err
	}
	return errors.Join(who.Rotate(ctx), who.Close())
}

// rotateRunning asks the agent that runs.
func rotateRunning(ctx context.Context, dir string) error {
	number, err := numberOf(dir)
	if err != nil {
		return err
	}
	if err := identity.RequestRotation(dir, number); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, rotationPatience)
	defer cancel()
	ticker := time.NewTicker(rotationLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return &diag.HintError{Code: "unanswered", Message: "the agent was asked for other keys, and the server has not answered to them yet", Err: ctx.Err(),
				Hint: "the log of the agent says why, and it tries again by itself; the present keys count until then. An agent of an older version does not know this: update it"}
		case <-ticker.C:
		}
		now, err := numberOf(dir)
		if err != nil || now > number {
			return err
		}
	}
}

// numberOf is the number of the keys that count.
func numberOf(dir string) (uint64, error) {
	who, err := identity.View(dir, identity.Options{})
	if err != nil {
		return 0, err
	}
	return who.Keys().Number, who.Close()
}
