package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
)

// fleet is the hosts as deployments see them. Nothing is evaluated for them, and nobody drives a deployment.
type fleet struct {
	hosts int
	list  []deploy.Enrolled
}

func (f *fleet) read(ctx context.Context, s *store.Store) error {
	if f.list != nil {
		return nil
	}
	return s.Read(ctx, func(r store.Reader) error {
		f.list = nil
		all, _, err := enroll.ChangedSince(r, 0)
		for _, h := range all {
			f.list = append(f.list, deploy.Enrolled{ID: h.ID, Name: h.Name, Labels: h.Labels})
		}
		return err
	})
}

// List is deploy.Hosts'.
func (f *fleet) List(context.Context) ([]deploy.Enrolled, error) { return f.list, nil }

// Held is deploy.Seen's.
func (f *fleet) Held(trust.ID, string) trust.Position { return trust.Position{} }

// Loop is deploy.Seen's.
func (f *fleet) Loop(trust.ID, string) (control.Loop, bool) { return control.Loop{}, false }

// Away is deploy.Seen's.
func (f *fleet) Away(trust.ID) time.Time { return time.Time{} }

// Facts is deploy.Seen's.
func (f *fleet) Facts(trust.ID) (map[string]json.RawMessage, time.Time) { return nil, time.Time{} }

// Outputs is deploy.Seen's.
func (f *fleet) Outputs(trust.ID, string) (map[string]json.RawMessage, time.Time) {
	return nil, time.Time{}
}

// Assign is deploy.Targets'.
func (f *fleet) Assign(store.Tx, trust.ID, *trust.Assignment) error { return nil }

// Wake is deploy.Targets'.
func (f *fleet) Wake(context.Context, ...trust.ID) error { return nil }

// Plan is deploy.Planner's.
func (f *fleet) Plan(context.Context, trust.ID, string, *deploy.Prepared) (*deploy.HostPlan, error) {
	return &deploy.HostPlan{}, nil
}

// Ask is deploy.Asker's: a site that declares all hosts.
func (f *fleet) Ask(context.Context, evaluate.Question) (*evaluate.Answer, error) {
	a := &evaluate.Answer{Name: "shop"}
	for i := range f.hosts {
		a.Hosts = append(a.Hosts, site.Host{Name: hostName(i), Executor: "agent"})
	}
	return a, nil
}

// addDeployments uploads two revisions, and deploys the site to all hosts a few times, and often to some.
func (w *world) addDeployments(ctx context.Context) error {
	if err := w.fleet.read(ctx, w.store); err != nil {
		return err
	}
	root := &access.Caller{Name: "admin", Kind: access.Person, Grants: access.AllGrants()}
	for n := range 2 {
		var archive bytes.Buffer
		out := tar.NewWriter(&archive)
		for i := range 500 {
			text := fmt.Sprintf("line %d\nof file %d\n", n*(i%10), i)
			if err := out.WriteHeader(&tar.Header{Name: fmt.Sprintf("files/f%03d.conf", i), Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
				return err
			}
			if _, err := out.Write([]byte(text)); err != nil {
				return err
			}
		}
		if err := out.Close(); err != nil {
			return err
		}
		if _, err := w.service.Upload(ctx, root, "shop", &archive, fmt.Sprint("revision ", n+1)); err != nil {
			return err
		}
	}
	for i := range 40 {
		q := deploy.Request{Site: "shop", Hosts: fmt.Sprintf("host-00%d*", i%10)}
		if i%10 == 9 {
			q.Hosts, q.Consent = access.All, deploy.Start
		}
		d, err := w.service.Create(ctx, root, q)
		if err != nil {
			return err
		}
		if i == 39 { // the last one is under way
			continue
		}
		if _, err := w.service.Abort(ctx, root, d.ID, "to make room"); err != nil {
			return err
		}
	}
	return nil
}
