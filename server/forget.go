package server

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// When hosts are forgotten by themselves.
const (
	DefaultForget = 30 * 24 * time.Hour // after they were revoked or rejected
	forgetPending = 14 * 24 * time.Hour // after they have asked, where nobody has answered
)

// forgetSteps remove what the parts of the server keep of a host that is forgotten.
func (s *Server) forgetSteps() enroll.Forgetting {
	return enroll.Forgetting{
		Before: func(ctx context.Context, id trust.ID) error { return s.Sessions.RemoveHistory(ctx, id) },
		Within: func(tx store.Tx, id trust.ID) error {
			return errors.Join(s.Sessions.RemoveHost(tx, id), s.Deployments.RemoveHost(tx, id))
		},
		After: func(ctx context.Context, id trust.ID) error {
			s.Deployments.DropHost(id)
			return s.Sessions.DropHost(ctx, id)
		},
	}
}

// forgetOld forgets hosts that are of no concern any more.
func (s *Server) forgetOld(ctx context.Context) error {
	ended := s.ForgetHosts
	switch {
	case ended < 0:
		ended = 0
	case ended == 0:
		ended = DefaultForget
	}
	return s.Hosts.ForgetOld(ctx, ended, forgetPending)
}
