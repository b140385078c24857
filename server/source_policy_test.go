package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/follow"
)

// What a source brings to a site whose policy has an operator sign waits, and says for what; nothing of it is deployed. Once the policy is lifted it is, when it is looked at again.
func TestSourceAwaitsSignature(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	first := p.deployOpen("", client.DeployRequest{})
	p.awaitPhase(first.ID, "it is done", isDone)
	demand := func(signed bool) {
		t.Helper()
		must(t, err2(p.Deployments.SetPolicy(t.Context(), p.root, deploy.Policy{Site: "shop", Signed: signed, Why: "so it is"})))
	}
	demand(true)
	dir := t.TempDir()
	for name, text := range p.files("") {
		if name == "site.hcl" {
			text = fmt.Sprintf(openSite, `file "/etc/followed" { content = "new" }`)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must(t, p.Sources.Add(t.Context(), p.root, follow.Source{Name: "shop", Site: "shop", Address: dir}, ""))
	stands := func() *follow.Status {
		t.Helper()
		one, err := p.Sources.Get(t.Context(), p.root, "shop")
		must(t, err)
		return one
	}
	p.await("the source tells of its revision", func() bool { return len(stands().Report.Components) > 0 })
	now := stands()
	if c := now.Report.Components[0]; now.Report.Phase != source.Pending || !strings.Contains(c.Reason+c.Message, "an operator") || now.Deployment != 0 {
		t.Errorf("it stands as %+v, by the deployment %d", now.Report, now.Deployment)
	}
	for d, err := range p.ops.Deployments(t.Context(), "shop") {
		if must(t, err); d.ID != first.ID {
			t.Errorf("there is the deployment %d by %s", d.ID, d.By)
		}
	}
	demand(false)
	must(t, p.Sources.Look(t.Context(), p.root, "shop"))
	p.await("it is deployed", func() bool { return stands().Deployment == first.ID+1 })
}
