package remote

import (
	"context"

	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Retry has loops try again.
func (m *Machine) Retry(ctx context.Context, site string) ([]reconcile.State, error) {
	return list[reconcile.State](ctx, m, &wire.Request{Op: wire.OpRetry, Site: site})
}
