package api

import "time"

// SetHeartbeat replaces how often streams of events look whether their readers still may read.
func (a *API) SetHeartbeat(d time.Duration) { a.heartbeat = d }
