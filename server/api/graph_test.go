package api_test

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
)

// Whoever asks for a graph while others are read waits for a turn, and is told after a while that there was none.
func TestGraphsTakeTurns(t *testing.T) {
	deployments := startDeployments(t).service
	w := startHosts(t, func(_ *hostWorld, o *api.Options) { o.Deployments = deployments })
	w.api.SetPatience(10 * time.Millisecond)
	path := "/v1/hosts/" + string(w.join(w.token(), "web1")) + "/sites/shop/graph"
	for range 5 { // each gives its turn back
		w.wantProblem(w.ask("GET", path, w.alice, ""), 404, deploy.ErrNotFound)
	}
	done, err := w.api.TakeGraphs(t.Context())
	must(t, err)
	w.wantProblem(w.ask("GET", path, w.alice, ""), 429, access.CodeTooMany)
	done()
	w.wantProblem(w.ask("GET", path, w.alice, ""), 404, deploy.ErrNotFound)
}
