package api_test

import (
	"encoding/json"
	"testing"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// Keys come and go by the next document, which a host accepts that has the first; only who administers everything does that.
func TestTrustOverHTTP(t *testing.T) {
	w := startHosts(t)
	host, err := trust.ParseChain(w.authority.Chain().Signed())
	must(t, err)
	key, err := trust.GenerateKey()
	must(t, err)
	trusted := func(r reply) (out api.Trusted) {
		t.Helper()
		if r.status != 200 {
			t.Fatal(r)
		}
		must(t, json.Unmarshal([]byte(r.text), &out))
		return out
	}
	name := `"key":"` + key.Public().String() + `"`
	if d := trusted(w.ask("POST", "/v1/trust/keys", w.alice, `{`+name+`,"name":"alice","verbs":["assign","trust"],"reason":"signs"}`)); d.Number != 2 || len(d.Keys) != 2 {
		t.Errorf("%+v", d)
	}
	if d := trusted(w.ask("POST", "/v1/trust/rotate", w.alice, `{"what":"authority"}`)); d.Number != 3 || len(d.Authorities) != 2 {
		t.Errorf("%+v", d)
	}
	if d := trusted(w.ask("POST", "/v1/trust/retire", w.alice, `{}`)); len(d.Authorities) != 1 {
		t.Errorf("%+v", d)
	}
	trusted(w.ask("POST", "/v1/trust/rotate", w.alice, `{"what":"key"}`))
	own := *w.authority.Chain().Newest()
	own.Number++
	signed, err := trust.Sign(trust.KindDocument, own, key)
	must(t, err)
	document, err := json.Marshal(map[string]any{"document": signed})
	must(t, err)
	if d := trusted(w.ask("POST", "/v1/trust/documents", w.alice, string(document))); d.Number != own.Number {
		t.Errorf("%+v", d)
	}
	if d := trusted(w.ask("POST", "/v1/trust/keys/remove", w.alice, `{`+name+`}`)); len(d.Keys) != 1 {
		t.Errorf("%+v", d)
	}
	w.wantProblem(w.ask("POST", "/v1/trust/keys/remove", w.alice, `{`+name+`}`), 404, access.CodeNotFound)
	own.Number += 2
	forged, err := trust.Sign(trust.KindDocument, own, key)
	must(t, err)
	document, err = json.Marshal(map[string]any{"document": forged})
	must(t, err)
	w.wantProblem(w.ask("POST", "/v1/trust/documents", w.alice, string(document)), 400, access.CodeInvalid)
	w.wantProblem(w.ask("POST", "/v1/trust/keys", w.alice, `{"key":"`+own.Recovery.String()+`","name":"x","verbs":["exec"]}`), 400, access.CodeInvalid)
	w.wantProblem(w.ask("POST", "/v1/trust/keys", w.bob, `{`+name+`,"name":"bob","verbs":["assign"]}`), 403, access.CodeForbidden)

	var list struct{ Items []*trust.Signed }
	must(t, json.Unmarshal([]byte(w.ask("GET", "/v1/trust/documents", w.alice, "").text), &list))
	for _, s := range list.Items[1:] {
		must(t, host.Add(s))
	}
	if d := trusted(w.ask("GET", "/v1/trust", w.alice, "")); d.Number != host.Newest().Number || len(list.Items) != 7 {
		t.Errorf("%+v, %d documents", d, len(list.Items))
	}
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}
