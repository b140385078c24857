package cli_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// servePeople is a server with the person alice, whose password is in the file "password", and an
// API for people and the audit; with the argument "hosts" there are hosts that ask to be taken in, with "drift" hosts that are asked what differs, with another one it has bob, too, and deploys sites. Its URL is in the file "url", and the digest of its CA in "ca".
func servePeople() {
	if err := servesPeople(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func servesPeople() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp(".", "server")
	if err != nil {
		return err
	}
	engine, err := sqlite.Open(ctx, dir)
	if err != nil {
		return err
	}
	s, err := store.New(ctx, engine, store.Options{Migrations: append(slices.Concat(authority.Migrations(), access.Migrations(), enroll.Migrations(), deploy.Migrations()), deploy.PlanMigration(), deploy.ClusterMigration(), deploy.OutlineMigration(), deploy.MembersMigration(), deploy.VersionMigration(), deploy.PolicyMigration(), deploy.ClassMigration(), enroll.ForgetMigration())})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Campaign(ctx); err != nil {
		return err
	}
	people := access.NewDirectory(s, access.Options{Cost: access.Cost{Time: 1, Memory: 64, Threads: 1}})
	password, err := os.ReadFile("password")
	if err != nil {
		return err
	}
	all := access.AllGrants()
	root := &access.Caller{Name: "server", Kind: access.Person, Grants: all}
	if err := people.AddPerson(ctx, root, "alice", access.PersonChange{Password: new(strings.TrimSpace(string(password))), Grants: &all, Reason: "the first"}); err != nil {
		return err
	}
	o := api.Options{People: people}
	switch {
	case len(os.Args) > 1 && os.Args[1] == "hosts":
		if o.Hosts, o.Authority, err = pendingHosts(ctx, s, dir); err != nil {
			return err
		}
	case len(os.Args) > 1 && os.Args[1] != "drift": // the script deploys
		if err := people.AddPerson(ctx, root, "bob", access.PersonChange{Password: new(strings.TrimSpace(string(password))), Grants: &all}); err != nil {
			return err
		}
		if o.Deployments, err = deployments(ctx, s); err != nil {
			return err
		}
	}
	handler := api.New(o).Handler()
	if len(os.Args) > 1 && os.Args[1] == "drift" {
		handler = answerDrift(handler)
	}
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	for name, text := range map[string]string{"ca": trust.DigestOf(server.Certificate().Raw).String(), "url.new": server.URL} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename("url.new", "url"); err != nil { // last: the script waits for it
		return err
	}
	<-ctx.Done()
	return nil
}
