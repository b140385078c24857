package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// How a part starts the machine anew: alone, with all that was done before on disk,
// and with something in place that goes on with the run afterwards. Its end is not
// recorded by this process: the next one tells by the boot that it has happened.

// runAlone lets a part whose module reboots run beside no other one.
func (e *engine) runAlone(p *states.Part) (leave func()) {
	if e.planning() {
		return func() {}
	}
	if m := e.options.Registry.ModuleOf(p.Type); m != nil && m.Reboots {
		e.acts.Lock()
		return e.acts.Unlock
	}
	e.acts.RLock()
	return e.acts.RUnlock
}

// mayReboot refuses to start the machine anew where nothing would go on after that.
func mayReboot(m *states.Module, o *Options) error {
	if m.Reboots && o.Continue == nil {
		return &diag.HintError{Code: "unsupported", Message: "nothing would go on with the run once the machine has started anew",
			Hint: "apply it on the machine itself, not on a tree of files, and with a record of the run"}
	}
	return nil
}

// actAnnounced acts on the host. Around an act that starts the machine anew it puts
// in place what goes on with the run, and takes it back if that did not happen.
func (s *step) actAnnounced(ctx context.Context) (changed bool, out any, err error) {
	if !s.module.Reboots {
		return s.module.Act(ctx, s.host, s.want)
	}
	undo, err := s.engine.options.Continue(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("what is to go on with the run cannot be put in place: %w", err)
	}
	changed, out, err = s.module.Act(ctx, s.host, s.want)
	// What was cut short may have told the machine already; what goes on then finds
	// its run, or nothing to do.
	if !errors.Is(err, states.ErrRebooting) && ctx.Err() == nil {
		if gone := undo(); gone != nil {
			err = journal.Join(err, fmt.Errorf("what was to go on with the run cannot be removed: %w", gone))
		}
	}
	return changed, out, err
}
