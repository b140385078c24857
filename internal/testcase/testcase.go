// Package testcase tests sites on simulated machines. A case, which stands in
// a file tests/*.hcl beside the site, says what is given (facts, variables, a
// machine) and what is expected: of the compiled run, of the plan, of the apply
// and of the machine afterwards.
//
// Whatever a case expects, the site is planned and applied, on a machine in
// memory and never on a real one: the plan must leave the machine alone, the
// apply do what the plan was certain of, no part fail, and a second apply find
// nothing to do.
package testcase

import (
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/states"
)

// Options say how cases are carried out. Site and Registry are required.
type Options struct {
	// Site is the loaded site.
	Site *lang.Site
	// Registry holds the modules that the site uses.
	Registry *states.Registry
	// Update writes a golden file, named from the site's directory, in place of
	// comparing with it; nil: they are compared.
	Update func(name string, data []byte) error
}

// Outcome is how a case ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"  // something is not as expected
	Invalid Outcome = "invalid" // the site or the case has mistakes: see Diagnostics
)

// Result is how a case ended, and why.
type Result struct {
	Case        *Case
	Outcome     Outcome
	Failures    []Failure
	Diagnostics diag.List // mistakes, and warnings of the site
	Notes       []string  // what could not be tried
	Updated     []string  // golden files that were written
	Duration    time.Duration
}

// Failure is one thing that is not as expected.
type Failure struct {
	Message  string     `json:"message"`
	Expected string     `json:"expected,omitempty"`
	Got      string     `json:"got,omitempty"`
	Diff     string     `json:"diff,omitempty"` // unified, from expected to got
	Hint     string     `json:"hint,omitempty"`
	Range    diag.Range `json:"range"` // of the expectation
}

// Run carries out one case.
func Run(ctx context.Context, c *Case, o Options) Result {
	start := time.Now()
	r := &caseRun{c: c, o: o}
	if c.block.word == "module" {
		r.module(ctx)
	} else {
		r.runSteps(ctx)
	}
	result := Result{Case: c, Outcome: Passed, Failures: r.failures, Diagnostics: r.diagnostics, Notes: r.notes, Updated: r.updatedFiles}
	switch {
	case r.diagnostics.HasErrors():
		result.Outcome = Invalid
	case len(r.failures) > 0:
		result.Outcome = Failed
	}
	result.Duration = time.Since(start)
	return result
}

// caseRun is a case on its way.
type caseRun struct {
	c           *Case // of a step, as if it were a case by itself
	o           Options
	machine     *host.Memory            // nil: not made yet
	machines    map[string]*host.Memory // of a case about hosts: those that are made, by host
	records     *records                // nil: nothing comes after this
	compilation *compilation
	outputs     *outputBook // that hosts give one another
	hostName    string      // of the host that the site is evaluated for
	facts       *facts.Facts
	// peers gives the facts of the other machines of a case about hosts; nil: there is none of that host.
	peers func(host string) *facts.Facts
	// peerStory gives what another machine of such a case was told last, and whether that was a plan or an apply; nil: nothing.
	peerStory    func(host string) (s *story, what string)
	failures     []Failure
	diagnostics  diag.List
	notes        []string
	updatedFiles []string
}

func (r *caseRun) fail(f Failure) {
	if f.Range.IsZero() {
		f.Range = r.c.Range
	}
	for _, text := range []*string{&f.Message, &f.Expected, &f.Got, &f.Diff} {
		*text = r.mask(*text)
	}
	r.failures = append(r.failures, f)
}

// mask hides the secrets of the run: a report is read by more people than a
// case.
func (r *caseRun) mask(text string) string {
	if r.compilation == nil {
		return text
	}
	for _, secret := range r.compilation.run.Secrets {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, graph.Hidden)
		}
	}
	return text
}

// shortestSecret is the length from which secrets are looked for, as in the
// output of programs: shorter ones turn up by chance.
const shortestSecret = 4

// expectation is the block of a stage, or an empty one.
func (r *caseRun) expectation(stage string) *block {
	if b := r.c.block.single("expect_" + stage); b != nil {
		return b
	}
	return &block{at: r.c.Range}
}

func (r *caseRun) run(ctx context.Context) {
	if !r.compile(ctx) || r.c.expectsError() != nil {
		return
	}
	r.checkRun(ctx)
	if r.c.lastStage() == untilRun {
		return
	}
	planned, ok := r.plan(ctx)
	if !ok {
		return
	}
	r.checkPlan(planned)
	if r.c.lastStage() == untilPlan {
		return
	}
	applied, ok := r.apply(ctx)
	if !ok {
		return
	}
	r.checkApply(applied)
	r.checkForetold(planned, applied)
	if after := r.expectation("apply").single("after"); after != nil {
		r.checkAfter(after)
	}
	r.converge(ctx, applied)
}

// indentJSON writes plain data as golden files hold it.
func indentJSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// site is the file system of the site.
func (r *caseRun) site() fs.FS { return r.o.Site.Files() }
