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

// peers is a site of n hosts, 100 files of which name all of them, in HCL or Starlark.
func peers(file string, n int) fstest.MapFS {
	var hcl strings.Builder
	for i := range n {
		fmt.Fprintf(&hcl, "host \"web%d\" {}\n", i)
	}
	for i := range 100 {
		fmt.Fprintf(&hcl, "file \"/etc/%d\" {\n  content = join(\",\", hosts(\"*\")[*].name)\n}\n", i)
	}
	star := fmt.Sprintf("[host(\"web%%d\" %% i) for i in range(%d)]\n", n) +
		"[file(\"/etc/%d\" % i, content = \",\".join([h[\"name\"] for h in hosts(\"*\")])) for i in range(100)]\n"
	return fstest.MapFS{file: {Data: []byte(map[string]string{"site.hcl": hcl.String(), "site.star": star}[file])}}
}

// BenchmarkPeers measures what one more host costs of 1,000 that name each other.
func BenchmarkPeers(b *testing.B) {
	for _, file := range []string{"site.hcl", "site.star"} {
		site, list := lang.Load(peers(file, 1000), lang.Options{Registry: registry()})
		if len(list) > 0 {
			b.Fatal(list.Error())
		}
		b.Run(file, func(b *testing.B) {
			for b.Loop() {
				if d, list := site.Evaluate(context.Background(), lang.Target{Host: "web7"}); len(list) > 0 || len(d.List) != 100 {
					b.Fatal(list.Error())
				}
			}
		})
	}
}

func BenchmarkHosts(b *testing.B) {
	for _, n := range []int{200, 2000} {
		site, list := lang.Load(manyHosts(n), lang.Options{Registry: registry()})
		if len(list) > 0 {
			b.Fatal(list.Error())
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, list := site.Evaluate(context.Background(), lang.Target{Host: "web7"}); len(list) > 0 {
					b.Fatal(list.Error())
				}
			}
		})
	}
}
