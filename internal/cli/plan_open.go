package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/runner"
)

// isPlanFile tells a saved plan from a site, by how it begins.
func isPlanFile(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	beginning := make([]byte, planfile.IsArchiveLength)
	n, _ := io.ReadFull(f, beginning)
	return planfile.IsArchive(beginning[:n])
}

// readable tells whether a regular file can be read; anything else is not tried.
func readable(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// notPlan tells why there is no saved plan at a path.
func notPlan(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = readable(path, info)
	}
	hint := "tenet plan SITE -o FILE saves one"
	switch {
	case err != nil:
		if err = fmt.Errorf("the plan cannot be read: %w", err); errors.Is(err, fs.ErrPermission) {
			hint = "a plan is for who made it alone: look as that user"
		}
	case info.Mode().IsRegular() && !lang.IsSource(path):
		err = fmt.Errorf("%s is no saved plan, or damaged", path)
	default:
		err = fmt.Errorf("%s is no saved plan", path)
	}
	return newStatus(exitFailed, err, hint)
}

// openPlan reads a saved plan: that of one host, or else those of several.
func (s *client) openPlan(ctx context.Context, path string) (*planfile.Plan, *planfile.Fleet, error) {
	if !isPlanFile(path) {
		return nil, nil, notPlan(path)
	}
	data, err := readSome(path, planfile.MaxArchive)
	if err != nil {
		return nil, nil, failure(err)
	}
	plan, several, err := planfile.Read(data, s.identities(ctx))
	var broken *planfile.DamagedError
	var other *planfile.FormatError
	var wrong diag.Diagnostic
	switch {
	case errors.As(err, &broken):
		return nil, nil, newStatus(exitFailed, fmt.Errorf("%s is refused: %w", path, err), "fetch or make it again")
	case errors.As(err, &other):
		return nil, nil, newStatus(exitFailed, fmt.Errorf("%s is refused: %w", path, err), "use that version, or plan again with this one")
	case errors.As(err, &wrong):
		return nil, nil, s.show(diag.From(err), nil)
	case err != nil:
		return nil, nil, failure(fmt.Errorf("%s cannot be opened: %w", path, err))
	}
	return plan, several, nil
}

// plannedJob makes a job of a saved plan in a file.
func (s *client) plannedJob(ctx context.Context, plan *planfile.Plan, file string) (*machine.Job, error) {
	j := &machine.Job{Run: plan.Run, Files: plan.Files, Modules: plan.Modules, Origin: plan.Origin, Rows: plan.Rows}
	j.Places, j.Line = machine.PlacesOf(plan.Places)
	var err error
	if j.Plan, err = filepath.Abs(file); err != nil {
		return nil, failure(err)
	}
	if j.Registry, err = runner.Modules(modules.Standard(), plan.Files, plan.Modules); err != nil {
		return nil, s.ran(err)
	}
	return j, s.complete(ctx, j)
}

// onlySaved refuses, for a saved plan, flags that say what is to be planned. One of several hosts may be
// carried out on some of them, and its hooks may need variables.
func (s *client) onlySaved(several bool) error {
	var allowed []string
	if several {
		allowed = []string{"limit", "var", "var-file", "data"}
	}
	return s.onlySite("a saved plan", "give it to tenet plan -o FILE", allowed...)
}

// onlySite refuses flags that say what is to be planned, but those that are allowed.
func (s *client) onlySite(what, hint string, allowed ...string) error {
	g := s.globals
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"limit", g.Limit != ""}, {"tags", len(g.Tags) > 0}, {"target", len(g.Target) > 0}, {"exclude", len(g.Exclude) > 0},
		{"var", len(g.Var) > 0}, {"var-file", len(g.VarFile) > 0}, {"data", len(g.Data) > 0}, {"facts", g.Facts != ""},
	} {
		if f.given && !slices.Contains(allowed, f.name) {
			return usage(hint, "--%s says what is planned, and this is %s", f.name, what)
		}
	}
	return nil
}

// elsewhereThan refuses a plan that was made for another machine.
func (s *client) elsewhereThan(plan *planfile.Plan) error {
	here, err := s.localHost(plan.Run.Host)
	if err != nil {
		return err
	}
	why := plan.Host.Differs(here)
	if why == "" {
		return nil
	}
	hint := "apply it where it was made for, or name a site that declares that host with -i SITE"
	if strings.Contains(why, "the root") {
		hint = "--root DIR says which tree is meant"
	}
	return newStatus(exitFailed, errors.New("the plan is refused: "+why), hint)
}
