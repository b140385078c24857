package api_test

import (
	"net/http"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/deploy"
)

// Who administers all sets the policy of a site, with a reason; deployments wait for an approval then, whatever is asked for.
func TestSitePolicy(t *testing.T) {
	w := startDeployments(t)
	alice := w.client(w.alice)
	must(t, err2(alice.Upload(t.Context(), "shop", []byte(packed(t, "site.hcl")), "")))
	w.wantProblem(w.ask("PUT", "/v1/sites/shop/policy", w.carol, `{"approvals":true,"reason":"so"}`), http.StatusForbidden, access.CodeForbidden)
	w.wantProblem(w.ask("PUT", "/v1/sites/shop/policy", w.alice, `{"approvals":true}`), http.StatusUnprocessableEntity, access.CodeInvalid)
	if p, err := alice.Policy(t.Context(), "shop"); err != nil || p.Demands != (client.Demands{}) || p.At != nil {
		t.Errorf("before it is set: %+v, %v", p, err)
	}
	p, err := alice.SetPolicy(t.Context(), "*", client.Demands{Approvals: true}, "two see more than one")
	if err != nil || !p.Approvals || p.By != "alice" || p.Reason != "two see more than one" || p.At == nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := alice.Policy(t.Context(), "shop"); err != nil || p.Approvals || !p.Demanded.Approvals {
		t.Errorf("of one site, where all have one: %+v, %v", p, err)
	}
	d, err := alice.Deploy(t.Context(), client.DeployRequest{Site: "shop"})
	if err != nil || d.Consent != string(deploy.Approval) {
		t.Errorf("a deployment without a consent is %+v, %v", d, err)
	}
	w.wantProblem(w.ask("POST", "/v1/sites/shop/rollback", w.alice, `{"hosts":"none"}`), http.StatusNotFound, deploy.ErrNotFound)
}
