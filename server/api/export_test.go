package api

import (
	"context"
	"time"
)

// SetHeartbeat replaces how often streams of events look whether their readers still may read.
func (a *API) SetHeartbeat(d time.Duration) { a.heartbeat = d }

// SetPatience replaces how long one waits for a turn.
func (a *API) SetPatience(d time.Duration) { a.patience = d }

// TakeGraphs has all turns of reading graphs taken, until what it gives is called.
func (a *API) TakeGraphs(ctx context.Context) (done func(), err error) {
	var list []func()
	for range graphsAtOnce {
		one, err := a.graphs.Take(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return func() {
		for _, one := range list {
			one()
		}
	}, nil
}
