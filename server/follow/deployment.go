package follow

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// refusal is why a revision of a source is not deployed. What keeps it from being deployed may be mended elsewhere, so that it is tried again, at growing intervals.
type refusal struct {
	revision source.Revision
	err      error
	at       time.Time
	until    time.Time
	failures int
}

// holds reports whether a revision is not to be tried yet. A clock that was set back does not make it longer.
func (r refusal) holds(of source.Revision, now time.Time) bool {
	return r.err != nil && r.revision.Is(of) && now.Before(r.until) && !now.Before(r.at)
}

// after is the refusal after another try. Another revision begins anew.
func (r refusal) after(err error, of source.Revision, schedule source.Options, now time.Time) refusal {
	if err == nil {
		return refusal{}
	}
	failures := 0
	if r.err != nil && r.revision.Is(of) {
		failures = r.failures
	}
	return refusal{revision: of, err: err, at: now, until: schedule.Retry(now, failures, rand.Float64()), failures: failures + 1}
}

// upload is which revision of the site a revision of a source has become.
type upload struct {
	Of     source.Revision `json:"of,omitzero"`
	Number int64           `json:"number,omitempty"`
}

// caller is who a source is for the rest of the server: it may do nothing but bring its site to its hosts.
func (f *follower) caller() (*access.Caller, error) {
	hosts, err := access.ParseSelector(orAll(f.row.Hosts))
	if err != nil {
		return nil, err
	}
	return &access.Caller{Name: "source/" + f.row.Name, Kind: access.Program, Grants: []access.Grant{
		{Verb: access.Deploy, Hosts: hosts, Site: f.row.Site}, {Verb: access.Read, Hosts: hosts, Site: f.row.Site}, {Verb: access.Plan, Hosts: hosts, Site: f.row.Site}}}, nil
}

// message names a revision of the source.
func (f *follower) message(of source.Revision) string {
	return fmt.Sprintf("%.12s of %s", strings.TrimPrefix(of.ID, "sha256:"), f.row.Address)
}

// upload makes a revision of the site of the files in a folder, which are those of a revision of the source. One that is wrong is an error.
func (f *follower) upload(ctx context.Context, dir string, of source.Revision) error {
	by, err := f.caller()
	if err != nil {
		return err
	}
	p := &sitefiles.Packer{Name: f.row.Address}
	if err := p.Add(os.DirFS(dir), "."); err != nil {
		return err
	}
	archive, err := p.Bytes()
	if err != nil {
		return err
	}
	r, err := f.service.Deployments.Upload(ctx, by, f.row.Site, bytes.NewReader(archive), f.message(of))
	if err != nil {
		return err
	}
	f.row.Upload = upload{of, r.Number}
	return nil
}

// deploy deploys the revision that counts. If the server dies in between, the same is deployed once more.
func (f *follower) deploy(ctx context.Context, held source.Revision) error {
	by, err := f.caller()
	if err != nil {
		return err
	}
	if !f.row.Upload.Of.Is(held) {
		if err := f.upload(ctx, f.follows.Folder(), held); err != nil {
			return err
		}
	}
	d, err := f.service.Deployments.Create(ctx, by, deploy.Request{Site: f.row.Site, Revision: f.row.Upload.Number, Hosts: f.row.Hosts, Consent: f.row.Consent, Message: f.message(held)})
	if err != nil {
		if diag.CodeOf(err) == deploy.ErrNotFound { // it was tidied away, and the next try uploads it
			f.row.Upload = upload{}
		}
		return err
	}
	f.row.Revision, f.row.Digest, f.row.Deployment, f.row.IsSigned = held.ID, f.follows.State().Digest, d.ID, false
	return nil
}

// takeSigned finds the deployment by which somebody who has signed the revision brings it to hosts, where that may be: it is the one to tell of. It reports whether there is one.
func (f *follower) takeSigned(ctx context.Context, mayBe bool) (found bool, err error) {
	if !mayBe || f.row.Upload.Number == 0 {
		return false, nil
	}
	id, err := f.service.Deployments.SignedOf(ctx, f.row.Site, f.row.Upload.Number)
	if err != nil || id == 0 {
		return false, err
	}
	f.row.Deployment, f.row.IsSigned = id, true
	return true, nil
}
