package limit

import "context"

// Turns lets a number of callers do at once what takes much memory or time. The others wait.
type Turns struct{ free chan struct{} }

// NewTurns makes as many as are had at once.
func NewTurns(number int) *Turns { return &Turns{make(chan struct{}, number)} }

// Take waits for one, as long as the context goes on: then it is an error, the cause of that. Who has one gives it back by done.
func (t *Turns) Take(ctx context.Context) (done func(), err error) {
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
