// Package become lets a runner act as another account: it starts itself once more
// through sudo or doas, once for each account, and uses that process's machine as if it
// were its own. A runner of root needs neither: it starts itself with the account's
// rights.
//
// Both processes are connected by pipes, over which calls go, several at a time. What
// the other process says is bounded and checked: an account with fewer rights may
// have changed it.
package become

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/privilege"
)

// Options say how to become another account.
type Options struct {
	// Host is the machine as this process acts on it: what is the same for all accounts
	// is asked of it.
	Host     *host.Local
	Program  string   // the runner, an absolute path; empty: this one
	Args     []string // with which it calls Serve; nil: "runner", "become"
	Method   string   // "sudo" or "doas"; empty: what there is, sudo first
	Password string   // empty: none is needed
}

// Accounts are the machines as other accounts act on them. Its methods may be called
// from several goroutines.
type Accounts struct {
	Options Options

	mu        sync.Mutex
	accounts  map[string]*account
	closed    bool
	isHurried bool
}

// account is one account. What came of starting its process counts for all who ask: a
// wrong password is not tried again and again.
type account struct {
	once    sync.Once
	started atomic.Bool // process and machine are there
	process *process
	machine *machine
	err     error
}

// becomeError makes the error that an account cannot be acted as; hint may be empty.
func becomeError(message, hint string) error {
	return refusalError(privilege.NewRefusal(privilege.Unexplained, message, hint))
}

// refusalError is a refusal that says what it is about.
func refusalError(r *privilege.Refusal) error {
	r.Message = "become: " + r.Message
	return r
}

// As gives the machine as an account acts on it. The process that does so goes on until
// Close; ctx is only about its start. The error is a *privilege.Refusal, or that of ctx.
func (a *Accounts) As(ctx context.Context, user string) (host.Host, error) {
	u, err := a.Options.Host.User(user)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, becomeError(fmt.Sprintf("there is no account %q on this machine", user), "name another one, or have the site create it: a user that this requires")
	}
	if err != nil {
		return nil, fmt.Errorf("become: the account %s: %w", user, err)
	}
	if u.UID == os.Geteuid() {
		return a.Options.Host, nil
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil, becomeError("the run has ended", "")
	}
	if a.accounts == nil {
		a.accounts = map[string]*account{}
	}
	acc := a.accounts[user]
	if acc == nil {
		acc = &account{}
		a.accounts[user] = acc
	}
	a.mu.Unlock()
	acc.once.Do(func() {
		acc.start(ctx, a.Options, u)
		if acc.err != nil && ctx.Err() != nil { // which says nothing of the account
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.accounts[user] == acc {
				delete(a.accounts, user)
			}
		}
	})
	if acc.err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, acc.err
	}
	a.mu.Lock()
	hurried := a.isHurried
	a.mu.Unlock()
	if hurried {
		acc.machine.hurry()
	}
	if err := acc.machine.connectionError(); err != nil {
		return nil, err
	}
	return acc.machine, nil
}

// Hurry says that nobody wants to wait any more, as when a run is interrupted: a process
// that does not end soon what it does is given up, though its call has no deadline.
func (a *Accounts) Hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.isHurried = true
	for _, acc := range a.accounts {
		if acc.started.Load() {
			acc.machine.hurry()
		}
	}
}

// start starts the account's process, and learns whom it acts as.
func (a *account) start(ctx context.Context, o Options, u host.User) {
	a.process, a.machine, a.err = startProcess(ctx, o.Host, func(terminal bool) (*launch, error) { return o.launch(u, terminal) })
	a.started.Store(a.err == nil)
	if a.err == nil && a.machine.hello.UID != u.UID {
		a.err = becomeError(fmt.Sprintf("what was started as %s acts as the user %d, which is not its number", u.Name, a.machine.hello.UID), "")
	}
}

// Close ends the processes.
func (a *Accounts) Close() error {
	a.mu.Lock()
	a.closed = true
	all := a.accounts
	a.accounts = nil
	a.mu.Unlock()
	var errs []error
	for _, acc := range all {
		acc.once.Do(func() { acc.err = becomeError("the run has ended", "") })
		if acc.process != nil {
			acc.machine.disconnect(becomeError("the run has ended", ""))
			errs = append(errs, acc.process.close())
		}
	}
	return errors.Join(errs...)
}
