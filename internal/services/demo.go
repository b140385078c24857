package services

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/server"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
)

// demo is simulated machines with real agents: they join, get a site, drift, and one of them fails.
type demo struct {
	server *server.Server
	dir    string
	count  int
	log    func(string)
	hosts  []*host.Memory
}

// What happens in a demo, and when.
const (
	demoPoll  = 20 * time.Second // how often agents look at their machines
	demoRetry = 300 * time.Millisecond
	demoDrift = 15 * time.Second // how often somebody changes one of them
	demoPage  = "/srv/shop/index.html"
)

// name names the machine with a number, from 1.
func (d *demo) name(n int) string { return fmt.Sprintf("web%d", n) }

// failing is the number of the machine that cannot be brought into the state: something is in the way there.
func (d *demo) failing() int { return min(7, d.count) }

// prepare writes the site, and what can be tried with it.
func (d *demo) prepare(r server.Ready) ([]string, error) {
	site := filepath.Join(d.dir, "site")
	if err := os.Mkdir(site, 0o700); err != nil {
		return nil, err
	}
	for name, text := range d.site() {
		if err := os.WriteFile(filepath.Join(site, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	in := "-i " + site
	return []string{
		"TENET_PASSWORD_FILE=" + r.FirstFile + " tenet login " + r.URL + " --name admin --ca-digest " + r.Authority.String(),
		"tenet host status",
		"tenet host list --phase help",
		"tenet deployments",
		"tenet ping " + in,
		"tenet status " + in + " -l web1",
		"tenet logs " + in + " -l " + d.name(d.failing()),
		"tenet plan " + site + " --var greeting=Hi -l web1,web2",
		"tenet deploy " + site,
		"tenet audit list",
	}, nil
}

// site gives the files of the site.
func (d *demo) site() map[string]string {
	var b strings.Builder
	b.WriteString("site {\n  name = \"shop\"\n}\n\nvariable \"greeting\" {\n  default = \"Hello\"\n}\n\n")
	for n := range d.count {
		fmt.Fprintf(&b, "host %q {\n  executor = \"agent\"\n}\n\n", d.name(n+1))
	}
	b.WriteString("rollout {\n  batch        = [2, \"50%\"]\n  max_failures = 2\n}\n\n")
	b.WriteString(`state "page" {
  directory "shop" {
    path = "/srv/shop"
  }
  file "page" {
    path    = "` + demoPage + `"
    content = "${var.greeting} from ${fact.hostname}\n"
    require = [directory.shop]
  }
}
`)
	return map[string]string{"site.hcl": b.String()}
}

// run has machines join, deploys the site, and has machines drift, until the context ends.
func (d *demo) run(ctx context.Context) error {
	var wait fault.Group
	defer wait.Wait()
	for n := range d.count {
		if err := d.add(ctx, &wait, n+1); err != nil {
			return fmt.Errorf("%s: %w", d.name(n+1), err)
		}
	}
	if err := d.deploy(ctx); err != nil {
		return err
	}
	return d.drift(ctx)
}

// add makes a machine, has it join, and runs its agent.
func (d *demo) add(ctx context.Context, wait *fault.Group, n int) error {
	m := simulated.Machine{Name: d.name(n)}
	if n == d.failing() {
		m.Files = map[string]simulated.File{"/srv/shop": {Content: "something is in the way\n"}}
	}
	h, err := simulated.New(ctx, m)
	if err != nil {
		return err
	}
	d.hosts = append(d.hosts, h)
	token, _, err := d.server.Hosts.NewToken(ctx, enroll.By{Actor: access.Server, Reason: "a demo"}, enroll.NewToken{Auto: true, Names: d.name(n)})
	if err != nil {
		return err
	}
	state := filepath.Join(d.dir, "hosts", d.name(n))
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	i, err := daemon.Join(ctx, state, token, identity.Joining{Name: d.name(n)})
	if err != nil {
		return err
	}
	if err := i.Close(); err != nil {
		return err
	}
	wait.Go(func() {
		err := daemon.Run(ctx, daemon.Options{StateDir: state, Host: h, Registry: modules.Standard(), Version: version.String(), Volatile: true, Poll: demoPoll, Retry: demoRetry,
			Log: func(text string) { d.log(d.name(n) + ": " + text) }})
		if err != nil && ctx.Err() == nil {
			d.log(d.name(n) + ": " + err.Error())
		}
	})
	return nil
}

// deploy deploys the site, as the person who administers the server would.
func (d *demo) deploy(ctx context.Context) error {
	by := &access.Caller{Name: access.FirstPerson, Kind: access.Person, Grants: access.AllGrants()}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, text := range d.site() {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	r, err := d.server.Deployments.Upload(ctx, by, "shop", &archive, "the first pages")
	if err != nil {
		return err
	}
	_, err = d.server.Deployments.Create(ctx, by, deploy.Request{Site: "shop", Revision: r.Number, Message: "the first pages"})
	return err
}

// drift has somebody change a page now and then: the agent of that machine mends it when it looks again.
func (d *demo) drift(ctx context.Context) error {
	ticker := time.NewTicker(demoDrift)
	defer ticker.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		h := d.hosts[turn%len(d.hosts)]
		if !simulated.Exists(h, demoPage) {
			continue // it has no page yet
		}
		if err := simulated.WriteFile(ctx, h, demoPage, "somebody was here\n", host.Meta{}); err != nil {
			return err
		}
	}
}

// serveDemo runs a server with simulated machines.
func serveDemo(ctx context.Context, s *server.Server, c cli.ServerConfig, ready func(cli.ServerReady), log func(string)) error {
	d := &demo{server: s, dir: c.Dir, count: c.Demo, log: log}
	var wait fault.Group
	defer wait.Wait()
	return s.Serve(ctx, func(r server.Ready) {
		try, err := d.prepare(r)
		if err != nil {
			log(err.Error())
			return
		}
		ready(cli.ServerReady{URL: r.URL, CADigest: r.Authority.String(), Demo: try})
		wait.Go(func() {
			if err := d.run(ctx); err != nil && ctx.Err() == nil {
				log(err.Error())
			}
		})
	})
}
