package deploy

import (
	"testing"

	"github.com/tenetcm/tenet/server/store"
)

// Revisions are kept in memory as far as there is room, by what they take in the store; one that is too large is read each time.
func TestKnownRevisionsAreBounded(t *testing.T) {
	p := newPlace(t, "web1")
	for _, text := range []string{"one", "two", "three"} {
		p.deploy(shop(text, "web1"), Request{})
		p.settle()
	}
	var size int64
	p.must(p.Store.Read(t.Context(), func(r store.Reader) error {
		_, err := store.One(r, `SELECT CAST(MAX(LENGTH(body)) AS BIGINT) FROM deploy_revisions`, nil, &size)
		return err
	}))
	for room, most := range map[int64]int{1: 0, size + size/2: 1, 3 * size: 3} {
		clear(p.revisions)
		p.revisionBytes, p.revisionRoom = 0, room
		for range 3 {
			for number := range int64(3) {
				p.must(p.Store.Read(t.Context(), func(r store.Reader) error {
					one, err := p.knownRevision(r, "shop", number+1)
					if err == nil && (one == nil || one.Number != number+1) {
						t.Errorf("revision %d is %+v", number+1, one)
					}
					return err
				}))
			}
		}
		if len(p.revisions) != most || p.revisionBytes > room {
			t.Errorf("with room for %d bytes %d revisions of %d bytes are kept", room, len(p.revisions), p.revisionBytes)
		}
	}
}
