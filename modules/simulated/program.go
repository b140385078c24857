package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
)

// program is one call of a simulated program: it gets its arguments without
// "--" and those that begin with "-", which stand in flags with their values
// behind "=".
type program struct {
	ctx   context.Context
	h     *host.Memory
	args  []string
	flags map[string]string
	stdin string
	out   strings.Builder
}

// fail ends a program with a message.
func (p *program) fail(code int, format string, args ...any) (host.Result, error) {
	text := fmt.Sprintf(format, args...) + "\n"
	return host.Result{ExitCode: code, Stdout: []byte(p.out.String()), Stderr: []byte(text)}, nil
}

func (p *program) result() (host.Result, error) {
	return host.Result{Stdout: []byte(p.out.String())}, nil
}

func (p *program) write(name, text string) error {
	return WriteFile(p.ctx, p.h, name, text, host.Meta{})
}

// suite is programs that work on the same files, one at a time.
type suite struct {
	h  *host.Memory
	mu sync.Mutex
}

// handle adds a program, with its options as the real one has them: one that
// ends in "=" takes a value. It refuses any other, and fewer arguments than
// least.
func (s *suite) handle(name, options string, least int, run func(*program) (host.Result, error)) {
	known := strings.Fields(options)
	s.h.Handle(name, func(ctx context.Context, c host.Command) (host.Result, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		p := &program{ctx: ctx, h: s.h, flags: map[string]string{}, stdin: string(c.Stdin)}
		if wrong := p.parse(c.Argv[1:], known); wrong != "" {
			return p.fail(2, "%s: %s\nUsage: %s [options]", name, wrong, name)
		}
		if len(p.args) < least {
			return p.fail(2, "%s: too few arguments\nUsage: %s [options]", name, name)
		}
		return run(p)
	})
}

// parse takes the arguments apart, and says what is wrong with them.
func (p *program) parse(rest, known []string) string {
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		if arg == "--" {
			p.args = append(p.args, rest[i+1:]...)
			return ""
		}
		if !strings.HasPrefix(arg, "-") {
			p.args = append(p.args, arg)
			continue
		}
		flag, value, inside := strings.Cut(arg, "=")
		switch {
		case slices.Contains(known, flag) && !inside:
		case slices.Contains(known, flag+"=") && inside:
		case slices.Contains(known, flag+"=") && i+1 < len(rest):
			i++
			value = rest[i]
		default:
			return fmt.Sprintf("unrecognized option '%s'", arg)
		}
		p.flags[flag] = value
	}
	return ""
}
