package runtime

import (
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// durable syncs first what was done, then the records that say so.
func (r *recorder) durable() error {
	if r.hasNewResource { // what it has created the site must know of, or it could never remove it
		r.hasNewResource = false
		if err := r.engine.options.Journal.Sync(); err != nil {
			return err
		}
		return r.syncHost()
	}
	if err := r.syncHost(); err != nil {
		return err
	}
	return r.engine.options.Journal.Sync()
}

// syncHost makes durable what was done on the host since the last time.
func (r *recorder) syncHost() error {
	if !r.needsSync || r.engine.options.Journal == nil {
		return nil
	}
	if r.hasNewResource {
		return r.durable()
	}
	if err := r.syncHostNow(); err != nil {
		return err
	}
	r.needsSync = false
	return nil
}

func (r *recorder) syncHostNow() error {
	return journal.Join(r.engine.options.Host.Sync(), r.engine.actors.sync())
}

// takeOverWrites makes durable what a process has done that died: it has not said so any more, and a record that is made because of it
// is not to outlast it.
func (e *engine) takeOverWrites() {
	hasDied := e.resumption != nil || len(e.earlierActs.Unknown) > 0
	if past := e.options.Past; past != nil && !hasDied {
		for _, n := range past.Nodes[journal.Identity(e.run.Site, e.options.Origin)] {
			hasDied = hasDied || n.IsUnknown
		}
	}
	if e.planning() || e.options.Journal == nil || !hasDied {
		return
	}
	sync := e.options.Host.Sync
	if h, ok := e.options.Host.(host.OthersSyncer); ok {
		sync = h.SyncAll
	}
	if err := sync(); err != nil {
		e.recorder.fail(err)
	}
}
