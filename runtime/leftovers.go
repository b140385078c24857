package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// What runs that were killed have left for a moment that did not end: temporary
// files, and programs that nobody waits for. Both carry the run's ID, and only the
// directories are looked into that the parts name which did not end.

// abandonedGrace is how long the programs of a dead run have to end by themselves
// before they are ended: their work may be all but done.
const abandonedGrace = 10 * time.Second

// cleanUp removes and ends what earlier runs have left, and says so; a plan only
// says so.
func (e *engine) cleanUp(ctx context.Context) {
	runs := map[string]*states.StateRun{}
	cleaned := map[string]bool{}
	for _, b := range e.earlierActs.Unknown {
		if _, known := runs[b.Run]; !known {
			runs[b.Run] = earlierRun(e.options.Runs, b.Run)
		}
		dirs := namedDirs(e.options.Registry, b, runs[b.Run])
		for _, dir := range slices.Sorted(maps.Keys(dirs)) {
			if name := b.Run + dir; !cleaned[name] {
				cleaned[name] = true
				e.removeLeftovers(ctx, b, dir, dirs[dir], accountOf(runs[b.Run], b.Address))
			}
		}
	}
	e.endAbandoned(ctx)
}

// earlierRun gives what an earlier run was to do; nil: nobody knows any more.
func earlierRun(runs func(id string) (*states.StateRun, error), id string) *states.StateRun {
	if runs == nil {
		return nil
	}
	run, err := runs(id)
	if err != nil { // the key of what was begun tells the most of it
		return nil
	}
	return run
}

// namedDirs lists the directories in which a part that was begun may have left
// files: those above the paths that it names. After a loss of power others of its
// run may have been begun as well, whose records were not on disk. Where a part makes
// many things it may be any directory below its path, too: true.
func namedDirs(registry *states.Registry, b states.Begun, run *states.StateRun) map[string]bool {
	dirs := map[string]bool{}
	add := func(typ string, values map[string]any) {
		m := registry.ModuleOf(typ)
		if m == nil {
			return
		}
		for _, p := range m.Paths(values) {
			if strings.HasPrefix(p, "/") { // not what was masked
				dirs[path.Dir(p)] = dirs[path.Dir(p)]
			}
		}
		if root, ok := values[onlyPathKey(m)].(string); ok && m.Makes != nil && strings.HasPrefix(root, "/") {
			dirs[path.Clean(root)] = true
		}
	}
	if m := registry.ModuleOf(b.Type); m != nil && len(m.Keys()) == 1 {
		add(b.Type, map[string]any{m.Keys()[0]: b.Key})
	}
	all := b.Boot != journal.BootID()
	for _, part := range partsOf(run) {
		if all || part.ID == b.ID || states.WithoutWave(part.Address) == b.Address {
			add(part.Type, part.Values)
		}
	}
	return dirs
}

// partsOf lists the parts of a run; nil has none.
func partsOf(run *states.StateRun) (parts []*states.Part) {
	if run == nil {
		return nil
	}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			parts = append(parts, pointers(list[i].Parts)...)
		}
	}
	return parts
}

// removeLeftovers removes the temporary files of a run in a directory, or below it as
// well, as the account that has made them.
func (e *engine) removeLeftovers(ctx context.Context, b states.Begun, dir string, below bool, user string) {
	a := e.actors.of(ctx, user)
	if a.err != nil {
		e.recordCleanup(b, dir, "it may hold temporary files that run "+b.Run+" has left", a.err)
		return
	}
	// The directory may be another's, who moves it between a look and a removal: after the
	// way to it is known, no link is followed.
	if !below {
		dir = nearest(a.host, dir)
	}
	dir, h := path.Dir(host.Resolve(a.host, path.Join(dir, "x"))), a.host.NoFollow()
	var names []string
	var err error
	if below {
		names, err = host.LeftoversBelow(ctx, h, dir, b.Run)
	} else {
		names, err = host.Leftovers(h, dir, b.Run)
	}
	if err != nil && !(e.planning() && errors.Is(err, fs.ErrPermission)) {
		e.recordCleanup(b, dir, "it may hold temporary files that run "+b.Run+" has left", err)
	}
	for _, name := range names {
		reason := "a temporary file that run " + b.Run + " has left"
		var err error
		if !e.planning() {
			if err = h.Remove(name); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		e.recordCleanup(b, name, reason, err)
	}
}

// nearest gives the directory, or the next one above it that is there: where the first
// of those on the way to it was being made.
func nearest(h host.Reader, dir string) string {
	for dir != "/" {
		if _, err := h.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

// endAbandoned ends the programs of parts that were begun and did not end, once
// they have had their time. In another boot there are none.
func (e *engine) endAbandoned(ctx context.Context) {
	h := e.options.Host
	running := map[int]states.Begun{} // by its place in e.past.Unknown
	look := func() map[int]states.Begun {
		for i, b := range e.earlierActs.Unknown {
			delete(running, i)
			if b.ID != "" && b.Boot == journal.BootID() && len(h.StrayProcesses(b.Run, b.ID)) > 0 {
				running[i] = b
			}
		}
		return running
	}
	deadline := time.Now().Add(abandonedGrace)
	for wait := 10 * time.Millisecond; len(look()) > 0 && !e.planning() && time.Now().Before(deadline); wait = min(2*wait, 250*time.Millisecond) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
	for _, i := range slices.Sorted(maps.Keys(running)) {
		b := running[i]
		var err error
		what := "process " + strings.Trim(fmt.Sprint(h.StrayProcesses(b.Run, b.ID)), "[]")
		if !e.planning() {
			err = h.EndStrayProcesses(b.Run, b.ID)
		}
		e.recordCleanup(b, what, "a program that run "+b.Run+" has left running", err)
	}
}

// recordCleanup tells of one trace that is gone, or that could not be removed.
func (e *engine) recordCleanup(b states.Begun, what, reason string, err error) {
	ev := states.Event{
		Type: states.EventCleaned, Address: b.Address, ID: b.ID, Part: b.Type,
		Key: what, Run: b.Run, Reason: reason,
	}
	if err != nil {
		ev.Error = failure(e.recorder.mask.error(err), "")
	}
	e.recorder.emit(ev)
}
