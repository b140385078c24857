// Package demo shows a server with simulated machines: it is a client of that server, by which people and a program act, and runs an agent for
// each machine. Nothing of what is seen is made up: whatever stands there was asked for, and came about, as with real machines.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
)

// Options say what is shown. All but Log are required.
type Options struct {
	URL       string // of the server
	Authority trust.Digest
	Admin     string // who may do everything, with the password
	Password  string
	Dir       string // for what agents, sites and logins need: a folder that is empty
	Count     int    // of machines
	Version   string // of the agents
	Log       func(text string)
}

// Person is somebody by whom one can log in.
type Person struct{ Name, Password, Does string }

// Demo is what is shown.
type Demo struct {
	Options
	machines []machine
	people   []Person
	agents   map[string]*agent
	isSetUp  bool // people and machines are there

	away []*agent // that do not run, who left first at the front

	group   fault.Group
	mu      sync.Mutex
	clients map[string]*client.Client
	counts  map[string]int // how often each thing has happened by now
}

// New prepares what is shown, and does nothing yet.
func New(o Options) *Demo {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	d := &Demo{Options: o, machines: machinesFor(o.Count), agents: map[string]*agent{}, clients: map[string]*client.Client{}, counts: map[string]int{}}
	for _, p := range cast() {
		p.Password = strings.ToLower(rand.Text()[:16])
		d.people = append(d.people, p)
	}
	return d
}

// People are those by whom one can log in, besides the one who may do everything.
func (d *Demo) People() []Person { return d.people }

// Try gives commands that show something, once somebody is logged in.
func (d *Demo) Try() []string {
	shop := d.siteDir("shop")
	in := " -i " + shop
	return []string{
		"tenet host status",
		"tenet host list --phase help",
		"tenet deployments",
		"tenet ping" + in,
		"tenet status" + in + " -l web1",
		"tenet logs" + in + " -l web1",
		"tenet plan " + shop + " --var release=5.0.0 -l web1",
		"tenet deploy " + shop,
		"tenet server source list",
		"tenet audit list",
	}
}

func (d *Demo) siteDir(site string) string { return filepath.Join(d.Dir, "sites", site) }

// Prepare writes the sites that can be tried.
func (d *Demo) Prepare() error {
	for _, site := range []string{"base", "shop", "metrics", "builds", "lab"} {
		if len(named(d.machines, kindsOf(site)...)) == 0 {
			continue
		}
		f, err := revision(site, 1, d.machines)
		if err == nil {
			err = f.write(d.siteDir(site))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Run shows it until the context ends: first how it all stands, then what happens now and then. What cannot be shown is told to Log.
func (d *Demo) Run(ctx context.Context) {
	defer d.group.Wait()
	err := d.setUp(ctx)
	if err == nil {
		err = d.begin(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		d.Log("not all of the demo is there: " + err.Error())
	}
	if d.isSetUp {
		d.goOn(ctx)
	}
}

// setUp adds people and machines.
func (d *Demo) setUp(ctx context.Context) error {
	admin, err := d.logIn(ctx, client.Credentials{Name: d.Admin, Password: d.Password})
	if err != nil {
		return err
	}
	d.set(d.Admin, admin)
	err = together(
		func() error { return d.addPeople(ctx) },
		func() error { return d.addMachines(ctx) },
	)
	d.isSetUp = err == nil
	return err
}

// begin brings everything to where it is of interest.
func (d *Demo) begin(ctx context.Context) error {
	return together(
		func() error { return d.beginBase(ctx) },
		func() error { return d.beginShop(ctx) },
		func() error { return d.beginBuilds(ctx) },
		func() error { return d.beginMetrics(ctx) },
		func() error { return d.beginLab(ctx) },
		func() error { return d.beginStatus(ctx) },
		func() error { return d.addQuestions(ctx) },
	)
}

// together does several things at once, and gives the errors of all.
func together(all ...func() error) error {
	errs := make([]error, len(all))
	var wait fault.Group
	for i, do := range all {
		wait.Go(func() { errs[i] = do() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// What is polled, and for how long.
const (
	lookEvery = 150 * time.Millisecond
	patience  = 5 * time.Minute
)

// await waits until something is so. The machine may be a slow one, or busy.
func await(ctx context.Context, what string, is func() (bool, error)) error {
	limit := time.Now().Add(patience)
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%s: it is not so after %v", what, patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}
