package cli

import (
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

func TestRequiresVersion(t *testing.T) {
	for _, c := range []struct {
		constraint, program string
		right               bool
	}{
		{">= 0.2", "v0.2.0", true},
		{">= 0.2", "v0.1.9", false},
		{">= 0.2, < 1.0", "v0.10.3", true},
		{">= 0.2, < 1.0", "v1.0.0", false},
		{"0.2", "v0.2.0", true},
		{"0.2", "v0.2.1", false},
		{"!= 0.2.1", "v0.2.1", false},
		{"> 0.2.1", "v0.2.1", false},
		{"<= 0.2.1", "v0.2.1", true},
		{"~> 0.2", "v0.9.0", true},
		{"~> 0.2", "v1.0.0", false},
		{"~> 0.2.3", "v0.2.9", true},
		{"~> 0.2.3", "v0.3.0", false},
		{"~> 1", "v2.0.0", false},
		{">= 99", "devel", true},
		{">= 99", "v0.0.0-20261121100000-0123456789ab", true},
		{"soon", "v0.2.0", false},
		{">= 1.2.3.4", "devel", false},
	} {
		files := fstest.MapFS{"site.hcl": {Data: []byte("site {\n  requires_version = \"" + c.constraint + "\"\n}\n")}}
		site, list := lang.Load(files, lang.Options{Registry: modules.Standard()})
		if list.HasErrors() {
			t.Fatal(list)
		}
		list = rightVersion(site, c.program)
		if list.HasErrors() == c.right {
			t.Errorf("%q with %s: %v", c.constraint, c.program, list)
		}
		if !c.right && list[0].Range.Start.Line != 2 {
			t.Errorf("%q: the place is %s", c.constraint, list[0].Range)
		}
	}
}
