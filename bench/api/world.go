package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/broker/memory"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// world is a server without agents: its store, and the API on it.
type world struct {
	sizes
	store     *store.Store
	authority *authority.Authority
	people    *access.Directory
	registry  *enroll.Registry
	sessions  *sessions.Sessions
	service   *deploy.Service
	api       *api.API
	fleet     *fleet
	faults    []error
	closers   []func() error
}

func (w *world) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		if err := w.closers[i](); err != nil {
			fmt.Fprintln(os.Stderr, "api:", err)
		}
	}
}

const password = "correct horse battery"

// open opens a store, fills it if it is new, and opens what is on it.
func open(ctx context.Context, dir string, size sizes) (w *world, err error) {
	w = &world{sizes: size}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, name := range []string{"store", "keys", "contents", "sites"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return w, err
		}
	}
	engine, err := sqlite.Open(ctx, filepath.Join(dir, "store"))
	if err != nil {
		return w, err
	}
	if w.store, err = store.New(ctx, engine, store.Options{Migrations: server.Migrations()}); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.store.Close)
	if _, err := w.store.Campaign(ctx); err != nil {
		return w, err
	}
	if w.authority, err = authority.Open(ctx, filepath.Join(dir, "keys"), w.store, authority.Options{Recovery: func(string) error { return nil }}); err != nil {
		return w, err
	}
	folder, err := contents.OpenFolder(filepath.Join(dir, "contents"))
	if err != nil {
		return w, err
	}
	w.closers = append(w.closers, folder.Close)
	w.people = access.NewDirectory(w.store, access.Options{Cost: access.Cost{Time: 1, Memory: 64, Threads: 1}})
	w.fleet = &fleet{hosts: size.hosts}
	w.service = deploy.New(deploy.Options{Store: w.store, Contents: folder, Dir: filepath.Join(dir, "sites"), Hosts: w.fleet, Seen: w.fleet, Targets: w.fleet, Planner: w.fleet, Evaluate: w.fleet})
	if err := w.fillOnce(ctx, filepath.Join(dir, "filled")); err != nil {
		return w, err
	}
	if err := w.fleet.read(ctx, w.store); err != nil {
		return w, err
	}
	if w.registry, err = enroll.Open(ctx, w.store, w.authority, folder, enroll.Options{Addresses: []string{"https://tenet.example.org"}}); err != nil {
		return w, err
	}
	w.sessions, err = sessions.Open(ctx, sessions.Options{Store: w.store, Broker: memory.New(), Hosts: w.registry, Signer: w.authority, Term: 1})
	if err != nil {
		return w, err
	}
	w.api = api.New(api.Options{People: w.people, Hosts: w.registry, Authority: w.authority, Sessions: w.sessions, Deployments: w.service, Version: "bench",
		OnFault: func(_ string, err error) { w.faults = append(w.faults, err) }})
	return w, nil
}

// fillOnce fills the store, unless a file says that it is filled.
func (w *world) fillOnce(ctx context.Context, mark string) error {
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	for _, step := range []func(context.Context) error{w.addPeople, w.addHosts, w.addRuns, w.addLines, w.addDeployments} {
		begin := time.Now()
		if err := step(ctx); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "a step of filling took %s\n", time.Since(begin).Round(time.Millisecond))
	}
	return os.WriteFile(mark, nil, 0o600)
}

// addPeople makes an administrator, one who reads a tenth of the hosts for one site, and one who reads a few.
func (w *world) addPeople(ctx context.Context) error {
	root := &access.Caller{Name: "server", Kind: access.Person, Grants: access.AllGrants()}
	read := func(hosts, site string) []access.Grant {
		selector, err := access.ParseSelector(hosts)
		if err != nil {
			panic(err)
		}
		return []access.Grant{{Verb: access.Read, Hosts: selector, Site: site}, {Verb: access.Deploy, Hosts: selector, Site: site}}
	}
	var errs []error
	for name, grants := range map[string][]access.Grant{"admin": access.AllGrants(), "tenth": read("zone=z3", "shop"), "few": read("host-0001*", access.All)} {
		errs = append(errs, w.people.AddPerson(ctx, root, name, access.PersonChange{Password: new(password), Grants: &grants}))
	}
	return errors.Join(errs...)
}

// inPieces writes many rows, some at a time.
func (w *world) inPieces(ctx context.Context, n int, each func(tx store.Tx, i int) error) error {
	const piece = 5000
	for from := 0; from < n; from += piece {
		if err := w.store.Write(ctx, func(tx store.Tx) error {
			for i := from; i < min(n, from+piece); i++ {
				if err := each(tx, i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func hostName(i int) string { return fmt.Sprintf("host-%05d", i) }

func labelsOf(i int) map[string]string {
	return map[string]string{"zone": fmt.Sprint("z", i%10), "role": []string{"web", "db", "cache", "queue"}[i%4], "serial": fmt.Sprint("S", i)}
}

func sitesOf(i int) []string { return slices.Clone([]string{"shop", "base"})[:1+i%2] }

// ids reads the ids of hosts, by their names.
func ids(ctx context.Context, s *store.Store) (list []trust.ID, err error) {
	return list, s.Read(ctx, func(r store.Reader) error {
		list = nil
		return r.Query(`SELECT id FROM enroll_hosts ORDER BY name`, nil, func(row store.Row) error {
			var id string
			err := row.Scan(&id)
			list = append(list, trust.ID(id))
			return err
		})
	})
}
