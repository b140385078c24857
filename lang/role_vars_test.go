package lang_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// A host has the vars of its roles, whatever stands before them in the script.
func TestVarsOfARoleBehindTheHost(t *testing.T) {
	const before = "host(\"web1\", roles = [\"web\"])\nport = variable(\"port\", default = 1)\nif str(fact.os[\"family\"]) == \"none\":\n    fail(\"none\")\n"
	for rest, wrong := range map[string]string{
		`role("web", [print("p", message = "%s %s" % (port, host.vars["port"]))], vars = {"port": 8080})`:             "",
		"n = 8080\n" + `role("web", [print("p", message = "%s %s" % (port, host.vars["port"]))], vars = {"port": n})`: `the vars of role "web" are computed after what depends on the host itself`,
	} {
		site, _ := lang.Load(fstest.MapFS{"site.star": {Data: []byte(before + rest + "\n")}}, lang.Options{Registry: modules.Standard()})
		d, list := site.Evaluate(t.Context(), lang.Target{Host: "web1", Facts: facts})
		switch {
		case wrong != "":
			if !strings.Contains(list.Error(), wrong) {
				t.Errorf("%s: %s", rest, list.Error())
			}
		case list.HasErrors():
			t.Errorf("%s: %s", rest, list.Error())
		case d.List[0].Parts[0].Values["message"] != "8080 8080":
			t.Errorf("%s gives %v", rest, d.List[0].Parts[0].Values)
		}
	}
}
