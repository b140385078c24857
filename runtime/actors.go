package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// actors are the accounts that parts act as, each with the machine as it acts on it.
type actors struct {
	options *Options     // of the run
	shadow  *host.Shadow // of a plan

	mu        sync.Mutex
	byAccount map[string]*actor
	used      []host.Host // that were used in an apply
}

// actor is one account.
type actor struct {
	once      sync.Once
	host      host.Host    // the machine itself
	shadow    *host.Shadow // of a plan
	isMissing bool         // a plan makes it: nobody can act as it yet
	err       error
}

// of gives the machine as an account acts on it; empty: as who runs the program.
func (s *actors) of(ctx context.Context, user string) *actor {
	if user == "" {
		return &actor{host: s.options.Host, shadow: s.shadow}
	}
	s.mu.Lock()
	if s.byAccount == nil {
		s.byAccount = map[string]*actor{}
	}
	a := s.byAccount[user]
	if a == nil {
		a = &actor{}
		s.byAccount[user] = a
	}
	s.mu.Unlock()
	a.once.Do(func() {
		if f := fault.Do(func() error { s.become(ctx, a, user); return nil }); f != nil {
			a.err = f
		}
		if a.err != nil && ctx.Err() != nil { // another time it may go well
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.byAccount[user] == a {
				delete(s.byAccount, user)
			}
		}
	})
	if a.err != nil && ctx.Err() != nil {
		return &actor{err: context.Cause(ctx)}
	}
	return a
}

// become finds out how to act as an account.
func (s *actors) become(ctx context.Context, a *actor, user string) {
	a.host, a.shadow = s.options.Host, s.shadow
	u, err := s.options.Host.User(user)
	if uid, _ := s.options.Host.Actor(); err == nil && uid == u.UID {
		return
	}
	if errors.Is(err, fs.ErrNotExist) && s.shadow != nil {
		if _, made := s.shadow.User(user); made == nil {
			a.isMissing = true
			return
		}
	}
	if s.options.Become == nil {
		a.err = &diag.HintError{Code: "unsupported", Message: fmt.Sprintf("become: acting as %s is not possible here", user),
			Hint: "run tenet as " + user + ", or use the user attribute of command"}
		return
	}
	h, err := s.options.Become(ctx, user)
	if err != nil {
		a.err = &diag.HintError{Code: codeBecome, Err: err}
		return
	}
	if s.shadow != nil {
		a.host, a.shadow = h, s.shadow.As(h)
		return
	}
	if s.options.Journal != nil {
		h = h.ForRun(s.options.Journal.ID())
	}
	a.host = h
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, h)
}

// view is the host as somebody sees it: in a plan the shadow, which knows whether
// what of it is uncertain, and tells the trace what is looked at.
func (a *actor) view(uncertain func(host.Look) bool, trace *host.Trace) host.Host {
	if a.shadow != nil {
		if a.isMissing {
			uncertain = host.Everything
		}
		return a.shadow.Traced(trace).View(uncertain)
	}
	return a.host
}

// sync makes durable what was written as other accounts.
func (s *actors) sync() error {
	s.mu.Lock()
	others := s.used
	s.mu.Unlock()
	var errs []error
	for _, h := range others {
		errs = append(errs, h.Sync())
	}
	return journal.Join(errs...)
}

// account is who the guards of an invocation ask as: the account of all its parts, if
// that is one.
func account(inv *states.Invocation) string {
	if inv == nil || len(inv.Parts) == 0 {
		return ""
	}
	user := inv.Parts[0].Options.Become
	for i := range inv.Parts {
		if inv.Parts[i].Options.Become != user {
			return ""
		}
	}
	return user
}

// accountOf is who a part of a run acts as, by its address.
func accountOf(run *states.StateRun, address string) string {
	for _, p := range partsOf(run) {
		if p.Address == address || states.WithoutWave(p.Address) == address {
			return p.Options.Become
		}
	}
	return ""
}
