package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/compose"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// margoFlags are for a device of a fleet manager of Margo.
type margoFlags struct {
	Margo      string `help:"With margo+https://…: folder that says who the device is: cert.pem, key.pem, bundle.pem and capabilities.yaml." default:"/etc/tenet/margo" placeholder:"DIR"`
	Compose    string `help:"With margo+https://…: the program that has Compose's commands: \"docker compose\", \"podman compose\", podman-compose." default:"docker compose" placeholder:"PROGRAM"`
	Workloads  string `help:"With margo+https://…: folder in which each component of a deployment has its own." default:"/var/lib/margo" placeholder:"DIR"`
	Poll       *span  `help:"With git::… and margo+https://…: time between two looks (default: 5m, and 1m)." placeholder:"DURATION"`
	Unregister bool   `help:"With margo+https://…: take the device away from the manager, and end. What runs stays."`
}

const margoScheme = "margo+"

// isDevice tells whether a manager says what is wanted.
func (cmd *watchCmd) isDevice() bool { return strings.HasPrefix(cmd.Site, margoScheme) }

// check refuses flags that do not fit together.
func (f *margoFlags) check(cmd *watchCmd) error {
	switch {
	case !cmd.isDevice() && f.Unregister:
		return usage("the site is margo+https://HOST", "--unregister is for a device of Margo")
	case !cmd.isDevice() && !cmd.isFollowed() && f.Poll != nil:
		return usage("the site is git::URL, or margo+https://HOST", "--poll is for what is followed")
	case f.Poll != nil && *f.Poll <= 0:
		return usage("", "--poll is a time above zero")
	case !cmd.isDevice():
		return nil
	case cmd.PlanOnly:
		return usage("leave it out", "a device of Margo is told what to apply: there is no --plan-only")
	case cmd.Prune:
		return usage("leave it out", "a device of Margo removes what its manager names no more: there is no --prune")
	}
	return nil
}

// deviceWatch is a watch of which a manager says what is wanted: it makes a site of that.
type deviceWatch struct {
	*watcher
	device   *margo.Device
	packages *compose.Store
	options  compose.Options
	dir      string // of its records
	count    int    // of rounds
	progress *compose.Progress
	tell     func(margo.Progress) error // while the device has something applied
	failed   error                      // of what was told
}

// device is the loop of a device.
func (cmd *watchCmd) device(ctx context.Context, s *client, now <-chan struct{}) (err error) {
	d := &deviceWatch{watcher: &watcher{client: s, cmd: cmd}, progress: compose.NewProgress(nil)}
	if err := d.openDevice(); err != nil {
		return failure(err)
	}
	if cmd.Unregister {
		return failure(d.device.Unregister(ctx))
	}
	address := cmd.Site
	cmd.Site = filepath.Join(d.dir, "site")
	defer func() { cmd.Site = address }()
	if err := d.prepare(); err != nil {
		return failure(err)
	}
	s.lockTimeout = time.Duration(cmd.LockTimeout)
	s.shownDiagnostics, s.evaluation = &shownDiagnostics{}, &lastEvaluation{now: time.Now}
	d.listen = d.hear
	if err := d.open(); err != nil {
		return failure(err)
	}
	defer func() { err = errors.Join(err, failure(d.loop.Close())) }()
	if err := d.begin(); err != nil {
		return failure(err)
	}
	return d.run(ctx, now)
}

// openDevice reads who the device is, and takes it up where it was.
func (d *deviceWatch) openDevice() error {
	cmd := d.cmd
	dir, err := d.stateDir()
	if err == nil {
		err = journal.MakeFolder(dir)
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(cmd.Site))
	d.dir = filepath.Join(dir, "margo", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Join(d.dir, "site"), 0o700); err != nil {
		return err
	}
	name := filepath.Join(cmd.Margo, "capabilities.yaml")
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	capabilities, err := rc2.ReadCapabilities(name, data)
	if err != nil {
		return err
	}
	d.options = compose.Options{Program: strings.Fields(cmd.Compose), Directory: cmd.Workloads}
	d.packages = &compose.Store{Dir: filepath.Join(d.dir, "packages"), Client: &oci.Client{CredentialFiles: oci.CredentialFiles(d.getenv)}}
	c := margo.Config{
		Manager: cmd.Site, Folder: d.dir, Capabilities: capabilities, Applier: d, Judge: compose.Judge, Tell: d.show,
		Files: margo.Files{Certificate: filepath.Join(cmd.Margo, "cert.pem"), Key: filepath.Join(cmd.Margo, "key.pem"), Bundle: filepath.Join(cmd.Margo, "bundle.pem")},
	}
	if cmd.Poll != nil {
		c.Interval = time.Duration(*cmd.Poll)
	}
	d.device, err = margo.Open(c)
	return err
}

// prepare makes the site that was, or an empty one: it is looked after also while the manager is away.
func (d *deviceWatch) prepare() error {
	name := d.siteFile()
	if _, err := os.Stat(name); err == nil {
		wanted, err := d.device.Wanted()
		if err != nil {
			return err
		}
		var all []compose.Deployment
		for _, w := range wanted {
			all = append(all, compose.Deployment{Wanted: w})
		}
		d.progress = compose.NewProgress(all)
		return nil
	}
	return d.write(compose.Site(nil, d.options))
}

func (d *deviceWatch) siteFile() string { return filepath.Join(d.dir, "site", "site.hcl") }

func (d *deviceWatch) write(text []byte) error {
	return atomicfile.Replace(d.siteFile(), atomicfile.Options{Durable: true}, atomicfile.Data(text))
}

// run has the device do what is due, and looks after the site in between.
func (d *deviceWatch) run(ctx context.Context, now <-chan struct{}) error {
	for n := 1; ; n++ {
		err := d.device.Turn(ctx)
		if next := d.loop.Next(); err == nil && !next.IsZero() && time.Until(next) <= 0 {
			err = d.turnSite(ctx)
		}
		if err != nil {
			if errors.Is(err, ctx.Err()) { // between two rounds: a clean end
				return nil
			}
			return failure(err)
		}
		if n == d.cmd.Rounds {
			break
		}
		if !d.await(ctx, now) {
			return nil
		}
	}
	if d.last != exitDone {
		return &status{code: d.last}
	}
	return nil
}

// await waits for what is due next; false: the context has ended.
func (d *deviceWatch) await(ctx context.Context, now <-chan struct{}) bool {
	left := min(time.Until(d.device.Next()), markEvery)
	if next := d.loop.Next(); !next.IsZero() {
		left = min(left, time.Until(next))
	}
	timer := time.NewTimer(max(left, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-now:
		if err := d.loop.Again(); err != nil {
			d.report(failure(err))
		}
	}
	return ctx.Err() == nil
}

// turnSite is one round of the site as it is.
func (d *deviceWatch) turnSite(ctx context.Context) error {
	d.count++
	d.failed = nil
	if d.tell == nil {
		d.tell = func(p margo.Progress) error { return d.device.Note(ctx, p) }
		defer func() { d.tell = nil }()
	}
	err := d.round(ctx, d.count)
	if err = errors.Join(err, d.failed); err != nil {
		return err
	}
	return d.tellRest()
}

// show shows what people are to know.
func (d *deviceWatch) show(t margo.Tell) {
	if d.globals.JSON {
		line := struct {
			Type string     `json:"type"`
			Time time.Time  `json:"time"`
			Kind margo.Kind `json:"kind"`
			Text string     `json:"text"`
			Hint string     `json:"hint,omitempty"`
		}{"margo", time.Now().UTC(), t.Kind, t.Text, t.Hint}
		if err := d.printLine(line); err == nil {
			return
		}
	}
	fmt.Fprintf(d.Err, "margo: %s: %s\n", t.Kind, ui.Line(t.Text))
	if t.Hint != "" {
		fmt.Fprintln(d.Err, "hint: "+ui.Line(t.Hint))
	}
}
