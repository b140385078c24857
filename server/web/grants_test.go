package web

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// TestGrants checks that grants are read as they are shown, and that what is none is refused.
func TestGrants(t *testing.T) {
	grants, err := readGrants("read,plan web*,env=prod shop\n\n  deploy !web3\nadmin\n")
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"read web*,env=prod shop", "plan web*,env=prod shop", "deploy !web3 *", "admin * *"}
	if text := grantText(grants); text != strings.Join(wanted, "\n") {
		t.Errorf("they are shown as\n%s", text)
	}
	again, err := readGrants(grantText(grants))
	if err != nil || !reflect.DeepEqual(again, grants) {
		t.Errorf("what is shown is read as %v (%v)", again, err)
	}
	if lines := grantLines(grants); !reflect.DeepEqual(lines, []string{"read, plan on web*,env=prod of site shop", "deploy on !web3 of all sites", "admin on * of all sites"}) {
		t.Errorf("in words: %q", lines)
	}
	for _, text := range []string{"read web* shop bank", "read web*,, shop"} {
		if _, err := readGrants(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestMay checks the answer to "may this one do that?".
func TestMay(t *testing.T) {
	grants := []any{map[string]any{"verb": "deploy", "hosts": "role=db", "site": "shop", "source": "role operators"}}
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/people/eve": map[string]any{"name": "eve", "may": grants}, "/v1/sessions": list(),
		"/v1/hosts/db1": map[string]any{"id": strings.Repeat("a", 52), "name": "db1", "labels": map[string]string{"role": "db"}}})
	for _, c := range []struct{ verb, host, site, wanted string }{
		{"deploy", "db1", "shop", ">yes</span>"}, {"deploy", "db1", "bank", ">no</span>"}, {"exec", "db1", "shop", ">no</span>"}, {"deploy", "db2", "shop", ">no</span>"},
	} {
		body := request(p, "GET", "/people/eve?"+url.Values{"verb": {c.verb}, "host": {c.host}, "site": {c.site}}.Encode(), nil).Body.String()
		if !strings.Contains(body, c.wanted) || c.wanted == ">yes</span>" && !strings.Contains(body, "role operators") {
			t.Errorf("%s on %s for %s: not %s:\n%s", c.verb, c.host, c.site, c.wanted, body)
		}
	}
}
