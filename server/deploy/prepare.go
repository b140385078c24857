package deploy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
)

// evaluations are those of a revision for hosts.
type evaluations struct {
	*Service
	*Deployment
	enrolled map[trust.ID]*Enrolled
	told     *hostView
	kept     *keptSite // which takes in what comes out; nil: nobody does
	in       memberships
	reads    foreign
}

// evaluate evaluates the revision of a deployment for hosts, and keeps what comes out.
func (s *Service) evaluate(ctx context.Context, d *Deployment, ids []trust.ID) (done []*Prepared, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	e := &evaluations{Service: s, Deployment: d, enrolled: map[trust.ID]*Enrolled{}, told: s.look(enrolled, d.Site)}
	for i := range enrolled {
		e.enrolled[enrolled[i].ID] = &enrolled[i]
	}
	return e.of(ctx, ids)
}

// of evaluates for hosts. Those whose facts are not known are left out, until they are. Contents are durable before anything names them.
func (e *evaluations) of(ctx context.Context, ids []trust.ID) (done []*Prepared, err error) {
	var chosen []*Enrolled
	for _, id := range ids {
		if h := e.enrolled[id]; h != nil && h.Locked == "" && e.told.facts[h.Name] != nil {
			chosen = append(chosen, h)
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	dir, err := e.unfold(ctx, e.Revision)
	if err != nil {
		return nil, err
	}
	out, err := os.MkdirTemp(e.Dir, "out-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	q := evaluate.Question{Dir: dir, Out: out, Origin: "server:" + e.Site, AllowEmpty: e.Empty}
	if e.in, err = e.membershipsOf(ctx, e.Deployment); err != nil {
		return nil, err
	}
	q.Joined = e.in.joined
	if e.Keys != nil {
		if q.Keys, err = e.Keys(e.Site); err != nil {
			return nil, err
		}
	}
	for size := atOnce; len(chosen) > 0; {
		part, began := chosen[:min(size, len(chosen))], time.Now()
		some, err := e.part(ctx, q, part)
		if err != nil {
			return done, err
		}
		done, chosen = append(done, some...), chosen[len(part):]
		size = nextSize(size, time.Since(began), some)
	}
	return done, nil
}

// Bounds of what a process evaluates: each of them has its limits.
const (
	atOnce     = 100             // for so many hosts at first
	mostAtOnce = 1000            // and at most
	quickPart  = 3 * time.Second // more at a time as long as that takes less
	smallSum   = 16 << 20        // and gives less, in bytes
	valueSize  = 128             // of a value that was read, about
)

// nextSize is for how many hosts the next process evaluates. Each reads the whole site, which takes as long as that has hosts: with processes for few of them evaluation would take the square.
func nextSize(size int, took time.Duration, done []*Prepared) int {
	sum := int64(0)
	for _, p := range done {
		sum += p.Bundle.Size + int64(p.Read.size())*valueSize
	}
	if took > quickPart || sum > smallSum {
		return atOnce
	}
	return min(2*size, mostAtOnce)
}

// part evaluates for some hosts. Where that reaches a limit, it does so for fewer of them, so that one host is no hindrance to
// others.
func (e *evaluations) part(ctx context.Context, q evaluate.Question, part []*Enrolled) (done []*Prepared, err error) {
	a, err := e.ask(ctx, q, part)
	code := diag.CodeOf(err)
	if code == evaluate.CodeLimit && len(part) > 1 && ctx.Err() == nil {
		for half := range slices.Chunk(part, (len(part)+1)/2) {
			some, err := e.part(ctx, q, half)
			if err != nil {
				return done, err
			}
			done = append(done, some...)
		}
		return done, nil
	}
	if ctx.Err() == nil && (code == evaluate.CodeSite || code == evaluate.CodeLimit) { // it is so for all of them
		a = &evaluate.Answer{}
		for _, h := range part {
			a.Results = append(a.Results, evaluate.Result{Host: h.Name, Error: firstLine(err)})
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if done, err = e.keepResults(ctx, part, a, q.Out); err != nil {
		return nil, err
	}
	for some := range slices.Chunk(done, atOnce) { // others wait for the store meanwhile
		if err := e.keepPrepared(ctx, some); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// keepPrepared keeps what was made of some hosts.
func (e *evaluations) keepPrepared(ctx context.Context, done []*Prepared) error {
	var version int64
	err := e.Store.Write(ctx, func(tx store.Tx) (err error) {
		if version, err = raise(tx, e.Site); err != nil {
			return err
		}
		for _, p := range done {
			former, err := one[Prepared](tx, preparedTable, e.Site, p.Host, e.evaluationDigest())
			if err != nil {
				return err
			}
			p.follow(former)
			if err := preparedTable.putPrepared(tx, e.Site, e.evaluationDigest(), p); err != nil {
				return err
			}
			if err := keepOutline(tx, e.Deployment, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e.kept != nil {
		e.kept.notePrepared(preparedOf{preparedTable, e.evaluationDigest()}, done, version)
		return nil
	}
	for _, p := range done {
		p.Read, p.outline = Reads{}, nil // of many hosts they are large, and they are in the store
	}
	return nil
}

// keptAtOnce is for how many hosts contents are kept at a time: each waits for the disk, which they share.
const keptAtOnce = 32

// keepResults keeps the contents for all hosts.
func (e *evaluations) keepResults(ctx context.Context, part []*Enrolled, a *evaluate.Answer, dir string) ([]*Prepared, error) {
	declared := declarationOf(&Revision{Hosts: a.Hosts})
	done, errs := make([]*Prepared, len(a.Results)), make([]error, len(a.Results))
	var group fault.Group
	places := make(chan struct{}, keptAtOnce)
	for i, r := range a.Results {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			name := part[i].Name
			done[i], errs[i] = e.keepResult(ctx, part[i], r, declared, dir)
			if errs[i] == nil {
				done[i].Empty = done[i].Empty && (done[i].Absent || !e.in.clustered[name])
				done[i].Cluster, done[i].Members = e.in.of[name].name, e.in.of[name].members
			}
		})
	}
	group.Wait()
	return done, errors.Join(errs...)
}

// keepResult keeps the contents of what an evaluation gives.
func (e *evaluations) keepResult(ctx context.Context, h *Enrolled, r evaluate.Result, declared *declaration, dir string) (*Prepared, error) {
	p := &Prepared{Host: h.ID, Revision: e.Revision, Identity: r.Identity, Empty: r.Empty, Absent: r.Absent, At: e.now(), Error: r.Error, Recipient: h.Sealing}
	p.Read, p.Waits, p.outline = Reads{list: r.Read}, r.Waits, r.Outline
	if len(r.Waits) > 0 || r.Error != "" || r.Absent {
		return p, nil
	}
	p.Files, p.Run, p.Components, p.Prunes = r.Files, r.Revision, r.Components, r.Prunes
	if one := declared.byName[h.Name]; one != nil {
		p.Schedule = one.Windows
	}
	p.Bundle = trust.Content{SHA256: trust.DigestOf(r.Sealed), Size: int64(len(r.Sealed))}
	for _, f := range r.Files {
		in, err := os.Open(filepath.Join(dir, f.SHA256.String()))
		if err != nil {
			return nil, err
		}
		err = e.Contents.Put(ctx, contents.Digest(f.SHA256.String()), in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return p, e.Contents.Put(ctx, contents.Digest(p.Bundle.SHA256.String()), bytes.NewReader(r.Sealed))
}
