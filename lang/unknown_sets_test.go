package lang_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// Sets whose elements are known only on the host can be computed with, also where they stand
// beside a secret that is not opened, of which nothing is made.
func TestSetsOfResults(t *testing.T) {
	for _, set := range []string{`toset([fact.cpus, command.run.stdout])`, `local.beside[1]`, `local.within.set`, `local.within["set"]`} {
		for _, use := range []string{`template("text", { x = %s })`, `jsonencode(%s)`, `"${length(%s)}"`, `jsonencode([for x in %s : x])`, `"${can(%s)}${command.run.stdout}"`} {
			for _, hidden := range []bool{true, false} {
				content := fmt.Sprintf(use, set)
				site, list := lang.Load(fstest.MapFS{"text": {Data: []byte("${jsonencode(x)}\n")}, "site.hcl": {Data: []byte(`
locals {
  beside = [secret("db"), toset([command.run.stdout])]
  within = { secret = secret("db"), set = toset([command.run.stdout, "a"]) }
}
command "run" {
  argv = ["run"]
}
file "/f" {
  content = ` + content + `
}
`)}}, lang.Options{Registry: modules.Standard()})
				if _, more := site.Evaluate(context.Background(), lang.Target{Host: "web1", Facts: facts, SecretsHidden: hidden, Secrets: secrets("db=hunter22")}); list.HasErrors() || more.HasErrors() {
					t.Errorf("%s, hidden %v: %v", content, hidden, append(list, more...))
				}
			}
		}
	}
}
