package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
)

// ask has somebody ask a host something by the API.
func ask[T any](t *testing.T, c *client.Client, method, what string, body any) (T, error) {
	t.Helper()
	return client.Call[T](t.Context(), c, method, "/v1/hosts/web1/"+what, nil, body)
}

// holdAnswer is what the operations of holds answer.
type holdAnswer struct {
	Hold *struct{ Reason, By string }
}

// A host answers who may ask it, what changes something takes the grant to deploy and is in the audit with its reason, and the host does it.
func TestAskHost(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	reads, deploys, none := b.person("rita", "read@web*"), b.person("dora", "read@web*", "deploy@web*"), b.person("nora", "read@db*", "deploy@db*")
	pong, err := ask[api.Pong](t, reads, http.MethodPost, "ping", nil)
	must(t, err)
	if pong.Program == "" || pong.OS != "linux" || pong.User == "" || pong.Clock > 5 || pong.Clock < -5 {
		t.Errorf("the answer is %+v", pong)
	}
	for what, body := range map[string]any{"hold": map[string]any{"reason": "no"}, "release": map[string]any{}, "retry": map[string]any{}} {
		if _, err := ask[any](t, reads, http.MethodPost, what, body); diag.CodeOf(err) != access.CodeForbidden {
			t.Errorf("who may read alone asks for %s: %v", what, err)
		}
		if _, err := ask[any](t, none, http.MethodPost, what, body); diag.CodeOf(err) != access.CodeNotFound {
			t.Errorf("who may not read the host asks for %s: %v", what, err)
		}
	}
	now := func() *api.HostNow {
		n, err := ask[*api.HostNow](t, reads, http.MethodGet, "now", nil)
		must(t, err)
		return n
	}
	if n := now(); n.Hold != nil || n.Owed == nil {
		t.Errorf("at first: %+v", n)
	}
	_, err = ask[holdAnswer](t, deploys, http.MethodPost, "hold", map[string]any{"reason": "the disk is moved", "seconds": 3600})
	must(t, err)
	if n := now(); n.Hold == nil || n.Hold.Reason != "the disk is moved" || n.Hold.Until.IsZero() || !strings.Contains(n.Hold.By, "dora") {
		t.Errorf("held: %+v", n.Hold)
	}
	was, err := ask[holdAnswer](t, deploys, http.MethodPost, "release", map[string]any{"reason": "it was moved"})
	must(t, err)
	if n := now(); n.Hold != nil || was.Hold == nil || was.Hold.Reason != "the disk is moved" {
		t.Errorf("released: %+v, %+v", n.Hold, was)
	}
	_, err = ask[any](t, deploys, http.MethodPost, "retry", map[string]any{"reason": "again"})
	must(t, err)
	reasons := []string{}
	for e, err := range b.person("auda", "admin@*").Audit(t.Context(), client.AuditFilter{Action: "host.request"}) {
		must(t, err)
		reasons = append(reasons, e.Actor+" "+e.Detail["operation"]+": "+e.Reason)
	}
	if got := strings.Join(reasons, "; "); got != "dora retry: again; dora release: it was moved; dora hold: the disk is moved" {
		t.Errorf("the audit has %s", got)
	}
}
