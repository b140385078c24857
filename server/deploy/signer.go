package deploy

import (
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// isVoid gives a function that reports whether a target was signed by a key that may not assign any more: a host that has not taken it up yet never does.
func (s *Service) isVoid() func(*targetRow) bool {
	known := map[trust.ID]bool{}
	return func(target *targetRow) bool {
		if s.Options.Signatures == nil {
			return false
		}
		key := target.signer()
		void, ok := known[key]
		if !ok {
			void = s.Signatures.MayAssign(key) != nil
			known[key] = void
		}
		return void
	}
}

// signer is the key that has signed a target; empty: that is not known, and the server has.
func (t *targetRow) signer() trust.ID {
	if t.Signer == "" && !t.Key.IsZero() {
		return t.Key.ID()
	}
	return t.Signer
}

// addSigners finds out who has signed what is wanted of hosts, of targets from before that was kept beside them.
func (s *Service) addSigners(r store.Reader, site string, targets map[trust.ID]*targetRow) error {
	if s.Options.Signatures == nil {
		return nil
	}
	for id, t := range targets {
		if t.signer() != "" {
			continue
		}
		key, err := s.Signatures.Signer(r, id, site)
		if err != nil {
			return err
		}
		t.Signer = key
	}
	return nil
}
