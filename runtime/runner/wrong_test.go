package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
)

// said is what a runner says to bytes that come from a controller.
func said(ctx context.Context, r *runner.Runner, in []byte) (hello *wire.Hello, end *wire.End, err error) {
	var out bytes.Buffer
	err = runner.Serve(ctx, wire.New(bytes.NewReader(in), &out, nil), wire.Opening{}, r)
	c := wire.New(&out, io.Discard, nil)
	hello, end = &wire.Hello{}, &wire.End{}
	if e := c.Expect(wire.KindHello, hello); e != nil {
		return nil, nil, e
	}
	for {
		f, e := c.Receive()
		if e != nil {
			return hello, nil, err
		}
		if f.Kind == wire.KindEnd {
			return hello, end, errors.Join(err, f.Decode(end))
		}
	}
}

// frames are the bytes of frames.
func frames(t testing.TB, list ...wire.Frame) []byte {
	t.Helper()
	var out bytes.Buffer
	c := wire.New(nil, &out, nil)
	for _, f := range list {
		if err := c.Write(f.Kind, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestWrongRequests(t *testing.T) {
	t.Parallel()
	request := func(text string) []byte { return frames(t, wire.Frame{Kind: wire.KindRequest, Data: []byte(text)}) }
	for _, c := range []struct {
		name  string
		in    []byte
		wants string // in the failure; empty: no End, since nobody is there
		code  string
	}{
		{"nothing", nil, "", ""},
		{"an unknown operation", request(`{"op": "format"}`), "knows no request", "unsupported"},
		{"no operation", request(`{}`), "knows no request", "unsupported"},
		{"no JSON", request(`{"op`), "cannot be read", ""},
		{"another frame", frames(t, wire.Frame{Kind: wire.KindCancel}), "where a 'Q' was due", ""},
		{"too large a frame", []byte{0xff, 0xff, 0xff, 0xff, 'Q'}, "too large", ""},
		{"an unknown run", request(`{"op": "attach", "id": "20260101-000000-abcdef"}`), "no such run", machine.CodeNotFound},
		{"a path as an ID", request(`{"op": "logs", "id": "../../etc/passwd"}`), "no such run", machine.CodeNotFound},
		{"no command", request(`{"op": "exec", "exec": {"argv": []}}`), "no command", ""},
		{"no reason", request(`{"op": "hold", "hold": {"reason": " "}}`), "needs a reason", ""},
		{"nothing to clean", request(`{"op": "clean"}`), "not said what is to go", ""},
		{"no bundle", append(request(`{"op": "apply"}`), frames(t, wire.Frame{Kind: wire.KindCancel})...), "", machine.CodeDamaged},
		{"a bundle of rubbish", append(request(`{"op": "apply"}`), frames(t, wire.Frame{Kind: wire.KindBundle, Data: []byte("rubbish")}, wire.Frame{Kind: wire.KindSent})...), "", machine.CodeDamaged},
	} {
		m := newMachine(t)
		m.runner.StateDir = filepath.Join(t.TempDir(), "state")
		hello, end, err := said(t.Context(), m.runner, c.in)
		switch {
		case hello == nil || hello.Protocol != wire.Protocol:
			t.Errorf("%s: no hello: %v", c.name, err)
		case c.wants == "" && c.code == "":
			if end != nil || err != nil {
				t.Errorf("%s: %+v, %v", c.name, end, err)
			}
		case end == nil || end.Failure == nil || !strings.Contains(end.Failure.Message, c.wants) || c.code != "" && end.Failure.Code != c.code:
			t.Errorf("%s: %+v, %v", c.name, end, err)
		}
		if c.name == "a bundle of rubbish" || c.name == "no bundle" {
			continue
		}
		if _, err := os.Stat(m.runner.StateDir); err == nil {
			t.Errorf("%s: it has made a state folder", c.name)
		}
	}
}

// A program that is not the one that was to be started says nothing.
func TestSelfCheck(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var out bytes.Buffer
	err := runner.Serve(t.Context(), wire.New(strings.NewReader(""), &out, nil), wire.Opening{Digest: strings.Repeat("0", 64)}, m.runner)
	wrong, ok := errors.AsType[*runner.DigestError](err)
	if !ok || out.Len() > 0 {
		t.Fatalf("%v, said %q", err, out.Bytes())
	}
	if err := runner.Serve(t.Context(), wire.New(strings.NewReader(""), &out, nil), wire.Opening{Digest: wrong.Is}, m.runner); err != nil || out.Len() == 0 {
		t.Errorf("with the right digest: %v", err)
	}
}

// What asks about records gives their data, and what an error is.
func TestRecordsOverTheWire(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	run := m.ask(wire.Request{Op: wire.OpApply}, files("20260101-000000-abcdef", 2)).run
	for _, c := range []struct {
		request wire.Request
		wants   string
	}{
		{wire.Request{Op: wire.OpPing}, ""},
		{wire.Request{Op: wire.OpStatus}, `"run":"` + run},
		{wire.Request{Op: wire.OpHistory}, `[{"format":`},
		{wire.Request{Op: wire.OpManaged}, `"key":"/etc/f1"`},
		{wire.Request{Op: wire.OpLogs, ID: run}, `[]`},
		{wire.Request{Op: wire.OpHold, Hold: &machine.HoldRequest{Reason: "a test"}, User: "alice", From: "desk"}, `"by":"alice from desk"`},
		{wire.Request{Op: wire.OpRelease}, `"reason":"a test"`},
		{wire.Request{Op: wire.OpRelease}, `null`},
		{wire.Request{Op: wire.OpForget, Names: []string{"file.f1"}}, `"key":"/etc/f1"`},
		{wire.Request{Op: wire.OpClean, ID: run}, `{"removed":["` + run},
		{wire.Request{Op: wire.OpClean, Clean: &machine.CleanRequest{}}, `{"removed":["`},
	} {
		h := m.ask(c.request, nil)
		if h.end.Failure != nil || !strings.Contains(string(h.data), c.wants) {
			t.Errorf("%s: %s, %+v", c.request.Op, h.data, h.end.Failure)
		}
		if c.request.Op == wire.OpLogs && len(h.events) != 6 {
			t.Errorf("logs: %d events", len(h.events))
		}
	}
	held := m.ask(wire.Request{Op: wire.OpHold, Hold: &machine.HoldRequest{Reason: "another"}}, nil)
	refused := m.ask(wire.Request{Op: wire.OpApply}, files("20260101-000001-abcdef", 2))
	if f := refused.end.Failure; held.end.Failure != nil || f == nil || f.Code != machine.CodeLocked || !strings.Contains(f.Message, "another") {
		t.Errorf("on hold: %+v", refused.end)
	}
}

// Whatever comes, a runner ends, and says so where somebody listens.
func FuzzServe(f *testing.F) {
	seed := func(op string) []byte {
		return frames(f, wire.Frame{Kind: wire.KindRequest, Data: must(json.Marshal(wire.Request{Op: wire.Op(op), ID: "x"}))})
	}
	for _, op := range []string{"plan", "apply", "attach", "status", "history", "logs", "facts", "managed", "release", ""} {
		f.Add(seed(op))
	}
	f.Add(append(seed("apply"), frames(f, wire.Frame{Kind: wire.KindBundle, Data: []byte("{}")}, wire.Frame{Kind: wire.KindSent})...))
	dir := f.TempDir()
	h, err := host.NewLocal(host.LocalOptions{Root: dir})
	if err != nil {
		f.Fatal(err)
	}
	r := &runner.Runner{Host: h, Root: dir, StateDir: filepath.Join(dir, "state"), Registry: modules.Standard()}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte(`"exec"`)) || bytes.Contains(in, []byte(`"clean"`)) {
			return // it would do what it says
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if hello, _, err := said(ctx, r, in); hello == nil {
			t.Fatalf("no hello: %v", err)
		}
		if ctx.Err() != nil {
			t.Fatal("it did not end")
		}
	})
}
