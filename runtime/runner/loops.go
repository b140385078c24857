package runner

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// Retry has the loop of a site try again, or without one all loops that have come to nothing. The process that runs a loop
// takes it up within seconds, or when it begins.
func (r *Runner) Retry(_ context.Context, site string) (asked []reconcile.State, err error) {
	defer wrapError(&err)
	folder := reconcile.In(r.StateDir)
	list, err := folder.List()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.Site == site || site == "" && s.HasFailed() {
			if err := folder.AskAgain(s.Site); err != nil {
				return asked, err
			}
			asked = append(asked, s)
		}
	}
	if site != "" && len(asked) == 0 {
		return nil, &diag.HintError{Code: machine.CodeNotFound, Message: fmt.Sprintf("nothing keeps %s here", site), Hint: "tenet status names what is kept"}
	}
	return asked, nil
}
