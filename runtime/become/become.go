// Package become lets a runner act as another account: it starts itself once more
// through sudo or doas, once for each account, and uses that process's machine as if it
// were its own.
package become

import (
	"context"
	"errors"
	"io"

	"github.com/tenetcm/tenet/runtime/host"
)

// Options say how to become another account.
type Options struct {
	Program  string // the runner, an absolute path
	Method   string // "sudo" or "doas"; empty: what there is, sudo first
	Password string // empty: none is needed
}

// Accounts are the machines as other accounts act on them. Its methods may be called
// from several goroutines.
type Accounts struct{ Options Options }

// As gives the machine as an account acts on it.
func (a *Accounts) As(ctx context.Context, user string) (host.Host, error) {
	return nil, errors.New("become: not written yet")
}

// Close ends the processes.
func (a *Accounts) Close() error { return nil }

// Serve is what the other process does: it lets h be used over the streams until they
// end.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h host.Host) error {
	return errors.New("become: not written yet")
}
