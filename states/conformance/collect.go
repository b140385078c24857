package conformance

import (
	"context"
	"fmt"
	"strings"
)

// Collect carries something out, and gives all that it found wrong. A panic is
// one of these.
func Collect(ctx context.Context, run func(t T)) (wrong []string) {
	c := &collector{ctx: ctx}
	defer func() {
		wrong = c.wrong
		switch p := recover().(type) {
		case nil, fatal:
		default:
			wrong = append(wrong, fmt.Sprintf("panic: %v", p))
		}
	}()
	run(c)
	return c.wrong
}

// fatal is the panic with which Fatalf ends what is carried out.
type fatal struct{}

type collector struct {
	ctx   context.Context
	wrong []string
}

// Helper does nothing: there are no lines to report.
func (*collector) Helper() {}

// Context gives the context of Collect.
func (c *collector) Context() context.Context { return c.ctx }

// Errorf notes what is wrong.
func (c *collector) Errorf(format string, args ...any) {
	c.wrong = append(c.wrong, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// Fatalf notes what is wrong, and ends.
func (c *collector) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	panic(fatal{})
}
