package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// testMachine is a tree of files, on which a runner acts, and where its records are.
type testMachine struct {
	*testing.T
	runner *runner.Runner
	root   string
}

func newMachine(t *testing.T) *testMachine {
	t.Helper()
	root := t.TempDir()
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &testMachine{t, &runner.Runner{Host: h, Root: root, StateDir: t.TempDir(), Registry: modules.Standard(), Program: "test"}, root}
}

// files is a bundle with n files; the first one comes from the site.
func files(execution string, n int) *bundle.Bundle {
	run := &states.StateRun{Format: states.Format, Host: "web1", Site: "shop", Revision: "sha256:1"}
	for i := range n {
		address := fmt.Sprintf("file.f%d", i)
		values := map[string]any{"path": fmt.Sprintf("/etc/f%d", i)}
		if i == 0 {
			values["source"] = map[string]any{"path": "files/zero", "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte("zero\n"))), "size": json.Number("5")}
		} else {
			values["content"] = fmt.Sprintf("number %d\n", i)
		}
		run.Invocations = append(run.Invocations, states.Invocation{Address: address, Parts: []states.Part{{
			Address: address, ID: address, Type: "file", Key: fmt.Sprintf("/etc/f%d", i), Ensure: states.Present, Values: values,
		}}})
	}
	return &bundle.Bundle{
		Execution: execution, Origin: "controller:/site", Run: run, Parallel: 1,
		Files: states.WithTrees(context.Background(), fstest.MapFS{"files/zero": {Data: []byte("zero\n")}}, nil),
	}
}

// heard is what came of a request.
type heard struct {
	hello  *wire.Hello
	run    string
	after  int64
	events []states.Event
	data   json.RawMessage
	stdout string
	notes  []string
	end    wire.End
}

// ask sends a request, with a bundle where there is one, and hears to the end.
func (m *testMachine) ask(q wire.Request, b *bundle.Bundle) *heard {
	m.Helper()
	c, hello, err := runner.Local(m.runner)(m.Context(), wire.Opening{Facts: []string{"hostname"}, Site: "shop"})
	if err != nil {
		m.Fatal(err)
	}
	defer c.Close()
	if err := c.Send(wire.KindRequest, q); err != nil {
		m.Fatal(err)
	}
	if b != nil {
		if err := b.Send(c, hello.Have, m.runner.Registry); err != nil {
			m.Fatal(err)
		}
	}
	h := &heard{hello: hello}
	h.listen(m.T, c)
	return h
}

func (h *heard) listen(t *testing.T, c *wire.Conn) {
	t.Helper()
	for {
		f, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if h.take(t, f) {
			return
		}
	}
}

// take takes a frame, and tells whether it is the last.
func (h *heard) take(t *testing.T, f wire.Frame) bool {
	t.Helper()
	var err error
	switch f.Kind {
	case wire.KindStarted:
		var s wire.Started
		err = f.Decode(&s)
		h.run, h.after = s.Run, s.After
	case wire.KindEvent:
		var ev states.Event
		err = f.Decode(&ev)
		h.events = append(h.events, ev)
	case wire.KindNote:
		h.notes = append(h.notes, string(f.Data))
	case wire.KindData:
		h.data = f.Data
	case wire.KindStdout:
		h.stdout += string(f.Data)
	case wire.KindEnd:
		err = f.Decode(&h.end)
		if err == nil {
			return true
		}
	default:
		t.Fatalf("a frame %q", f.Kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// seqs gives the numbers of events.
func seqs(events []states.Event) (list []int64) {
	for _, ev := range events {
		list = append(list, ev.Seq)
	}
	return list
}

func TestServePlansAndApplies(t *testing.T) {
	m := newMachine(t)
	plan := m.ask(wire.Request{Op: wire.OpPlan}, files("", 3))
	if plan.end.Failure != nil || plan.end.Result == nil || plan.end.Result.Counts.Create != 3 {
		t.Fatalf("plan: %+v", plan.end)
	}
	if _, err := os.Stat(filepath.Join(m.root, "etc/f0")); err == nil {
		t.Fatal("a plan has made a file")
	}
	b := files("20260101-000000-abcdef", 3)
	b.Rows = plan.events
	first := m.ask(wire.Request{Op: wire.OpApply, User: "alice", From: "desk", Command: "tenet apply"}, b)
	if first.end.Failure != nil || first.end.Result == nil || first.end.Result.Counts.Changed != 3 || first.run == "" {
		t.Fatalf("apply: %+v", first.end)
	}
	for i, want := range []string{"zero\n", "number 1\n", "number 2\n"} {
		if text, err := os.ReadFile(filepath.Join(m.root, fmt.Sprint("etc/f", i))); err != nil || string(text) != want {
			t.Errorf("f%d holds %q, %v", i, text, err)
		}
	}
	second := m.ask(wire.Request{Op: wire.OpApply}, files("20260101-000001-abcdef", 3))
	if second.end.Result == nil || second.end.Result.Counts.Unchanged != 3 {
		t.Errorf("the second apply: %+v", second.end)
	}
	if len(second.hello.Have) == 0 || string(second.hello.Facts["hostname"]) == "" {
		t.Errorf("hello: %+v", second.hello)
	}
	status := m.ask(wire.Request{Op: wire.OpStatus, ID: "20260101-000000"}, nil)
	var now machine.Status
	if err := json.Unmarshal(status.data, &now); err != nil || now.Status == nil || now.Run != first.run || now.Execution != "20260101-000000-abcdef" {
		t.Errorf("status: %s, %v, %+v", status.data, err, status.end)
	}
	after := m.ask(wire.Request{Op: wire.OpAttach, ID: "20260101-000000-abcdef"}, nil)
	if !slices.Equal(seqs(after.events), seqs(first.events)) || after.run != first.run || after.end.Result == nil || after.end.Result.Counts.Changed != 3 {
		t.Errorf("attached later: %v, %+v", seqs(after.events), after.end)
	}
}
