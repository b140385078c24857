package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/compose"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

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
	// described is the file of capabilities as it was read last, and complaint what was wrong with it.
	described []byte
	complaint string
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
	capabilities, err := d.capabilities()
	if err != nil {
		return err
	}
	downtimes, err := parseDowntimes(cmd.Downtime)
	if err != nil {
		return err
	}
	d.options = compose.Options{Program: strings.Fields(cmd.Compose), Directory: cmd.Workloads}
	d.packages = &compose.Store{Dir: filepath.Join(d.dir, "packages"), Client: &oci.Client{CredentialFiles: oci.CredentialFiles(d.getenv)}}
	c := margo.Config{
		Manager: cmd.Site, Folder: d.dir, Capabilities: capabilities, Applier: d, Judge: compose.Judge, Tell: d.show,
		Windows: windowsOf(cmd.PollWindow), Downtimes: downtimes,
		Files: margo.Files{Certificate: filepath.Join(cmd.Margo, "cert.pem"), Key: filepath.Join(cmd.Margo, "key.pem"), Bundle: filepath.Join(cmd.Margo, "bundle.pem")},
	}
	if cmd.Poll != nil {
		c.Interval = time.Duration(*cmd.Poll)
	}
	d.device, err = margo.Open(c)
	return err
}

// capabilities reads what the device has; nil: what it had the last time.
func (d *deviceWatch) capabilities() (*rc2.Capabilities, error) {
	name := filepath.Join(d.cmd.Margo, "capabilities.yaml")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: "the folder that --margo names says who the device is, and what it has: see docs/margo.md"}
	}
	if bytes.Equal(data, d.described) {
		return nil, nil
	}
	d.described = data
	return rc2.ReadCapabilities(name, data)
}

// describe has the manager told where capabilities have changed. A file that is wrong changes nothing.
func (d *deviceWatch) describe() error {
	c, err := d.capabilities()
	if err != nil {
		if d.complaint != err.Error() { // the same again is no news
			d.complaint = err.Error()
			d.show(margo.Tell{Kind: margo.Trouble, Text: "the capabilities of the device: " + err.Error(), Hint: diag.HintOf(err)})
		}
		return nil
	}
	d.complaint = ""
	if c == nil {
		return nil
	}
	return d.device.Describe(c)
}

// prepare makes the site that was, or an empty one: it is looked after also while the manager is away.
func (d *deviceWatch) prepare() error {
	name := d.siteFile()
	site, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return d.write(compose.Site(nil, d.options))
	}
	if err != nil {
		return err
	}
	wanted, err := d.device.Wanted()
	if err != nil {
		return err
	}
	d.progress = compose.NewProgress(compose.InSite(site, wanted))
	return nil
}

func (d *deviceWatch) siteFile() string { return filepath.Join(d.dir, "site", "site.hcl") }

func (d *deviceWatch) write(text []byte) error {
	return atomicfile.Replace(d.siteFile(), atomicfile.Options{Durable: true}, atomicfile.Data(text))
}

// run has the device do what is due, and looks after the site in between.
func (d *deviceWatch) run(ctx context.Context, now <-chan struct{}) error {
	for n := 1; ; n++ {
		err := d.describe()
		if err == nil {
			err = d.device.Turn(ctx)
		}
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
