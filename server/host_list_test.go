package server

import (
	"reflect"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
)

// The list of hosts that is kept is the one that the store has, whatever has become of hosts since it was read.
func TestHostListFollowsHosts(t *testing.T) {
	b := newTarget(t)
	l := &hostList{store: b.Store}
	by := enroll.By{Actor: "test", Allow: func(access.Target) error { return nil }}
	check := func(what string) {
		t.Helper()
		got, err := l.List(t.Context())
		must(t, err)
		want, err := (&hostList{store: b.Store}).List(t.Context())
		must(t, err)
		if len(got) != len(want) || !slices.EqualFunc(got, want, func(a, b deploy.Enrolled) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%s: %+v, not %+v", what, got, want)
		}
	}
	check("none")
	web, _ := b.host("web1")
	check("one")
	db, _ := b.host("db1")
	check("two")
	must(t, err2(b.Hosts.Rename(t.Context(), by, web, "app1")))
	check("another name")
	must(t, err2(b.Hosts.Label(t.Context(), by, db, map[string]string{"role": "db"})))
	check("labels")
	must(t, err2(b.Hosts.Lock(t.Context(), by, db)))
	check("locked")
	must(t, err2(b.Hosts.Revoke(t.Context(), by, web)))
	check("revoked")
	check("nothing new")
}
