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

// actorOf gives the machine as an account acts on it; empty: as who runs the program.
func (e *engine) actorOf(ctx context.Context, user string) *actor {
	if user == "" {
		return &actor{host: e.options.Host, shadow: e.shadow}
	}
	e.actors.mu.Lock()
	if e.actors.byAccount == nil {
		e.actors.byAccount = map[string]*actor{}
	}
	a := e.actors.byAccount[user]
	if a == nil {
		a = &actor{}
		e.actors.byAccount[user] = a
	}
	e.actors.mu.Unlock()
	a.once.Do(func() {
		if f := fault.Do(func() error { e.become(ctx, a, user); return nil }); f != nil {
			a.err = f
		}
		if a.err != nil && ctx.Err() != nil { // another time it may go well
			e.actors.mu.Lock()
			defer e.actors.mu.Unlock()
			if e.actors.byAccount[user] == a {
				delete(e.actors.byAccount, user)
			}
		}
	})
	if a.err != nil && ctx.Err() != nil {
		return &actor{err: context.Cause(ctx)}
	}
	return a
}

// become finds out how to act as an account.
func (e *engine) become(ctx context.Context, a *actor, user string) {
	a.host, a.shadow = e.options.Host, e.shadow
	u, err := e.options.Host.User(user)
	if uid, _ := e.options.Host.Actor(); err == nil && uid == u.UID {
		return
	}
	if errors.Is(err, fs.ErrNotExist) && e.planning() {
		if _, made := e.shadow.User(user); made == nil {
			a.isMissing = true
			return
		}
	}
	if e.options.Become == nil {
		a.err = &diag.HintError{Code: "unsupported", Message: fmt.Sprintf("become: acting as %s is not possible here", user),
			Hint: "run tenet as " + user + ", or use the user attribute of command"}
		return
	}
	h, err := e.options.Become(ctx, user)
	if err != nil {
		a.err = &diag.HintError{Code: codeBecome, Err: err}
		return
	}
	if e.planning() {
		a.host, a.shadow = h, e.shadow.As(h)
		return
	}
	if e.options.Journal != nil {
		h = h.ForRun(e.options.Journal.ID())
	}
	a.host = h
	e.actors.mu.Lock()
	defer e.actors.mu.Unlock()
	e.actors.used = append(e.actors.used, h)
}

// view is the host as somebody sees it: in a plan the shadow, which knows whether
// something before it could not be foreseen, and tells the trace what is looked at.
func (a *actor) view(t *uncertainty, trace *host.Trace) host.Host {
	if a.shadow != nil {
		return a.shadow.Traced(trace).View(t != nil || a.isMissing)
	}
	return a.host
}

// syncActors makes durable what was written as other accounts.
func (e *engine) syncActors() error {
	e.actors.mu.Lock()
	others := e.actors.used
	e.actors.mu.Unlock()
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
