package agent

import (
	"fmt"

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
