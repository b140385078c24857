package server

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// What the server has signed does not count any more once its key is replaced; what it signs from then on does.
func TestSignerOfTargets(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	s := signatures{b.Server}
	signer := func() (key trust.ID) {
		a := &trust.Assignment{Format: trust.AssignmentFormat, Site: "other", Revision: "1", Absent: true, Until: time.Now().Add(time.Hour)}
		must(t, b.Store.Write(t.Context(), func(tx store.Tx) (err error) {
			if err = b.Sessions.Assign(tx, id, a); err == nil {
				key, err = s.Signer(tx, id, "other")
			}
			return err
		}))
		return key
	}
	former := signer()
	if err := s.MayAssign(former); former == "" || err != nil {
		t.Fatalf("%q: %v", former, err)
	}
	must(t, b.Authority.RotateKey(t.Context(), nil))
	if s.MayAssign(former) == nil || s.MayAssign("") != nil {
		t.Error("the former key may still assign, or the present one may not")
	}
	if now := signer(); now == former || s.MayAssign(now) != nil {
		t.Errorf("it signs by %s", now)
	}
}
