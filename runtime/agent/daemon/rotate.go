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
	before, err := viewRotation(dir)
	if err != nil {
		return err
	}
	if err := identity.RequestRotation(dir, before.number); err != nil {
		return err
	}
	last := rotationView{isPending: true}
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
		now, err := viewRotation(dir)
		if err != nil || now.number > before.number {
			return err
		}
		// What the agent makes of a request is there before the request is removed, and so at the look after that.
		if !now.isPending && !last.isPending {
			return &diag.HintError{Code: "refused", Message: "the agent was asked for other keys, and has made none: the present ones stay", Hint: "the log of the agent says why (journalctl -u tenet-agent); ask again once that is mended"}
		}
		last = now
	}
}

// rotationView is how far a rotation is.
type rotationView struct {
	number    uint64 // of the keys that count
	isPending bool   // somebody has asked for other keys, or the server is yet to answer to them
}

func viewRotation(dir string) (rotationView, error) {
	who, err := identity.View(dir, identity.Options{})
	if err != nil {
		return rotationView{}, err
	}
	return rotationView{who.Keys().Number, who.IsReplacing() || who.IsRotationRequested()}, who.Close()
}
