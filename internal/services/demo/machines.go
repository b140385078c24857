package demo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// workspaces is a folder on machines that build; on some of them something else is in its place.
const workspaces = "/srv/builds"

// warming is how long the shop takes to fill one of its caches.
const warming = 1500 * time.Millisecond

// newMachine makes a simulated machine: a Debian that has the packages of the sites to offer.
func newMachine(ctx context.Context, name string) (*host.Memory, error) {
	m := simulated.Machine{
		Name:  name,
		Files: identifying(name),
		Packages: map[string]simulated.Package{
			"chrony":     offered("4.3-2", "chrony", "/etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst\n"),
			"nginx":      offered("1.22.1-9", "nginx", "/etc/nginx/conf.d/.keep", ""),
			"haproxy":    offered("2.6.12-1", "haproxy", "/etc/haproxy/haproxy.cfg", "defaults\n  mode http\n"),
			"postgresql": offered("15+248", "postgresql", "/etc/postgresql/15/main/conf.d/.keep", ""),
			"git":        {Available: []string{"1:2.39.2-1.1"}},

			"prometheus-node-exporter": offered("1.5.0-1", "prometheus-node-exporter", "/etc/default/prometheus-node-exporter", "ARGS=\"\"\n"),
		},
		Commands: []simulated.Command{{Name: "nginx", Argv: []string{"nginx", "-t", "-q"}}, {Name: "haproxy", Argv: []string{"haproxy", "-c", "-f", simulated.AnyOne}}},
	}
	switch {
	case name == "build1":
		m.Files[workspaces] = simulated.File{Content: inTheWay}
	case kindOf(name) == "legacy":
		m.Files["/etc/motd"] = simulated.File{Content: "Please ask Walter before you change anything here.\n"}
	}
	h, err := simulated.New(ctx, m)
	if err != nil {
		return nil, err
	}
	h.Handle("shop", warm)
	return h, nil
}

// identifying are files by which facts tell one machine from another.
func identifying(name string) map[string]simulated.File {
	memory := map[string]int{"db": 64, "build": 32, "web": 8}[kindOf(name)]
	return map[string]simulated.File{
		"/etc/machine-id":                {Content: fmt.Sprintf("%x\n", sha256.Sum256([]byte(name)))[:33]},
		"/etc/timezone":                  {Content: "Europe/Berlin\n"},
		"/etc/resolv.conf":               {Content: "search example.test\nnameserver 198.51.100.253\n"},
		"/proc/meminfo":                  {Content: fmt.Sprintf("MemTotal: %d kB\n", max(memory, 4)<<20)},
		"/sys/class/dmi/id/sys_vendor":   {Content: "Example Metal\n"},
		"/sys/class/dmi/id/product_name": {Content: "EM-2 (simulated)\n"},
	}
}

// inTheWay is what stands where a directory ought to be.
const inTheWay = "the volume could not be mounted\n"

// offered is a package with a service and a file of its own.
func offered(version, service, file, text string) simulated.Package {
	return simulated.Package{Available: []string{version}, Services: []string{service}, Files: map[string]string{file: text}}
}

// warm is the program that fills a cache, which takes its time.
func warm(ctx context.Context, c host.Command) (host.Result, error) {
	select {
	case <-ctx.Done():
		return host.Result{}, context.Cause(ctx)
	case <-time.After(warming):
	}
	var text string
	for n := range 6 {
		text += fmt.Sprintf("GET /%s/%d  200  %d ms\n", path.Base(c.Argv[len(c.Argv)-1]), n+1, 40+(n*37)%90)
	}
	return host.Result{Stdout: []byte(text + "6 pages are warm\n")}, nil
}

// replaceFile puts a file in the place of another one, in one step.
func replaceFile(name, text string) error {
	return atomicfile.Replace(name, atomicfile.Options{}, atomicfile.Data([]byte(text)))
}
