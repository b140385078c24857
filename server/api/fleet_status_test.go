package api_test

import (
	"maps"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/sessions"
)

// newFleetWorld makes a fleet: web1 is well and was mended, web2 has drifted, db1 needs help, and db2 is pending.
func newFleetWorld(t *testing.T) *fleetWorld {
	w := startFleet(t)
	web1, web2, db := w.host("web1", map[string]string{"role": "web", "place": "Zürich"}), w.host("web2", map[string]string{"role": "web"}), w.host("db1", map[string]string{"role": "db"})
	w.join(w.secret, "db2")
	w.want(web1, "shop", "7")
	w.want(web2, "shop", "7")
	w.want(db, "shop", "7")
	w.want(db, "vault", "3")
	w.tell(web1, w.ended(web1, "shop", "r1", "sha256:1", 3, true), loop("shop", control.PhaseWaiting, control.ConditionConverged, ""))
	w.tell(web1, w.ended(web1, "shop", "r2", "sha256:1", 1, true)) // the same was wanted, and was as wanted
	w.tell(web2, w.ended(web2, "shop", "r1", "sha256:2", 0, true), loop("shop", control.PhaseWaiting, control.ConditionDrifted, "2 parts differ"))
	w.tell(db, w.ended(db, "shop", "r1", "sha256:3", 1, false), loop("shop", control.PhaseHelp, control.ConditionFailed, "Disk /srv is full"),
		loop("vault", control.PhaseWaiting, control.ConditionConverged, "quiet"))
	return w
}

// Hosts are found by the words that somebody types, by drift, and with how many there are; nothing is found by what one may not read.
func TestHostsByWordsAndDrift(t *testing.T) {
	w := newFleetWorld(t)
	all, err := access.ParseSelector("*")
	must(t, err)
	w.add("dora", access.Grant{Verb: access.Read, Hosts: all, Site: "shop"})
	dora := w.login("dora")
	for _, test := range []struct {
		secret, query string
		want          []string
	}{
		{w.alice, "words=", []string{"db1", "db2", "web1", "web2"}},
		{w.alice, "words=WEB", []string{"web1", "web2"}},
		{w.alice, "words=role%3Dweb+1", []string{"web1"}},
		{w.alice, "words=z%C3%9Crich", []string{"web1"}},
		{w.alice, "words=disk+HELP+shop", []string{"db1"}},
		{w.alice, "words=full+quiet", []string{"db1"}},
		{w.alice, "words=vault", []string{"db1"}},
		{w.alice, "words=nothing+web", nil},
		{w.alice, "words=web&drift=drifted", []string{"web2"}},
		{w.alice, "drift=drifted", []string{"web2"}},
		{w.alice, "drift=mended", []string{"web1"}},
		{w.alice, "drift=mended,drifted", []string{"web1", "web2"}},
		{w.alice, "drift=none&site=shop", []string{"db1"}},
		{w.alice, "phase=help&words=srv", []string{"db1"}},
		{w.carol, "words=role%3Ddb", nil},
		{w.carol, "drift=drifted", []string{"web2"}},
		{dora, "words=vault", nil},
		{dora, "words=quiet", nil},
		{dora, "words=help", []string{"db1"}},
		{dora, "site=vault", nil},
	} {
		var got []string
		cursor := ""
		for {
			page := read[api.HostList](w, test.secret, "/v1/hosts?count=true&limit=1&"+test.query+"&cursor="+url.QueryEscape(cursor))
			if page.Total == nil || *page.Total != len(test.want) {
				t.Errorf("%s: there are %v in all, not %d", test.query, page.Total, len(test.want))
			}
			for _, h := range page.Items {
				got = append(got, h.Name)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, not %q", test.query, got, test.want)
		}
	}
	if page := read[api.HostList](w, w.alice, "/v1/hosts"); page.Total != nil {
		t.Error("hosts are counted though nobody has asked")
	}
	changed := map[string]bool{}
	for h, err := range w.client(w.alice).Hosts(t.Context(), client.HostFilter{Drift: "drifted", Words: "differ"}) {
		must(t, err)
		changed[h.Name] = true
	}
	if !changed["web2"] || len(changed) != 1 {
		t.Errorf("the client finds %v", changed)
	}
	for h, err := range w.client(w.alice).Hosts(t.Context(), client.HostFilter{}) {
		must(t, err)
		changed[h.Name] = h.Changed != nil && time.Since(*h.Changed) < time.Minute
	}
	if want := map[string]bool{"db1": true, "db2": false, "web1": true, "web2": false}; !maps.Equal(changed, want) {
		t.Errorf("changed are %v", changed)
	}
	if n, err := w.client(w.carol).CountHosts(t.Context(), client.HostFilter{Words: "web"}); n != 2 || err != nil {
		t.Errorf("the client counts %d: %v", n, err)
	}
}

// The fleet is counted by how it stands, for each site and label, as far as somebody may read it; and so it is after a start of the server.
func TestFleetStatus(t *testing.T) {
	w := newFleetWorld(t)
	for round := range 2 {
		st := read[api.FleetStatus](w, w.alice, "/v1/status?labels=true")
		if want := map[sessions.Drift]int{sessions.NoDrift: 2, sessions.Drifted: 1, sessions.Mended: 1}; !maps.Equal(st.Drift, want) {
			t.Errorf("drift is %v", st.Drift)
		}
		if vault := st.Sites["vault"]; len(st.Sites) != 2 || vault == nil || vault.Readiness[sessions.NoReport] != 1 || st.Sites["shop"].Phases[control.PhaseHelp] != 1 {
			t.Errorf("sites are %+v", st.Sites)
		}
		if want := map[string]int{"web": 2, "db": 1}; !maps.Equal(st.Labels["role"], want) || st.Labels["place"]["Zürich"] != 1 {
			t.Errorf("labels are %v", st.Labels)
		}
		if st.States["pending"] != 1 || st.States["approved"] != 3 || st.Questions != 0 || st.Readiness[sessions.Ready] != 2 || st.Readiness[sessions.NotReady] != 1 {
			t.Errorf("it stands as %+v", st)
		}
		if round == 0 {
			must(t, w.sessions.Refresh(t.Context()))
		}
	}
	mine := read[api.FleetStatus](w, w.carol, "/v1/status?labels=true")
	if len(mine.Sites) != 1 || mine.Sites["shop"].Drift[sessions.Drifted] != 1 || mine.Labels["role"]["db"] != 0 || mine.States["pending"] != 0 || mine.Labels["role"]["web"] != 2 {
		t.Errorf("carol sees %+v", mine)
	}
	if st := read[api.FleetStatus](w, w.alice, "/v1/status"); st.Labels != nil {
		t.Error("labels are counted though nobody has asked")
	}
	st, err := w.client(w.alice).FleetStatus(t.Context(), client.StatusQuery{Select: "web*", Site: "shop", Labels: true})
	must(t, err)
	if st.Drift["mended"] != 1 || st.Sites["shop"] == nil || st.Sites["shop"].Readiness["ready"] != 2 || st.Labels["role"]["web"] != 2 || len(st.Labels["role"]) != 1 {
		t.Errorf("the client gets %+v", st)
	}
}
