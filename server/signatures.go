package server

import (
	"context"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// signatures is what was signed elsewhere, as deployments see it.
type signatures struct{ *Server }

// MayAssign is deploy.Signatures'.
func (s signatures) MayAssign(key trust.ID) error {
	document := s.Authority.Chain().Newest()
	for _, k := range document.Keys {
		if (key != "" && k.Key.ID() == key || key == "" && s.Authority.Owns(k.Key)) && slices.Contains(k.Verbs, trust.VerbAssign) {
			return nil
		}
	}
	return &diag.HintError{Code: "forbidden", Message: "the trust document does not let this key say what hosts are to be", Hint: "tenet trust show tells which keys may"}
}

// Signer is deploy.Signatures'.
func (s signatures) Signer(r store.Reader, host trust.ID, site string) (trust.ID, error) {
	return s.Sessions.TargetSigner(r, host, site)
}

// Next is deploy.Signatures'.
func (s signatures) Next(r store.Reader, host trust.ID, site string) (trust.Position, error) {
	return s.Sessions.Next(r, host, site)
}

// Open is deploy.Signatures'.
func (s signatures) Open(signed *trust.Signed, host trust.ID) (*trust.Assignment, trust.PublicKey, error) {
	chain := s.Authority.Chain()
	a, err := chain.ShownAssignment(signed, host)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return nil, trust.PublicKey{}, err
	}
	return a, chain.Newest().Signer(signed, trust.VerbAssign).Key, nil
}

// Deliver is deploy.Signatures'.
func (s signatures) Deliver(tx store.Tx, host trust.ID, signed *trust.Signed) error {
	return s.Sessions.Deliver(tx, host, signed)
}

// Told is deploy.Signatures'.
func (s signatures) Told(ctx context.Context, host trust.ID, site string) (facts, outputs *trust.Signed, err error) {
	if _, facts, err = s.Sessions.Facts(ctx, host); err != nil {
		return nil, nil, err
	}
	outputs, err = s.Sessions.SignedOutputs(ctx, host, site)
	return facts, outputs, err
}
