package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/tenetcm/tenet/server/api/client"
)

// sourceName is the source that the server follows.
const sourceName = "status"

func (d *Demo) sourceDir() string { return filepath.Join(d.Dir, "followed", "status") }

// beginStatus has the server follow a folder, in which somebody makes a mistake.
func (d *Demo) beginStatus(ctx context.Context) error {
	if len(named(d.machines, kindsOf("status")...)) == 0 {
		return nil
	}
	if err := d.writeStatus("All is well.", true); err != nil {
		return err
	}
	const poll = 10 // seconds, the least
	if _, err := d.as(d.Admin).AddSource(ctx, sourceName, client.SourceRequest{Site: "status", Address: d.sourceDir(), Poll: poll, Reason: "whoever is on duty writes the notice there"}); err != nil {
		return err
	}
	if err := d.awaitSource(ctx, func(s *client.Source) bool { return s.Deployment > 0 }); err != nil {
		return err
	}
	if err := d.writeStatus("Payments are slow.", false); err != nil {
		return err
	}
	return d.as(d.Admin).LookAtSource(ctx, sourceName)
}

// awaitSource waits until the source stands in some way.
func (d *Demo) awaitSource(ctx context.Context, is func(*client.Source) bool) error {
	return await(ctx, "the source is followed", func() (bool, error) {
		all, err := d.as(d.Admin).Sources(ctx)
		for _, s := range all {
			if s.Name == sourceName && is(s) {
				return true, nil
			}
		}
		return false, err
	})
}

// writeStatus writes the site into the folder: as it should be, or without the quotation mark at the end of the notice.
func (d *Demo) writeStatus(notice string, isRight bool) error {
	f, err := revision("status", 1, d.machines)
	if err != nil {
		return err
	}
	next := fmt.Sprintf("default = %q", notice)
	if !isRight {
		next = next[:len(next)-1]
	}
	return f.with("site.hcl", `default = "All is well."`, next).write(d.sourceDir())
}
