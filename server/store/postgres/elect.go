package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/store"
)

const (
	// How often a process that stands by asks for the lock. It does not wait in PostgreSQL, which
	// would go on waiting for one that has gone.
	askInterval = 500 * time.Millisecond
	// How often a session that holds the lock says something: well below silence.
	sayInterval = silence / 3
)

// Elect is store.Engine's. The lock is of a session: it is free when PostgreSQL has ended that,
// because its process has, or was silent.
func (e *Engine) Elect(ctx context.Context) (*store.Election, error) {
	c, err := e.connect(ctx, idleSession, silence)
	if err != nil {
		return nil, err
	}
	for {
		var won bool
		err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended('tenet server ' || current_schema(), 0))").Scan(&won)
		if err == nil && won {
			return hold(c), nil
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(askInterval):
				continue
			}
		}
		closeNow(c)
		return nil, explain(err)
	}
}

// hold keeps the session from being silent, until it is let go or lost.
func hold(c *pgx.Conn) *store.Election {
	lost, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	fault.Go(func() {
		defer close(ended)
		defer closeNow(c)
		for ctx.Err() == nil {
			if !say(ctx, c) {
				close(lost)
				return
			}
		}
	})
	return &store.Election{Lost: lost, Release: func() error {
		cancel()
		<-ended
		return nil
	}}
}

// say waits a while, and reports whether the session is alive. That it ends is noticed at once.
func say(ctx context.Context, c *pgx.Conn) bool {
	wait, cancel := context.WithTimeout(ctx, sayInterval)
	defer cancel()
	c.WaitForNotification(wait) // there are none: it returns when the time is over, or the session
	if ctx.Err() != nil {
		return true
	}
	answer, cancel := context.WithTimeout(ctx, sayInterval)
	defer cancel()
	_, err := c.Exec(answer, "SELECT 1")
	return err == nil || ctx.Err() != nil
}

func closeNow(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.Close(ctx)
}
