package custom

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// command holds the arguments of run and query.
type command struct {
	argv    *starlark.List
	stdin   starlark.Value
	env     *starlark.Dict
	dir     string
	user    string
	timeout starlark.Value
	ok      starlark.Value
	reads   *starlark.List
}

func (c *command) pairs(more ...any) []any {
	return append([]any{
		"argv", &c.argv, "stdin?", &c.stdin, "env?", &c.env, "dir?", &c.dir, "user?", &c.user,
		"timeout?", &c.timeout, "ok?", &c.ok,
	}, more...)
}

// run is run(argv, stdin, env, dir, user, timeout, ok): it may change the host.
func (m machine) run(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var c command
	if err := starlark.UnpackArgs("run", args, kwargs, c.pairs()...); err != nil {
		return nil, err
	}
	return m.start("run", c, m.host.Run)
}

// query is query(argv, reads, …): it promises to change nothing, and says what
// its answer depends on.
func (m machine) query(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var c command
	if err := starlark.UnpackArgs("query", args, kwargs, c.pairs("reads?", &c.reads)...); err != nil {
		return nil, err
	}
	if c.reads == nil {
		return nil, errors.New(`query: say what the answer depends on: reads = ["/etc/…"]; [] if on no file at all`)
	}
	reads, err := texts("query: reads", c.reads)
	if err != nil {
		return nil, err
	}
	return m.start("query", c, func(ctx context.Context, h host.Command) (host.Result, error) {
		return m.host.Query(ctx, host.Query{Command: h, Reads: reads})
	})
}

// start starts a program, and gives how it ended. An exit status that is not
// accepted is a failure.
func (m machine) start(name string, c command, act func(context.Context, host.Command) (host.Result, error)) (starlark.Value, error) {
	h, err := c.command(name)
	if err != nil {
		return nil, err
	}
	accepted, err := c.acceptedStatuses(name)
	if err != nil {
		return nil, err
	}
	ctx := m.ctx
	if isGiven(c.timeout) {
		limit, err := duration(c.timeout)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var stop func()
		ctx, stop = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
		defer stop()
	}
	r, err := act(ctx, h)
	if err != nil {
		return nil, fromHost(err)
	}
	if accepted != nil && !slices.Contains(accepted, r.ExitCode) {
		return nil, fromHost(&process.ExitError{Program: h.Argv[0], Result: r})
	}
	return record("result", starlark.StringDict{
		"stdout": starlark.String(r.Stdout), "stderr": starlark.String(r.Stderr),
		"exit_code": starlark.MakeInt(r.ExitCode), "truncated": starlark.Bool(r.Truncated),
	}), nil
}

// command gives what is to be started.
func (c command) command(name string) (host.Command, error) {
	h := host.Command{Dir: c.dir, User: c.user}
	var err error
	if h.Argv, err = texts(name+": argv", c.argv); err != nil {
		return h, err
	}
	if len(h.Argv) == 0 || h.Argv[0] == "" {
		return h, fmt.Errorf("%s: argv names no program", name)
	}
	if c.dir != "" && !path.IsAbs(c.dir) {
		return h, fmt.Errorf("%s: the directory %q is no absolute path", name, c.dir)
	}
	if isGiven(c.stdin) {
		switch text := c.stdin.(type) {
		case starlark.String:
			h.Stdin = []byte(text)
		case starlark.Bytes:
			h.Stdin = []byte(text)
		default:
			return h, fmt.Errorf("%s: stdin is a string, not a value of type %s", name, c.stdin.Type())
		}
	}
	if c.env == nil {
		return h, nil
	}
	for _, item := range c.env.Items() {
		key, isKey := starlark.AsString(item[0])
		text, isText := starlark.AsString(item[1])
		if !isKey || !isText || key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(text, "\x00") {
			return h, fmt.Errorf("%s: env is a dict of names and strings, which %s: %s is not", name, item[0], item[1].Type())
		}
		h.Env = append(h.Env, key+"="+text)
	}
	return h, nil
}

// acceptedStatuses gives the exit statuses that are no failure: 0 by default, and nil
// for any.
func (c command) acceptedStatuses(name string) ([]int, error) {
	switch ok := c.ok.(type) {
	case nil:
		return []int{0}, nil
	case starlark.NoneType:
		return nil, nil
	case *starlark.List:
		accepted := []int{}
		for e := range starlark.Elements(ok) {
			code, err := starlark.AsInt32(e)
			if err != nil {
				return nil, fmt.Errorf("%s: ok is a list of exit statuses, not of %s", name, e.Type())
			}
			accepted = append(accepted, code)
		}
		return accepted, nil
	}
	return nil, fmt.Errorf("%s: ok is a list of exit statuses, or None for any, not a value of type %s", name, c.ok.Type())
}

// texts gives the strings of a list, none of which may hold a NUL.
func texts(what string, list *starlark.List) ([]string, error) {
	out := []string{}
	for e := range starlark.Elements(list) {
		text, ok := starlark.AsString(e)
		if !ok {
			return nil, fmt.Errorf("%s: element %d is a string, not a value of type %s", what, len(out), e.Type())
		}
		if strings.Contains(text, "\x00") {
			return nil, fmt.Errorf("%s: element %d holds a NUL character", what, len(out))
		}
		out = append(out, text)
	}
	return out, nil
}

// duration is a time as "1m30s", or in seconds.
func duration(v starlark.Value) (time.Duration, error) {
	if text, ok := starlark.AsString(v); ok {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return d, nil
		}
	} else if s, ok := starlark.AsFloat(v); ok && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second)), nil
	}
	return 0, fmt.Errorf(`a timeout is a duration such as "30s", or seconds, not %s`, v.Type())
}
