package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// Resuming says how to go on with a run.
type Resuming struct {
	Run         string // its ID
	Execution   string // in which a controller goes on with it; empty: none does
	Parallel    int
	LockTimeout time.Duration
	// Files opens the site or the saved plan that it was begun with; nil: only what
	// came in a bundle can be opened.
	Files func(context.Context, journal.Status) (fs.FS, error)
}

// Resume goes on with a run where it ended. The site, or what else its files are of, is
// read only for the files that parts name, and for its modules: they must be as they
// were. Started, which may be nil, is called once that is recorded, with the number of the
// last event before.
func (r *Runner) Resume(ctx context.Context, o Resuming, started func(run string, after int64, j *Job), events func(states.Event)) (*runtime.Result, error) {
	folder, err := r.existing()
	if err != nil {
		return nil, err
	}
	if folder == nil {
		return nil, r.nothing()
	}
	record, err := folder.Resume(ctx, o.Run, r.meta(&Job{Execution: o.Execution, LockTimeout: o.LockTimeout}))
	if err != nil {
		return nil, r.refused(ctx, err)
	}
	j, err := r.resumed(ctx, record.Resumed(), o)
	b := before{past: record.Ledger(), runs: folder.StateRun, sensitive: record.Sensitive()}
	if err == nil {
		r.lost(b.past)
		b.managed, err = holds(record.Managed)
	}
	if err != nil {
		return nil, journal.Join(err, record.Finish(journal.End{State: journal.Interrupted, Err: err}))
	}
	if started != nil {
		started(record.ID(), record.Resumed().Last, j)
	}
	return r.carry(ctx, j, record, b, events)
}

// resumed makes a job of a run's record.
func (r *Runner) resumed(ctx context.Context, was *journal.Resumed, o Resuming) (*Job, error) {
	j := &Job{
		Run: was.Run, Origin: was.Status.Origin, Execution: was.Status.Execution, Plan: was.Status.Plan, Parallel: o.Parallel,
		Places: PlacesOf(was.Sources), Recorded: func() map[string]journal.Source { return was.Sources },
	}
	if !r.needsFiles(was) {
		return j, nil
	}
	var err error
	switch {
	case o.Files != nil && filepath.IsAbs(j.Origin):
		j.Files, err = o.Files(ctx, was.Status)
	case j.Execution != "":
		j.Files, err = r.bundled(was.Status)
	case o.Files == nil:
		err = &Error{Err: fmt.Errorf("run %s needs files of %s", was.Status.Run, j.Origin), Hint: "go on with it on the machine itself: tenet apply --resume " + was.Status.Run}
	}
	if err != nil || j.Files == nil {
		return j, err
	}
	var dirs []planfile.Modules
	for _, m := range was.Status.Modules {
		digest, err := digestOf(j.Files, m.Files)
		if err != nil || digest != m.Digest {
			return nil, &Error{Err: journal.Join(fmt.Errorf("the modules in %s are not what they were when run %s was begun", filepath.Join(j.Origin, m.Dir), was.Status.Run), err),
				Hint: "apply the site again: what is done already is not done twice"}
		}
		dirs = append(dirs, planfile.Modules{Dir: m.Dir, Files: m.Files})
	}
	j.Registry, err = Modules(r.Registry, j.Files, dirs)
	return j, err
}

// bundled opens the files that came for a run.
func (r *Runner) bundled(run journal.Status) (fs.FS, error) {
	b, err := (&bundle.Store{Dir: r.StateDir}).Open(run.Execution)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("what came for run %s cannot be read: %w", run.Run, err), Hint: "apply the site again: what is done already is not done twice"}
	}
	return b.Files, nil
}

// needsFiles reports whether a run needs files of its site still.
func (r *Runner) needsFiles(was *journal.Resumed) bool {
	if len(was.Status.Modules) > 0 {
		return true
	}
	for _, list := range [][]states.Invocation{was.Run.Invocations, was.Run.Handlers} {
		for i := range list {
			for _, part := range list[i].Parts {
				m := r.Registry.Lookup(part.Type)
				if m == nil || slices.ContainsFunc(m.Attributes, func(a states.Attribute) bool {
					return a.Kind.FromSite() && part.Values[a.Name] != nil
				}) {
					return true
				}
			}
		}
	}
	return false
}

// PlacesOf gives the places of declarations that were recorded or saved.
func PlacesOf(sources map[string]journal.Source) map[string]diag.Range {
	places := make(map[string]diag.Range, len(sources))
	for address, place := range sources {
		at := diag.Pos{Line: place.Line, Column: place.Column}
		places[address] = diag.Range{File: place.File, Start: at, End: at}
	}
	return places
}

// Modules gives the program's modules, and those that files bring along.
func Modules(registry *states.Registry, files fs.FS, dirs []planfile.Modules) (*states.Registry, error) {
	var own []*states.Module
	seen := map[string]bool{}
	for _, dir := range dirs {
		below, err := fs.Sub(files, dir.Dir)
		if err != nil {
			return nil, err
		}
		set, list := custom.Load(below, custom.Dir, custom.Options{Registry: registry, Name: dir.Dir})
		if list.HasErrors() {
			return nil, &Error{Err: fmt.Errorf("a module of the plan cannot be used: %w", list.Err()), Hint: "plan again with this version"}
		}
		for _, m := range set.Modules() {
			if !seen[m.Name] {
				seen[m.Name] = true
				own = append(own, m)
			}
		}
	}
	return registry.With(own...), nil
}

// Digests tells a site's own modules from others, for those that go on with a run.
func Digests(files fs.FS, dirs []planfile.Modules) ([]journal.Modules, error) {
	var list []journal.Modules
	for _, m := range dirs {
		digest, err := digestOf(files, m.Files)
		if err != nil {
			return nil, err
		}
		list = append(list, journal.Modules{Dir: m.Dir, Files: m.Files, Digest: digest})
	}
	return list, nil
}

// digestOf is one for the names and the contents of files.
func digestOf(files fs.FS, names []string) (string, error) {
	all := sha256.New()
	for _, name := range names {
		f, err := files.Open(name)
		if err != nil {
			return "", err
		}
		one := sha256.New()
		_, err = io.Copy(one, f)
		if err = journal.Join(err, f.Close()); err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%q %x\n", name, one.Sum(nil))
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}
