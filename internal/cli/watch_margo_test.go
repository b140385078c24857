package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/oci/registrytest"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/compose"
	"github.com/tenetcm/tenet/runtime/source/margo/managertest"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// fleetBench is a device of the command line with its manager, a registry, and a docker that writes down what it is asked.
type fleetBench struct {
	*testing.T
	manager  *managertest.Manager
	registry *registrytest.Registry
	dir      string
	program  string // that has Compose's commands
	out, err bytes.Buffer
}

func newFleetBench(t *testing.T) *fleetBench {
	t.Helper()
	b := &fleetBench{T: t, manager: managertest.New(t), registry: registrytest.New(t, registrytest.Options{}), dir: t.TempDir()}
	b.program = filepath.Join(b.dir, "docker") + " compose"
	b.mkdir("identity")
	b.manager.Authority.WriteFiles(t, filepath.Join(b.dir, "identity"), b.manager.Authority.Issue(t, managertest.ClientID, nil))
	b.write("identity/capabilities.yaml", "properties: {id: device-1, vendor: Acme, modelNumber: M, serialNumber: \"1\"}\n")
	b.mkdir("containers")
	// Each project has one container: its state is what stands in a file of its name.
	b.write("docker", `#!/bin/sh
dir=`+b.dir+`
case "$1 $2" in
"ps --all") project=${4#*project=}; cat "$dir/containers/$project" 2> /dev/null || : ;;
"compose --project-name")
  project=$3
  echo "$project $(echo "$*" | sed 's/.*compose.yaml //')" >> "$dir/asked"
  case " $* " in
  *" up "*) [ ! -e "$dir/broken" ] || { echo "no such image: $project" >&2; exit 1; }
    printf %s "$GREETING" > "$dir/greeting-of-$project"; echo "Up 5 seconds" > "$dir/containers/$project" ;;
  *" down "*) rm -f "$dir/containers/$project" ;;
  esac ;;
esac
`)
	return b
}

func (b *fleetBench) mkdir(name string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Join(b.dir, name), 0o755); err != nil {
		b.Fatal(err)
	}
}

func (b *fleetBench) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o755); err != nil {
		b.Fatal(err)
	}
}

func (b *fleetBench) read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Error(err)
	}
	return string(data)
}

// push puts a package with a file into the registry.
func (b *fleetBench) push(name, tag, file string) {
	b.Helper()
	b.pushText(name, tag, file, "services: {web: {image: "+name+"}}\n")
}

func (b *fleetBench) pushText(name, tag, file, text string) {
	b.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = files.Write([]byte(text))
	}
	if err = errors.Join(err, files.Close(), zipped.Close()); err != nil {
		b.Fatal(err)
	}
	digest := b.registry.PutBlob("apps/"+name, out.Bytes())
	b.registry.PutManifest("apps/"+name, tag, "application/vnd.oci.image.manifest.v1+json", fmt.Appendf(nil,
		`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": %q, "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "size": 2}, "layers": [{"mediaType": %q, "digest": %q, "size": %d}]}`,
		compose.TypeArtifact, compose.TypeLayer, digest, out.Len()))
}

// document is one whose packages are in the bench's registry.
func (b *fleetBench) document(id string, components []string, more ...string) string {
	return strings.ReplaceAll(managertest.Document(id, components, more...), "oci://registry.test/", "oci://"+b.registry.Host+"/")
}

// watch runs tenet watch for some rounds.
func (b *fleetBench) watch(rounds int) error {
	b.Helper()
	b.out.Reset()
	b.err.Reset()
	hour, poll := span(time.Hour), span(10*time.Millisecond)
	cmd := watchCmd{Yes: true, Interval: &hour, Rounds: rounds, Jitter: new(percentage), margoFlags: margoFlags{
		Margo: filepath.Join(b.dir, "identity"), Compose: b.program, Workloads: filepath.Join(b.dir, "workloads"), Poll: &poll,
	}}
	cmd.Site = b.manager.Address()
	s := &client{console: console{Environment{Out: &b.out, Err: &b.err}, &Globals{StateDir: filepath.Join(b.dir, "state")}}}
	return cmd.device(b.Context(), s, nil)
}

func (b *fleetBench) requests() []string {
	b.Helper()
	lines := strings.Split(strings.TrimSpace(b.read("asked")), "\n")
	if err := os.Remove(filepath.Join(b.dir, "asked")); err != nil {
		return nil
	}
	return lines
}

func (b *fleetBench) wantAsked(want ...string) {
	b.Helper()
	if got := b.requests(); !slices.Equal(got, want) {
		b.Errorf("docker was asked %q, want %q\n%s%s", got, want, b.out.String(), b.err.String())
	}
}

func (b *fleetBench) wantStatuses(id string, want ...string) {
	b.Helper()
	if got := b.manager.Statuses(id); !slices.Equal(got, want) {
		b.Errorf("the manager was told of %s: %q, want %q\n%s%s", id, got, want, b.out.String(), b.err.String())
	}
}

func TestWatchIsADeviceOfMargo(t *testing.T) {
	b := newFleetBench(t)
	b.push("database", "1.0.0", "db/compose.yaml")
	b.push("web", "1.0.0", "web/compose.yaml")
	b.push("web", "2.0.0", "other/compose.yaml")
	parameters := "  parameters:\n    greeting: {value: \"Hello $you ${x}\", targets: [{pointer: GREETING, components: [web]}]}"
	b.manager.Publish(map[string]string{"app": b.document("app", []string{"database", "web"}, parameters)})
	if err := b.watch(1); err != nil {
		t.Fatal(err, b.out.String(), b.err.String())
	}
	const up = " up --detach --remove-orphans"
	b.wantAsked("margo_app_database"+up, "margo_app_web"+up)
	install := []string{"pending 2", "installing 2", "pending 2", "installing 2", "installed 2"}
	b.wantStatuses("app", install...)
	if got := b.read("greeting-of-margo_app_web"); got != "Hello $you ${x}" {
		t.Errorf("the greeting is %q", got)
	}

	// Nothing changes, also with another program: nothing is done, and the manager has nothing new to hear.
	if err := b.watch(2); err != nil {
		t.Fatal(err)
	}
	b.wantAsked()
	b.wantStatuses("app", install...)

	// A container that has ended is started again by a round.
	b.write("containers/margo_app_web", "Exited (1) 3 seconds ago\n")
	if err := b.watch(1); err != nil {
		t.Fatal(err)
	}
	b.wantAsked("margo_app_web" + up)

	b.manager.Publish(map[string]string{"app": b.document("app", []string{"web:2.0.0"}, parameters)})
	if err := b.watch(1); err != nil {
		t.Fatal(err)
	}
	b.wantAsked("margo_app_database down --remove-orphans", "margo_app_web"+up)
	if _, err := os.Stat(filepath.Join(b.dir, "workloads/margo_app_database")); err == nil {
		t.Error("a component that is gone has its folder still")
	}

	b.manager.Publish(nil)
	if err := b.watch(1); err != nil {
		t.Fatal(err)
	}
	b.wantAsked("margo_app_web down --remove-orphans")
	got := b.manager.Statuses("app")
	if !slices.Equal(got[len(got)-3:], []string{"installed 3", "removing 4", "removed 4"}) {
		t.Errorf("the manager was told %q", got)
	}
	if err := b.watch(2); err != nil || strings.Contains(b.out.String(), "margo_app") {
		t.Errorf("%v, and it still speaks of what is gone:\n%s", err, b.out.String())
	}
}

func TestWatchOfMargoFails(t *testing.T) {
	b := newFleetBench(t)
	b.push("web", "1.0.0", "web/compose.yaml")
	b.push("flat", "1.0.0", "compose.yaml")
	b.write("broken", "")
	b.manager.Publish(map[string]string{
		"app":    b.document("app", []string{"web"}),
		"absent": b.document("absent", []string{"nowhere"}),
		"flat":   b.document("flat", []string{"flat"}),
		"bad":    b.document("bad", []string{"web"}, "  parameters:\n    p: {value: x, targets: [{pointer: COMPOSE_FILE, components: [web]}]}"),
	})
	if err := b.watch(1); err == nil {
		t.Error("the last round failed, and the command ends well")
	}
	for id, want := range map[string][2]string{
		"app":    {margo.CodeFailed, "no such image: margo_app_web"},
		"absent": {margo.CodePackage, "no such package"},
		"flat":   {margo.CodePackage, "one directory is wanted"},
		"bad":    {margo.CodeParameter, "COMPOSE_FILE"},
	} {
		reports := b.manager.Reports(id)
		if len(reports) == 0 {
			t.Errorf("nothing was told of %s", id)
			continue
		}
		last := reports[len(reports)-1]
		e := last.Components[0].Error
		if last.Overall.State != rc2.Failed || e == nil || e.Code != want[0] || !strings.Contains(e.Message, want[1]) {
			t.Errorf("%s: %s, %+v", id, last.Overall.State, e)
		}
	}
	if err := os.Remove(filepath.Join(b.dir, "broken")); err != nil {
		t.Fatal(err)
	}
	b.requests()
	if err := b.watch(1); err != nil { // another program tries again at once
		t.Fatal(err)
	}
	got := b.manager.Statuses("app")
	if got[len(got)-1] != "installed 2" {
		t.Errorf("the manager was told %q\n%s%s", got, b.out.String(), b.err.String())
	}
}

// What could not be made part of the site is not installed because the rest is: also not for another program.
func TestWatchOfMargoWithoutAPackage(t *testing.T) {
	b := newFleetBench(t)
	b.push("web", "1.0.0", "web/compose.yaml")
	b.manager.Publish(map[string]string{"app": b.document("app", []string{"web"}), "late": b.document("late", []string{"late"})})
	for _, isAway := range []bool{false, true, false} { // where it is away, the device looks after its site alone
		b.manager.Disturb(func(w http.ResponseWriter, _ *http.Request) bool {
			if isAway {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return isAway
		})
		if err := b.watch(1); err != nil && !isAway {
			t.Logf("the round: %v", err) // one deployment has failed
		}
		if got := b.manager.Statuses("late"); slices.Contains(got, "installed 2") || got[len(got)-1] != "failed 2" {
			t.Fatalf("the manager was told %q", got)
		}
	}
	b.push("late", "1.0.0", "late/compose.yaml")
	b.manager.Publish(map[string]string{"app": b.document("app", []string{"web"}), "late": b.document("late", []string{"late"})})
	if err := b.watch(1); err != nil {
		t.Fatal(err)
	}
	if got := b.manager.Statuses("late"); got[len(got)-1] != "installed 3" {
		t.Errorf("the manager was told %q", got)
	}
}

// While the manager is away the device looks after what runs, and tells in the end.
func TestWatchOfMargoWithoutTheManager(t *testing.T) {
	b := newFleetBench(t)
	b.push("web", "1.0.0", "web/compose.yaml")
	b.manager.Publish(map[string]string{"app": b.document("app", []string{"web"})})
	if err := b.watch(1); err != nil {
		t.Fatal(err)
	}
	b.requests()
	b.manager.Disturb(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	b.write("containers/margo_app_web", "Exited (1) 3 seconds ago\n")
	b.write("broken", "")
	if err := b.watch(1); err == nil {
		t.Error("what failed ended well")
	}
	b.wantAsked("margo_app_web up --detach --remove-orphans")
	if !strings.Contains(b.err.String(), "margo: trouble: ") {
		t.Errorf("nobody was told: %q", b.err.String())
	}
	b.manager.Disturb(nil)
	if err := b.watch(1); err == nil {
		t.Error("what fails still ended well")
	}
	got := b.manager.Statuses("app")
	if got[len(got)-1] != "failed 2" {
		t.Errorf("the manager was told %q", got)
	}
}

func TestWatchOfMargoUnregisters(t *testing.T) {
	b := newFleetBench(t)
	if err := b.watch(1); err != nil {
		t.Fatal(err)
	}
	if b.manager.Capabilities("device-1") == nil {
		t.Fatal("the manager has no capabilities")
	}
	b.write("identity/capabilities.yaml", strings.Replace(b.read("identity/capabilities.yaml"), "Acme", "Other", 1))
	if err := b.watch(1); err != nil || !strings.Contains(string(b.manager.Capabilities("device-1")), "Other") {
		t.Errorf("%v, the manager has %s", err, b.manager.Capabilities("device-1"))
	}
	cmd := watchCmd{Yes: true, margoFlags: margoFlags{Margo: filepath.Join(b.dir, "identity"), Compose: "docker compose", Unregister: true}}
	cmd.Site = b.manager.Address()
	s := &client{console: console{Environment{Out: &b.out, Err: &b.err}, &Globals{StateDir: filepath.Join(b.dir, "state")}}}
	if err := cmd.device(t.Context(), s, nil); err != nil || b.manager.Capabilities("device-1") != nil {
		t.Errorf("%v", err)
	}
}

func TestHoursOnTheCommandLine(t *testing.T) {
	for text, want := range map[string]string{
		"22:00-04:00":                          `{"hours":"22:00-04:00"}`,
		"sat,sun 00:00-24:00":                  `{"days":["sat","sun"],"hours":"00:00-24:00"}`,
		"22:00-04:00 Europe/Berlin":            `{"hours":"22:00-04:00","timezone":"Europe/Berlin"}`,
		"mon 22:00-04:00 Europe/Berlin":        `{"days":["mon"],"hours":"22:00-04:00","timezone":"Europe/Berlin"}`,
		"mon":                                  "",
		"":                                     "",
		"mon 22:00-04:00 Europe/Berlin please": "",
		"22:00":                                "",
	} {
		var h hours
		err := h.UnmarshalText([]byte(text))
		if want == "" {
			if err == nil {
				t.Errorf("%q: no error", text)
			}
			continue
		}
		if got, err2 := json.Marshal(h.Window); err != nil || err2 != nil || string(got) != want {
			t.Errorf("%q: %s, %v, %v", text, got, err, err2)
		}
	}
}
