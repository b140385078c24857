package machinetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing/fstest"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// sourceText is the file that jobs bring along.
const sourceText = "from the site\n"

// job is a job of parts, one after the other.
func (s *suite) job(execution string, parts ...states.Part) *machine.Job {
	run := &states.StateRun{Format: states.Format, Host: "subject", Site: "suite", Revision: "sha256:1"}
	for _, p := range parts {
		run.Invocations = append(run.Invocations, states.Invocation{Address: p.Address, State: p.Address, Parts: []states.Part{p}})
	}
	return &machine.Job{
		Run: run, Origin: "here:/site", Execution: execution, Parallel: 1,
		Files: states.WithTrees(context.Background(), fstest.MapFS{"files/text": {Data: []byte(sourceText)}}, nil),
	}
}

// part is a part whose address is of its type and a name.
func part(kind, name, key string, values map[string]any) states.Part {
	address := kind + "." + name
	return states.Part{Address: address, ID: address, Type: kind, Key: key, Ensure: states.Present, Values: values}
}

// file is a file in the machine's folder.
func (s *suite) file(name, content string) states.Part {
	return part("file", name, s.path(name), map[string]any{"path": s.path(name), "content": content})
}

// sourceFile is a file that comes from the site.
func (s *suite) sourceFile(name string) states.Part {
	return part("file", name, s.path(name), map[string]any{"path": s.path(name), "source": map[string]any{
		"path": "files/text", "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(sourceText))), "size": json.Number(fmt.Sprint(len(sourceText))),
	}})
}

// gate is a part that waits until a file is there; see open. It is open once the test has
// ended, however: the machine need not outlast a failure.
func (s *suite) gate(name string) states.Part {
	s.Helper()
	s.Cleanup(func() { s.open(name) })
	return part("wait_for", name, name, map[string]any{"path": s.path(name + ".open"), "every": "10ms", "within": "10m"})
}

// open lets a gate through.
func (s *suite) open(name string) {
	s.Helper()
	s.write(name+".open", "")
}

// shell is a part that runs a script.
func shell(name, script string) states.Part {
	return part("command", name, name, map[string]any{"shell": script})
}

// plan plans a job, and gives what was told.
func (s *suite) plan(j *machine.Job) (*machine.Result, *recorder) {
	s.Helper()
	r := newRecorder()
	result, err := s.Plan(s.ctx, j, r.observer())
	if err != nil || result == nil {
		s.Fatalf("the plan: %+v, %v", result, err)
	}
	return result, r
}

// apply applies a job, which must end, and gives what was told.
func (s *suite) apply(j *machine.Job) (*machine.Result, *recorder) {
	s.Helper()
	r := newRecorder()
	result, err := s.Apply(s.ctx, j, r.observer())
	if err != nil || result == nil {
		s.Fatalf("the apply: %+v, %v", result, err)
	}
	return result, r
}

// begin applies a job beside the test.
func (s *suite) begin(ctx context.Context, m machine.Machine, j *machine.Job) *call {
	return start(func(o machine.Observer) (*machine.Result, error) { return m.Apply(ctx, j, o) })
}
