package sessions_test

import (
	"github.com/tenetcm/tenet/runtime/trust"
)

// hostIdentity is a host's, as its agent has it.
type hostIdentity struct {
	*subject
	fleet *fleet
}

func (i hostIdentity) ID() trust.ID { return i.key.Public().ID() }
func (i hostIdentity) Name() string { return i.name }
func (i hostIdentity) Keys() *trust.HostKeys {
	return &trust.HostKeys{Identity: i.key.Public(), Sealing: i.age.Recipient().String()}
}
func (i hostIdentity) Sign(k trust.Kind, content any) (*trust.Signed, error) {
	return trust.Sign(k, content, i.key)
}
func (i hostIdentity) Chain() (*trust.Chain, error) {
	return trust.ParseChain([]*trust.Signed{i.fleet.document})
}
func (i hostIdentity) KeepDocuments(...*trust.Signed) error { return nil }
