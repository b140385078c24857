package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// reader gives facts, and notes which.
type reader struct {
	facts, outputs map[string]map[string]json.RawMessage

	mu   sync.Mutex
	seen map[Value]bool
}

// fact gives one of a host as plain data.
func (r *reader) fact(host, name string) (any, error) {
	r.note(Value{Host: host, Name: name})
	data, ok := r.facts[host][name]
	if !ok {
		return nil, &diag.HintError{Message: fmt.Sprintf("%s has not told the fact %s", host, name), Hint: "it is evaluated again once it has; is its agent connected?"}
	}
	value, err := plain(data)
	if err != nil {
		return nil, fmt.Errorf("the fact %s of %s is no JSON: %w", name, host, err)
	}
	return value, nil
}

// plain reads JSON as machines give it.
func plain(data []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// note notes that something was read.
func (r *reader) note(v Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[v.In(r.facts, r.outputs)] = true
}

// last gives the outputs of a host as it has given them last.
func (r *reader) last(host string) (map[string]states.Output, error) {
	out := map[string]states.Output{}
	for name, data := range r.outputs[host] {
		r.note(Value{Host: host, Name: name, IsOutput: true, IsLast: true})
		value, err := plain(data)
		if err != nil {
			return nil, fmt.Errorf("the output %s of %s is no JSON: %w", name, host, err)
		}
		out[name] = states.Output{Value: value, IsKnown: true}
	}
	r.note(Value{Host: host, IsOutput: true, IsLast: true}) // that there are no others
	return out, nil
}

// given gives the outputs of other hosts that a run names, and tells which these have not given.
func (r *reader) given(run *states.StateRun) (list []states.HostOutput, waits []string, err error) {
	for _, n := range run.HostOutputs() {
		r.note(Value{Host: n.Host, Name: n.Name, IsOutput: true})
		data, ok := r.outputs[n.Host][n.Name]
		if !ok {
			waits = append(waits, n.Name+" of "+n.Host)
			continue
		}
		value, err := plain(data)
		if err != nil {
			return nil, nil, fmt.Errorf("the output %s of %s is no JSON: %w", n.Name, n.Host, err)
		}
		list = append(list, states.HostOutput{Host: n.Host, Name: n.Name, Output: states.Output{Value: value, IsKnown: true}})
	}
	return list, waits, nil
}

// ask gives facts of other hosts: those that they have told last, since nobody is asked now.
func (r *reader) ask(_ context.Context, wanted []lang.HostFact) map[lang.HostFact]lang.HostFactValue {
	answers := map[lang.HostFact]lang.HostFactValue{}
	for _, w := range wanted {
		v, err := r.fact(w.Host, w.Name)
		answers[w] = lang.HostFactValue{Value: v, Err: err}
	}
	return answers
}

// values lists what was read.
func (r *reader) values() (out []Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for v := range r.seen {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Value) int {
		return strings.Compare(fmt.Sprint(a.Host, "\x00", a.Name, "\x00", a.IsOutput, a.IsLast), fmt.Sprint(b.Host, "\x00", b.Name, "\x00", b.IsOutput, b.IsLast))
	})
	return out
}
