package testcase

import (
	"context"
	"errors"
	"maps"
	"os"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// runSteps carries the steps of a case out in order, on one machine, up to the first that does
// not pass: what comes after it was meant for another machine. Between them the machine has its
// records, as a real one does, and so have the machines of a case about hosts. A case without steps is one.
func (r *caseRun) runSteps(ctx context.Context) {
	steps := r.c.block.blocksOf("step")
	r.outputs = r.outputs.after()
	if len(steps) == 0 && len(r.c.hosts) == 0 {
		r.run(ctx)
		return
	}
	whole := r.c
	defer func() { r.c = whole }()
	var err error
	if r.records, err = newRecords(); err != nil {
		r.diagnostics.Add(diag.Diagnostic{Summary: "the records of the machine cannot be kept: " + err.Error(), Range: whole.Range})
		return
	}
	if len(steps) == 0 {
		r.runHosts(ctx)
	}
	for _, b := range steps {
		one := *whole
		one.block, one.Range = stepBlock(whole.block, b), b.at
		r.c, r.compilation, r.outputs = &one, nil, r.outputs.after()
		if len(whole.hosts) > 0 {
			r.runHosts(ctx)
		} else {
			r.run(ctx)
		}
		if len(r.failures) > 0 || r.diagnostics.HasErrors() {
			break
		}
	}
	if err := r.records.remove(); err != nil {
		r.diagnostics.Add(diag.Diagnostic{Summary: "the records of the machine cannot be removed: " + err.Error(), Range: whole.Range})
	}
}

// stepBlock is a step as a case: its attributes are those of the case but for those that it
// gives itself, name by name where they are objects.
func stepBlock(whole, step *block) *block {
	out := &block{word: whole.word, label: whole.label, at: step.at, fields: maps.Clone(whole.fields), blocks: step.blocks}
	for name, f := range step.fields {
		switch own := f.value.(type) {
		case map[string]any:
			f.value = merged(the[map[string]any](whole, name), own)
		case map[string]string:
			f.value = merged(the[map[string]string](whole, name), own)
		}
		out.fields[name] = f
	}
	return out
}

func merged[T any](a, b map[string]T) map[string]T {
	out := map[string]T{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// records are what a machine remembers from one step to the next.
type records struct{ dir string }

func newRecords() (*records, error) {
	dir, err := os.MkdirTemp("", "tenet-test-")
	return &records{dir}, err
}

func (k *records) remove() error { return os.RemoveAll(k.dir) }

// runner is the machine with its records.
func (r *caseRun) runner() *runner.Runner {
	return &runner.Runner{
		Host: r.machine, Registry: r.o.Registry, StateDir: r.records.dir, Program: "test", Continue: startAnew, Volatile: true,
	}
}

// startAnew is how a simulated machine starts anew: at once.
func startAnew(context.Context) (func() error, error) { return func() error { return nil }, nil }

// job is what the machine is to do.
func (r *caseRun) job(c *compilation) *machine.Job {
	return &machine.Job{Run: c.run, Registry: r.o.Registry, Files: r.site(), Places: c.sources, Parallel: 1, Origin: Dir}
}

// carry carries a run out as the command line does on a machine, with its records.
func (r *caseRun) carry(ctx context.Context, run *states.StateRun, planning bool, o runtime.Options) (*runtime.Result, error) {
	m, j := r.runner(), r.job(r.compilation)
	j.Run = run
	observer := machine.Observer{Event: func(ev states.Event) { o.Events(ev) }}
	how := m.Apply
	if planning {
		how = m.Plan
	}
	result, err := how(ctx, j, observer)
	if err != nil || result == nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return &runtime.Result{Report: *result.Report, Counts: result.Counts, Failed: result.Failed, Interrupted: result.Interrupted, Outputs: result.Outputs}, nil
}
