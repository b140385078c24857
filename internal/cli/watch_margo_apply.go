package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/compose"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
	"github.com/tenetcm/tenet/states"
)

// Apply makes the site of what is wanted, and applies it.
func (d *deviceWatch) Apply(ctx context.Context, wanted []margo.Wanted, tell func(margo.Progress) error) error {
	ready, used, err := d.fetch(ctx, wanted, tell)
	if err != nil {
		return err
	}
	d.progress = compose.NewProgress(nil) // what the former site says is nothing of what is wanted now
	if err := d.write(compose.Site(ready, d.options)); err != nil {
		return err
	}
	d.progress = compose.NewProgress(ready)
	d.tell = tell
	defer func() { d.tell = nil }()
	if err := d.loop.Again(); err != nil {
		return err
	}
	if err := d.turnSite(ctx); err != nil {
		return err
	}
	if end := d.turn.end; end.Outcome == roundSkipped || end.Outcome == roundInvalid {
		return fmt.Errorf("the site of the deployments was not applied: %s", end.Reason)
	}
	return d.packages.Clean(used)
}

// fetch gets the packages. A deployment of which one cannot be had is left as it is on the host: it is not in the site.
func (d *deviceWatch) fetch(ctx context.Context, wanted []margo.Wanted, tell func(margo.Progress) error) (ready []compose.Deployment, used []compose.Used, err error) {
	for _, w := range wanted {
		one := compose.Deployment{Wanted: w, Packages: map[string]compose.Package{}}
		isWhole := true
		for _, c := range components(w) {
			p, err := d.packages.Get(ctx, string(w.Revision), c)
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			if err != nil {
				isWhole = false
				e := &rc2.Error{Code: margo.CodePackage, Source: c.Name, Message: diag.Shorten(diag.Safe(err.Error()))}
				if err := tell(margo.Progress{Deployment: w.ID, Component: c.Name, State: rc2.Failed, Error: e}); err != nil {
					return nil, nil, err
				}
				continue
			}
			one.Packages[c.Name] = p
			used = append(used, compose.Used{Revision: string(w.Revision), Component: c, Package: p})
		}
		if isWhole {
			ready = append(ready, one)
		}
	}
	return ready, used, nil
}

func components(w margo.Wanted) []rc2.Component {
	if w.Document == nil {
		return nil
	}
	return w.Document.Components
}

// hear passes on what a run says of components.
func (d *deviceWatch) hear(ev states.Event) {
	if p, ok := d.progress.Event(ev); ok {
		d.failed = errors.Join(d.failed, d.tell(p))
	}
}

// tellRest tells of the components of which the last round had nothing to say: where there was nothing to do they are as declared, and
// where nothing could be tried they have failed.
func (d *deviceWatch) tellRest() error {
	t := d.turn
	var rest []margo.Progress
	switch {
	case t.hasApplied:
		return nil
	case t.hasPlanned && !t.isDifferent && t.end.Outcome == roundUnchanged:
		rest = d.progress.Converged()
	case t.end.Outcome == roundFailed:
		rest = d.progress.Failed(diag.Shorten(diag.Safe(t.end.Reason)))
	}
	for _, p := range rest {
		if err := d.tell(p); err != nil {
			return err
		}
	}
	return nil
}
