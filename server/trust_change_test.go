package server

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/wire"
)

// A host that is connected when the server's key is replaced obeys the new one.
func TestConnectedHostsFollowTrust(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	admin := b.person("anna", "admin@*", "read@*")
	dial := func() error {
		conn, _, err := admin.Dial(t.Context(), "web1", wire.Opening{Site: "shop"})
		if err != nil {
			return err
		}
		_ = conn.Close() // how it ends does not matter
		return nil
	}
	must(t, dial())
	must(t, err2(admin.RotateTrust(t.Context(), "key", "stolen")))
	b.await("the host obeys the new key", func() bool { return dial() == nil })
}
