package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// resume goes on with a run. Where there is nothing to go on with, that is said, and no
// failure.
func (c *call) resume(ctx context.Context, how machine.Resumption) (*machine.Result, error) {
	was, err := c.FindBegun(how.Run.ID, how.Run.Host)
	if notFound(err) && how.Run.ID == "" {
		c.note(machine.NoteRecords, "nothing to go on with: nothing has been applied yet")
		return &machine.Result{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := c.Arrived(was.Run); err != nil { // the next start of the machine needs not do it
		return nil, err
	}
	if filepath.Clean("/"+was.Root) != filepath.Clean("/"+c.Root) {
		return nil, &diag.HintError{Err: fmt.Errorf("run %s acts on the tree %s", was.Run, was.Root), Hint: "go on with it on the machine itself: tenet apply --resume " + was.Run}
	}
	if err := c.mayComeBetween(was.Site, was.Once || how.Keeper); err != nil {
		return nil, err
	}
	result, err := c.resumeRun(ctx, was.Run, how)
	if not, ok := errors.AsType[*journal.NotResumableError](err); ok && not.Done && how.Execution != "" {
		c.note(machine.NoteRecords, "nothing to go on with: run "+not.Run+" has ended, and nothing failed")
		return &machine.Result{Run: not.Run}, nil
	}
	return result, err
}

func (c *call) resumeRun(ctx context.Context, id string, how machine.Resumption) (*machine.Result, error) {
	folder, err := c.existingFolder()
	if err != nil {
		return nil, err
	}
	if folder == nil {
		return nil, c.noRecords()
	}
	meta, err := c.meta(&machine.Job{Execution: how.Execution, LockTimeout: how.LockTimeout})
	if err != nil {
		return nil, err
	}
	record, err := folder.Resume(ctx, id, meta)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	j, err := c.resumedJob(ctx, record.Resumed(), how)
	b := pastRuns{past: record.Ledger(), runs: folder.StateRun, sensitive: record.Sensitive()}
	if err == nil {
		c.reportDamage(b.past)
		b.managed, err = managedBySites(record.Managed)
	}
	if err != nil {
		return nil, journal.Join(err, record.Finish(journal.End{State: journal.Interrupted, Err: err}))
	}
	c.isAbout(subject{run: record.ID(), execution: how.Execution, host: j.Run.Host})
	c.observer.TellStarted(machine.Started{Run: record.ID(), After: record.Resumed().Last, Job: j})
	return resultOf(c.carry(ctx, j, record, b))
}

// resumedJob makes a job of a run's record.
func (c *call) resumedJob(ctx context.Context, was *journal.Resumed, how machine.Resumption) (*machine.Job, error) {
	j := &machine.Job{
		Run: was.Run, Origin: was.Status.Origin, Execution: was.Status.Execution, Plan: was.Status.Plan, Parallel: how.Parallel,
		Become: how.Become,
	}
	j.Places, j.Line = machine.PlacesOf(was.Sources)
	if !c.needsFiles(was) {
		return j, nil
	}
	var err error
	if c.Files != nil {
		j.Files, err = c.Files(ctx, was.Status)
	}
	switch {
	case err != nil || j.Files != nil:
	case j.Execution != "":
		j.Files, err = c.bundleFiles(was.Status)
	case c.Files == nil:
		err = &diag.HintError{Err: fmt.Errorf("run %s needs files of %s", was.Status.Run, j.Origin), Hint: "go on with it on the machine itself: tenet apply --resume " + was.Status.Run}
	}
	if err != nil || j.Files == nil {
		return j, err
	}
	for _, m := range was.Status.Modules {
		digest, err := digestOf(j.Files, m.Files)
		if err != nil || digest != m.Digest {
			return nil, &diag.HintError{Err: journal.Join(fmt.Errorf("the modules in %s are not what they were when run %s was begun", filepath.Join(j.Origin, m.Dir), was.Status.Run), err),
				Hint: "apply the site again: what is done already is not done twice"}
		}
		j.Modules = append(j.Modules, machine.Modules{Dir: m.Dir, Files: m.Files})
	}
	j.Registry, err = Modules(c.Registry, j.Files, j.Modules)
	return j, err
}

// bundleFiles opens the files that came for a run.
func (r *Runner) bundleFiles(run journal.Status) (fs.FS, error) {
	b, err := (&bundle.Store{Dir: r.StateDir}).Open(run.Execution)
	if err != nil {
		return nil, &diag.HintError{Err: fmt.Errorf("what came for run %s cannot be read: %w", run.Run, err), Hint: "apply the site again: what is done already is not done twice"}
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
				m := r.Registry.ModuleOf(part.Type)
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

// Modules gives the program's modules, and those that files bring along.
func Modules(registry *states.Registry, files fs.FS, dirs []machine.Modules) (*states.Registry, error) {
	var own []*states.Module
	seen := map[string]bool{}
	for _, dir := range dirs {
		below, err := fs.Sub(files, dir.Dir)
		if err != nil {
			return nil, err
		}
		set, list := custom.Load(below, custom.Dir, custom.Options{Registry: registry, Name: dir.Dir})
		if list.HasErrors() {
			return nil, &diag.HintError{Err: fmt.Errorf("a module of the plan cannot be used: %w", list.Err()), Hint: "plan again with this version"}
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

// digests tells a site's own modules from others, for those that go on with a run.
func digests(files fs.FS, dirs []machine.Modules) ([]journal.Modules, error) {
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
