package client

import (
	"context"
	"time"
)

// SetSleep replaces how a client waits.
func (c *Client) SetSleep(f func(ctx context.Context, d time.Duration) error) { c.sleep = f }
