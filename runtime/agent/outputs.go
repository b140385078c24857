package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
)

// give notes what a run or plan gives to other hosts. What is sensitive stays here: a server would see it.
func (s *siteLoop) give(r *machine.Result) error {
	if r == nil {
		return nil
	}
	for name, out := range r.Outputs {
		if !out.IsKnown || out.Sensitive {
			continue
		}
		data, err := plainjson.Marshal(out.Value)
		if err != nil {
			return fmt.Errorf("the output %s: %w", name, err)
		}
		if s.values == nil {
			s.values = map[string]json.RawMessage{}
		}
		s.values[name] = data
	}
	return nil
}

// tellOutputs tells what a host that is as wanted gives, unless that was told.
func (k *keeper) tellOutputs(site string, values map[string]json.RawMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.sites[site]
	if s == nil || len(values) == 0 || s.outputs != nil && maps.EqualFunc(s.outputs.Values, values, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return
	}
	given := maps.Clone(s.given)
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	maps.Copy(given, values)
	signed, err := k.agent.signOutputs(site, given)
	if err != nil { // it is told again at the next turn
		k.agent.Log(fmt.Errorf("what this host gives to others: %w", err))
		return
	}
	s.given, s.outputs = given, &control.Outputs{Site: site, Values: values, Signed: signed}
	k.agent.teller.tell(control.Item{Outputs: s.outputs})
}

// signOutputs signs what this host gives to others of a site.
func (a *Agent) signOutputs(site string, values map[string]json.RawMessage) (*trust.Signed, error) {
	number, err := a.nextFacts()
	if err != nil {
		return nil, err
	}
	return a.Identity.Sign(trust.KindOutputs, control.OutputsReport{Host: a.Identity.ID(), Site: site, Number: number, At: a.Clock().UTC(), Values: values})
}
