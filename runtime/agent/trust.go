package agent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// chain gives the trust documents as they are now.
func (a *Agent) chain() *trust.Chain {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.core.Chain
}

// TakeTrust takes up trust documents that were kept in the identity by somebody else than the agent, such as a renewal. From then on all is judged by them.
func (a *Agent) TakeTrust() {
	a.step(func() (out control.Output) {
		chain, err := a.Identity.Chain()
		if err != nil {
			out.Refused = append(out.Refused, fmt.Errorf("the trust documents of this host: %w", err))
			return out
		}
		return a.core.Trust(a.now(), chain)
	})
}

// TakeKeys takes up keys that have followed others in the identity: from then on what is encrypted to the former ones is taken up no more.
func (a *Agent) TakeKeys() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.core.Sealing = a.Identity.Keys().Sealing
}

// Recipients are the sealing keys, by their public halves, to which is encrypted what the host holds, or can be taken back to.
func (a *Agent) Recipients() ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := map[string]bool{}
	for _, f := range []assignmentFolder{a.held, a.converged} {
		assigned, err := f.load(a.Identity.ID())
		if err != nil {
			return nil, err
		}
		for _, one := range assigned {
			list[one.Recipient] = true
		}
	}
	return slices.Sorted(maps.Keys(list)), nil
}
