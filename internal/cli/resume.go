package cli

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
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// resume goes on with a run where it ended.
func (s *client) resume(ctx context.Context, cmd *applyCmd) error {
	// Whatever comes of it, it is not tried again at each start of the machine.
	if err := s.arrived(cmd.Resume); err != nil {
		return failed(err)
	}
	if err := s.mayResume(cmd); err != nil {
		return err
	}
	folder, err := s.existing()
	if err != nil {
		return err
	}
	if folder == nil {
		return failed(fmt.Errorf("%w: %s", journal.ErrNoRun, cmd.Resume))
	}
	status, err := folder.Status(cmd.Resume)
	if err != nil {
		return failed(err)
	}
	if err := s.sameRoot(status.Root); err != nil {
		return err
	}
	record, err := folder.Resume(ctx, status.Run, s.meta(&site{}))
	if err != nil {
		return notResumed(err)
	}
	c, err := s.resumed(ctx, record.Resumed())
	if err == nil {
		c.past, c.runs = record.Ledger(), folder.StateRun
		s.lost(c.past)
		err = s.holds(c, record.Managed)
	}
	if err != nil {
		return errors.Join(err, failed(record.Finish(journal.End{State: journal.Interrupted, Err: err})))
	}
	result, err := s.carry(ctx, c, record, s.renderer)
	if err != nil {
		return err
	}
	return exitCode(result, cmd.DetailedExitcode)
}

// mayResume refuses what says something else than the run itself.
func (s *client) mayResume(cmd *applyCmd) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"a site", cmd.Site != "."}, {"--until-converged", cmd.UntilConverged != nil}, {"--prune", cmd.Prune}, {"--partial", cmd.Partial},
	} {
		if f.given {
			return usage("apply the site for that", "--resume goes on with a run as it was begun, and %s is for another one", f.name)
		}
	}
	return s.onlySite("a run that goes on as it was begun", "apply the site for that")
}

// sameRoot makes sure that a run goes on on the tree that it was begun on.
func (s *client) sameRoot(root string) error {
	given := s.globals.Root
	if given == "" {
		s.globals.Root = root
		return nil
	}
	a, err := filepath.Abs(given)
	if err != nil {
		return failed(err)
	}
	if root == "" {
		root = "/"
	}
	if b, err := filepath.Abs(root); err != nil || a != b {
		return usage("leave --root away", "the run acts on %s, and not on %s", root, given)
	}
	return nil
}

// notResumed gives an error of Resume its exit status and hint.
func notResumed(err error) error {
	if refusal(err) != "" {
		return refused(err)
	}
	if not, ok := errors.AsType[*journal.NotResumableError](err); ok {
		return &status{code: exitFailed, err: err, hint: not.Hint}
	}
	return &status{code: exitFailed, err: err, hint: elsewhere}
}

// resumed makes of a run's record what is known of a site. The site itself, or the
// saved plan that was carried out, is read only for the files that parts name, and
// for its modules: they must be as they were.
func (s *client) resumed(ctx context.Context, r *journal.Resumed) (*site, error) {
	h, err := s.newHost()
	if err != nil {
		return nil, err
	}
	c := &site{host: h, run: r.Run, origin: r.Status.Origin, saved: r.Sources, places: map[string]diag.Range{}}
	for address, place := range r.Sources {
		at := diag.Pos{Line: place.Line, Column: place.Column}
		c.places[address] = diag.Range{File: place.File, Start: at, End: at}
	}
	if !filepath.IsAbs(c.origin) || !needsSite(r) {
		return c, nil
	}
	if c.sources, err = s.filesOf(ctx, r.Status); err != nil {
		return nil, err
	}
	plan := &planfile.Plan{Files: c.sources}
	for _, m := range r.Status.Modules {
		digest, err := digestOf(c.sources, m.Files)
		if err != nil || digest != m.Digest {
			return nil, &status{code: exitFailed, err: errors.Join(fmt.Errorf("the modules in %s are not what they were when run %s was begun", filepath.Join(c.origin, m.Dir), r.Status.Run), err),
				hint: "apply the site again: what is done already is not done twice"}
		}
		plan.Modules = append(plan.Modules, planfile.Modules{Dir: m.Dir, Files: m.Files})
	}
	c.own, err = planModules(plan)
	return c, err
}

// filesOf opens the files that a run may need, in its plan or in its site.
func (s *client) filesOf(ctx context.Context, run journal.Status) (fs.FS, error) {
	if run.Plan != "" && isPlanFile(run.Plan) {
		plan, err := s.openPlan(ctx, run.Plan)
		if err != nil {
			return nil, err
		}
		return plan.Files, nil
	}
	site, err := s.openSite(run.Origin)
	if err != nil {
		return nil, err
	}
	return site.Files(), nil
}

// needsSite reports whether a run needs files of its site still.
func needsSite(r *journal.Resumed) bool {
	if len(r.Status.Modules) > 0 {
		return true
	}
	registry := modules.Standard()
	for _, list := range [][]states.Invocation{r.Run.Invocations, r.Run.Handlers} {
		for i := range list {
			for _, part := range list[i].Parts {
				m := registry.Lookup(part.Type)
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

// digests tells the site's own modules from others, for those that go on with the
// run.
func (c *site) digests() ([]journal.Modules, error) {
	var list []journal.Modules
	for _, m := range c.modules {
		digest, err := digestOf(c.sources, m.Files)
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
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%q %x\n", name, one.Sum(nil))
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}
