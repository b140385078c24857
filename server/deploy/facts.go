package deploy

import (
	"context"
	"encoding/json"

	"github.com/tenetcm/tenet/server/evaluate"
)

// values are facts or outputs of hosts, by the name of the host and their own.
type values = map[string]map[string]json.RawMessage

// foreign is what evaluations have read of hosts that they were not for: of a site with many hosts a process gets that, and not all there is.
type foreign struct {
	facts   map[string]map[string]bool // by host
	outputs map[string]bool            // hosts whose outputs were read, of which it gets all
}

// maxQuestions is how often it is asked again for hosts whose facts an evaluation turns out to read; then it gets all facts.
const maxQuestions = 3

// ask asks for hosts: with all that these have told, and so much of others as was read until now. Where more is read that somebody has told it asks
// again.
func (e *evaluations) ask(ctx context.Context, q evaluate.Question, part []*Enrolled) (*evaluate.Answer, error) {
	q.Hosts = nil
	for _, h := range part {
		q.Hosts = append(q.Hosts, evaluate.Recipient{Name: h.Name, Sealing: h.Sealing})
	}
	e.expect(part)
	for n := 1; ; n++ {
		q.Facts, q.Outputs = e.reads.of(e.told, part)
		if n > maxQuestions {
			q.Facts, q.Outputs = e.told.facts, e.told.outputs
		}
		a, err := e.Evaluate.Ask(ctx, q)
		if err != nil || n > maxQuestions || !e.lacksFacts(a, q) {
			return a, err
		}
	}
}

// expect takes it that what was read for hosts before is read again.
func (e *evaluations) expect(part []*Enrolled) {
	if e.kept == nil {
		return
	}
	for _, prepared := range e.kept.prepared {
		for _, h := range part {
			if p := prepared[h.ID]; p != nil {
				e.reads.note(p.Read, h.Name)
			}
		}
	}
}

// lacksFacts reports whether an evaluation has read what somebody has told, and was not given it. It is noted for the next one.
func (e *evaluations) lacksFacts(a *evaluate.Answer, q evaluate.Question) bool {
	is := false
	for _, r := range a.Results {
		for _, v := range r.Read {
			if !v.Digest.IsZero() || !has(e.told.facts, e.told.outputs, v) || has(q.Facts, q.Outputs, v) {
				continue
			}
			is = true
			e.reads.noteOne(v)
		}
	}
	return is
}

// has reports whether a value is among those of hosts; one without a name is which outputs there are.
func has(facts, outputs values, v Value) bool {
	of := facts[v.Host]
	if v.IsOutput {
		of = outputs[v.Host]
	}
	_, is := of[v.Name]
	return is || v.Name == "" && len(of) > 0
}

// note notes what was read of others than one host.
func (f *foreign) note(read Reads, own string) {
	for v := range read.all() {
		if v.Host != own {
			f.noteOne(v)
		}
	}
}

func (f *foreign) noteOne(v Value) {
	if f.facts == nil {
		f.facts, f.outputs = map[string]map[string]bool{}, map[string]bool{}
	}
	switch {
	case v.IsOutput:
		f.outputs[v.Host] = true
	case f.facts[v.Host] == nil:
		f.facts[v.Host] = map[string]bool{v.Name: true}
	default:
		f.facts[v.Host][v.Name] = true
	}
}

// of gives all that hosts have told, and of others what was read.
func (f *foreign) of(told *hostView, part []*Enrolled) (facts, outputs values) {
	facts, outputs = values{}, values{}
	for host, names := range f.facts {
		one := map[string]json.RawMessage{}
		for name := range names {
			if data, known := told.facts[host][name]; known {
				one[name] = data
			}
		}
		facts[host] = one
	}
	for host := range f.outputs {
		if of := told.outputs[host]; of != nil {
			outputs[host] = of
		}
	}
	for _, h := range part {
		facts[h.Name] = told.facts[h.Name]
		if of := told.outputs[h.Name]; of != nil {
			outputs[h.Name] = of
		}
	}
	return facts, outputs
}
