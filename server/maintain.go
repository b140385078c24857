package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
)

// What is kept, and how often what is not is removed.
const (
	keepEvents    = 30 * 24 * time.Hour // of runs
	keepContents  = 24 * time.Hour      // that nothing names: an upload or an evaluation may be under way
	maintainEvery = time.Hour
)

// maintain removes what is kept no longer, until the context ends.
func (s *Server) maintain(ctx context.Context) {
	ticker := time.NewTicker(maintainEvery)
	defer ticker.Stop()
	var head access.Head
	for {
		if s.AuditHeads != "" {
			// What could not be kept is kept the next time.
			kept, err := access.KeepHead(ctx, s.Store, head, access.FileKeeper(s.AuditHeads))
			if err == nil {
				head = kept
			} else if ctx.Err() == nil {
				s.Failed(fmt.Errorf("the head of the audit: %w", err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		err := errors.Join(s.People.TellFailures(ctx), s.forgetOld(ctx), s.Sessions.Sweep(ctx, now.Add(-keepEvents)), sweep(ctx, s.Contents, s.references, now.Add(-keepContents)))
		if err != nil && ctx.Err() == nil {
			s.Failed(err)
		}
	}
}

// references gives the contents that must stay: those of deployments, and those of what hosts are to be.
func (s *Server) references(ctx context.Context) (map[contents.Digest]bool, error) {
	of, err := s.Deployments.References(ctx)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(of)
	if all == nil {
		all = map[contents.Digest]bool{}
	}
	programs, err := s.Updates.References(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, programs)
	s.Sessions.References(func(d trust.Digest) { all[contents.Digest(d.String())] = true })
	return all, nil
}

// sweep removes contents from before a time that nothing names. What is named is asked for after they are listed: what is named
// in between was put again before, and stays since it is younger.
func sweep(ctx context.Context, c contents.Store, references func(context.Context) (map[contents.Digest]bool, error), before time.Time) error {
	var old []contents.Digest
	err := c.List(ctx, func(i contents.Info) error {
		if i.At.Before(before) {
			old = append(old, i.Digest)
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return err
	}
	used, err := references(ctx)
	if err != nil {
		return err
	}
	for _, d := range old {
		if used[d] {
			continue
		}
		if err := c.Remove(ctx, d, before); err != nil {
			return err
		}
	}
	return nil
}
