package services

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/internal/services/demo"
	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server"
	"github.com/tenetcm/tenet/server/access"
)

// serveDemo runs a server with simulated machines.
func serveDemo(ctx context.Context, s *server.Server, c cli.ServerConfig, ready func(cli.ServerReady), log func(string)) error {
	var wait fault.Group
	defer wait.Wait()
	return s.Serve(ctx, func(r server.Ready) {
		d, shown, err := prepareDemo(r, c, log)
		if err != nil {
			log(err.Error())
			return
		}
		ready(shown)
		wait.Go(func() { d.Run(ctx) })
	})
}

// prepareDemo says what there is to see, and how.
func prepareDemo(r server.Ready, c cli.ServerConfig, log func(string)) (*demo.Demo, cli.ServerReady, error) {
	shown := cli.ServerReady{URL: r.URL, CADigest: r.Authority.String()}
	password, err := os.ReadFile(r.FirstFile)
	if err != nil {
		return nil, shown, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, shown, err
	}
	d := demo.New(demo.Options{URL: r.URL, Authority: r.Authority, Admin: access.FirstPerson, Password: strings.TrimSpace(string(password)),
		Dir: filepath.Join(dir, "demo"), Count: c.Demo, Version: version.String(), Log: log})
	shown.People = []cli.ServerPerson{{Name: access.FirstPerson, Password: strings.TrimSpace(string(password)), Does: "may do everything"}}
	for _, p := range d.People() {
		shown.People = append(shown.People, cli.ServerPerson(p))
	}
	shown.Demo = append([]string{"TENET_PASSWORD_FILE=" + r.FirstFile + " tenet login " + r.URL + " --name " + access.FirstPerson + " --ca-digest " + r.Authority.String()}, d.Try()...)
	return d, shown, d.Prepare()
}
