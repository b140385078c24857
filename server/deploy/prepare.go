package deploy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
)

// evaluate evaluates the revision of a deployment for hosts, and keeps what comes out. Hosts whose facts are not known are
// left out, until they are. Contents are durable before anything names them.
func (s *Service) evaluate(ctx context.Context, d *Deployment, ids []trust.ID) (done []*Prepared, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	told := s.look(enrolled, d.Site)
	var chosen []Enrolled
	for _, id := range ids {
		for _, e := range enrolled {
			if e.ID == id && e.Locked == "" && told.facts[e.Name] != nil {
				chosen = append(chosen, e)
			}
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	dir, err := s.unfold(ctx, d.Revision)
	if err != nil {
		return nil, err
	}
	out, err := os.MkdirTemp(s.Dir, "out-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	q := evaluate.Question{Dir: dir, Out: out, Origin: "server:" + d.Site, Facts: told.facts, Outputs: told.outputs}
	m, err := s.membershipsOf(ctx, d)
	if err != nil {
		return nil, err
	}
	q.Joined = m.joined
	if s.Keys != nil {
		if q.Keys, err = s.Keys(d.Site); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(chosen, atOnce) {
		some, err := s.evaluatePart(ctx, d, q, part, m)
		if err != nil {
			return done, err
		}
		done = append(done, some...)
	}
	return done, nil
}

// atOnce is for how many hosts a process evaluates: each of them has its limits.
const atOnce = 100

// evaluatePart evaluates for some hosts. Where that reaches a limit, it does so for fewer of them, so that one host is no hindrance to
// others.
func (s *Service) evaluatePart(ctx context.Context, d *Deployment, q evaluate.Question, part []Enrolled, m memberships) (done []*Prepared, err error) {
	q.Hosts = nil
	for _, e := range part {
		q.Hosts = append(q.Hosts, evaluate.Recipient{Name: e.Name, Sealing: e.Sealing})
	}
	a, err := s.Evaluate.Ask(ctx, q)
	code := diag.CodeOf(err)
	if code == evaluate.CodeLimit && len(part) > 1 && ctx.Err() == nil {
		for half := range slices.Chunk(part, (len(part)+1)/2) {
			some, err := s.evaluatePart(ctx, d, q, half, m)
			if err != nil {
				return done, err
			}
			done = append(done, some...)
		}
		return done, nil
	}
	if ctx.Err() == nil && (code == evaluate.CodeSite || code == evaluate.CodeLimit) { // it is so for all of them
		a = &evaluate.Answer{}
		for _, e := range part {
			a.Results = append(a.Results, evaluate.Result{Host: e.Name, Error: firstLine(err)})
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if done, err = s.keepResults(ctx, d, part, a, q.Out, m); err != nil {
		return nil, err
	}
	return done, s.Store.Write(ctx, func(tx store.Tx) error {
		former, err := all[Prepared](tx, preparedTable, d.Site, d.Revision)
		if err != nil {
			return err
		}
		for _, p := range done {
			p.follow(former[p.Host])
			if err := preparedTable.put(tx, d.Site, p.Host, d.Revision, p); err != nil {
				return err
			}
			if err := keepOutline(tx, d, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// keptAtOnce is for how many hosts contents are kept at a time: each waits for the disk, which they share.
const keptAtOnce = 32

// keepResults keeps the contents for all hosts.
func (s *Service) keepResults(ctx context.Context, d *Deployment, part []Enrolled, a *evaluate.Answer, dir string, m memberships) ([]*Prepared, error) {
	done, errs := make([]*Prepared, len(a.Results)), make([]error, len(a.Results))
	var group fault.Group
	places := make(chan struct{}, keptAtOnce)
	for i, r := range a.Results {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			done[i], errs[i] = s.keepResult(ctx, d, part[i], r, a.Hosts, dir)
			if errs[i] == nil {
				done[i].Empty = done[i].Empty && (done[i].Absent || !m.clustered[part[i].Name])
				done[i].Cluster, done[i].Members = membershipIn(m.joined, part[i].Name)
			}
		})
	}
	group.Wait()
	return done, errors.Join(errs...)
}

// keepResult keeps the contents of what an evaluation gives.
func (s *Service) keepResult(ctx context.Context, d *Deployment, e Enrolled, r evaluate.Result, declared []site.Host, dir string) (*Prepared, error) {
	p := &Prepared{Host: e.ID, Revision: d.Revision, Identity: r.Identity, Empty: r.Empty, Absent: r.Absent, At: s.now(), Error: r.Error, Recipient: e.Sealing}
	p.Read, p.Waits, p.outline = r.Read, r.Waits, r.Outline
	if len(r.Waits) > 0 || r.Error != "" || r.Absent {
		return p, nil
	}
	p.Files, p.Run, p.Components, p.Prunes = r.Files, r.Revision, r.Components, r.Prunes
	for _, h := range declared {
		if h.Name == e.Name {
			p.Schedule = h.Windows
		}
	}
	p.Bundle = trust.Content{SHA256: trust.DigestOf(r.Sealed), Size: int64(len(r.Sealed))}
	for _, f := range r.Files {
		in, err := os.Open(filepath.Join(dir, f.SHA256.String()))
		if err != nil {
			return nil, err
		}
		err = s.Contents.Put(ctx, contents.Digest(f.SHA256.String()), in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return p, s.Contents.Put(ctx, contents.Digest(p.Bundle.SHA256.String()), bytes.NewReader(r.Sealed))
}
