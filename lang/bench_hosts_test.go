package lang_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

// manyHosts is a site with that many hosts, half of them in an inventory.
func manyHosts(n int) fstest.MapFS {
	var site, ini strings.Builder
	site.WriteString("inventory {\n  ansible = \"hosts.ini\"\n}\nrollout {\n  batch = \"10%\"\n  stage \"db\" {\n    hosts = \"@db\"\n  }\n}\n")
	ini.WriteString("[web]\n")
	for i := range n / 2 {
		fmt.Fprintf(&site, "host \"db%d\" {\n  address = \"10.0.0.%d\"\n  labels = { tier = \"db\" }\n  vars = { id = %d }\n}\n", i, i%250, i)
		fmt.Fprintf(&ini, "web%d ansible_host=10.1.0.%d id=%d a=1 b='x y' c=[1,2]\n", i, i%250, i)
	}
	site.WriteString("host_group \"db\" {\n  labels = { tier = \"db\" }\n  vars = { size = 2 }\n}\nhost_group \"web\" {\n  vars = { size = 3 }\n}\nhost_group \"all\" {\n  hosts = [\"*\"]\n  user = \"deploy\"\n}\n" +
		"variable \"id\" {\n  default = 0\n}\nvariable \"size\" {\n  default = 0\n}\nfile \"/etc/id\" {\n  content = \"${var.id} ${var.size}\"\n}\n")
	return fstest.MapFS{"site.hcl": {Data: []byte(site.String())}, "hosts.ini": {Data: []byte(ini.String())}}
}

func BenchmarkHosts(b *testing.B) {
	for _, n := range []int{200, 2000} {
		site, list := lang.Load(manyHosts(n), lang.Options{Registry: registry()})
		if len(list) > 0 {
			b.Fatal(list.Error())
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, list := site.For(context.Background(), lang.Target{Host: "web7"}); len(list) > 0 {
					b.Fatal(list.Error())
				}
			}
		})
	}
}
