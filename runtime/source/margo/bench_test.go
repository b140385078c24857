package margo_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/managertest"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// bench is a device with its manager, in a time of its own.
type bench struct {
	*testing.T
	manager *managertest.Manager
	device  *margo.Device
	host    *host
	now     time.Time
	told    []margo.Tell
	dir     string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, manager: managertest.New(t), host: &host{runs: map[string]string{}}, now: time.Now(), dir: t.TempDir()}
	b.manager.Authority.WriteFiles(t, b.dir, b.manager.Authority.Issue(t, managertest.ClientID, nil))
	b.open()
	return b
}

// capabilities of the device of the tests.
func capabilities(t testing.TB) *rc2.Capabilities {
	t.Helper()
	c, err := rc2.ReadCapabilities("capabilities.json", []byte(`{
		"properties": {
			"id": "device-1", "vendor": "Acme", "modelNumber": "M-1", "serialNumber": "1", "memory": "4Gi", "otelCollector": true,
			"cpus": [{"cores": 4, "architecture": "amd64"}], "peripherals": [{"type": "gpu", "manufacturer": "NVIDIA"}],
			"supportedRuntimes": ["oci"], "supportedDeploymentTypes": ["compose"]
		},
		"labels": {"acme.test/line": "a", "acme.test/slots": 3, "acme.test/zones": ["x", "y"]}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open begins the device's program anew.
func (b *bench) open() {
	b.Helper()
	d, err := margo.Open(margo.Config{
		Manager:      b.manager.Address(),
		Files:        margo.Files{Certificate: filepath.Join(b.dir, "cert.pem"), Key: filepath.Join(b.dir, "key.pem"), Bundle: filepath.Join(b.dir, "bundle.pem")},
		Folder:       filepath.Join(b.dir, "records"),
		Capabilities: capabilities(b),
		Applier:      b.host,
		Tell:         func(t margo.Tell) { b.told = append(b.told, t) },
		Now:          func() time.Time { return b.now },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.device = d
}

// turn lets a minute pass, and the device do what is due.
func (b *bench) turn() {
	b.Helper()
	b.after(time.Minute)
}

func (b *bench) after(d time.Duration) {
	b.Helper()
	b.now = b.now.Add(d)
	if err := b.device.Turn(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) wantStatuses(deployment string, want ...string) {
	b.Helper()
	if got := b.manager.Statuses(deployment); !slices.Equal(got, want) {
		b.Errorf("the manager was told of %s:\n%q, want\n%q", deployment, got, want)
	}
}

func (b *bench) wantHost(want ...string) {
	b.Helper()
	if got := b.host.list(); !slices.Equal(got, want) {
		b.Errorf("on the host are %q, want %q", got, want)
	}
}

// wantTold looks for something that people were told since the last call.
func (b *bench) wantTold(kind margo.Kind, part string) {
	b.Helper()
	if !slices.ContainsFunc(b.told, func(t margo.Tell) bool { return t.Kind == kind && strings.Contains(t.Text, part) }) {
		b.Errorf("nobody was told %q (%s), but:\n%v", part, kind, b.told)
	}
	b.told = nil
}

// host is one on which components run, in memory.
type host struct {
	runs    map[string]string // "deployment/component": its revision
	breaks  map[string]bool   // components that fail
	crash   bool              // the next apply ends with the program
	applied int
}

var errCrash = errors.New("the program has ended")

func (h *host) list() (out []string) {
	for _, key := range slices.Sorted(maps.Keys(h.runs)) {
		out = append(out, key+" "+h.runs[key])
	}
	return out
}

func (h *host) Apply(_ context.Context, wanted []margo.Wanted, tell func(margo.Progress) error) error {
	h.applied++
	for _, w := range wanted {
		if err := h.remove(w, tell); err != nil {
			return err
		}
		if w.Document == nil {
			continue
		}
		for _, c := range w.Document.Components {
			key := w.ID + "/" + c.Name
			if h.runs[key] == c.Revision && !h.breaks[c.Name] {
				if err := tell(margo.Progress{Deployment: w.ID, Component: c.Name, State: rc2.Installed}); err != nil {
					return err
				}
				continue
			}
			if err := tell(margo.Progress{Deployment: w.ID, Component: c.Name, State: rc2.Installing}); err != nil {
				return err
			}
			if h.crash {
				h.crash = false
				return errCrash
			}
			p := margo.Progress{Deployment: w.ID, Component: c.Name, State: rc2.Installed}
			if h.breaks[c.Name] {
				p.State, p.Error = rc2.Failed, &rc2.Error{Code: margo.CodeFailed, Source: c.Name, Message: "it does not start"}
			} else {
				h.runs[key] = c.Revision
			}
			if err := tell(p); err != nil {
				return err
			}
			if p.State == rc2.Failed {
				break // the components after it do not begin
			}
		}
	}
	return nil
}

func (h *host) remove(w margo.Wanted, tell func(margo.Progress) error) error {
	for _, name := range w.Remove {
		if err := tell(margo.Progress{Deployment: w.ID, Component: name, State: rc2.Removing}); err != nil {
			return err
		}
		delete(h.runs, w.ID+"/"+name)
		if err := tell(margo.Progress{Deployment: w.ID, Component: name, State: rc2.Removed}); err != nil {
			return err
		}
	}
	return nil
}
