package compose_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/compose"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

type entry struct {
	name string
	kind byte
}

// push puts a package with these entries into a registry.
func push(t *testing.T, r *registrytest.Registry, entries ...entry) {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := files.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Linkname: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	put(r, out.Bytes())
}

func put(r *registrytest.Registry, data []byte) {
	digest := r.PutBlob("apps/web", data)
	r.PutManifest("apps/web", "1.0.0", "application/vnd.oci.image.manifest.v1+json", fmt.Appendf(nil,
		`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": %q, "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "size": 2}, "layers": [{"mediaType": %q, "digest": %q, "size": %d}]}`,
		compose.TypeArtifact, compose.TypeLayer, digest, len(data)))
}

func TestPackagesThatAreNone(t *testing.T) {
	good := entry{"web/compose.yaml", tar.TypeReg}
	for name, tt := range map[string]struct {
		entries []entry
		fails   string
	}{
		"good":              {[]entry{{"web/", tar.TypeDir}, good, {"web/configs/a", tar.TypeReg}}, ""},
		"with a dot":        {[]entry{{"./", tar.TypeDir}, {"./web/compose.yaml", tar.TypeReg}}, ""},
		"no compose.yaml":   {[]entry{{"web/compose.yml", tar.TypeReg}}, "no compose.yaml"},
		"compose.yaml link": {[]entry{{"web/compose.yaml", tar.TypeSymlink}}, "no compose.yaml"},
		"two directories":   {[]entry{good, {"other/a", tar.TypeReg}}, "one directory"},
		"file at the top":   {[]entry{good, {"README", tar.TypeReg}}, "one directory"},
		"leads out":         {[]entry{good, {"web/../../etc/passwd", tar.TypeReg}}, "leads out"},
		"absolute":          {[]entry{good, {"/web/a", tar.TypeReg}}, "leads out"},
	} {
		t.Run(name, func(t *testing.T) {
			r := registrytest.New(t, registrytest.Options{})
			push(t, r, tt.entries...)
			s := &compose.Store{Dir: filepath.Join(t.TempDir(), "packages"), Client: &oci.Client{}}
			_, err := s.Get(t.Context(), "sha256:1", rc2.Component{Name: "web", Repository: "oci://" + r.Host + "/apps/web", Revision: "1.0.0"})
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("%v, want %q", err, tt.fails)
			}
			if entries, _ := os.ReadDir(s.Dir); err != nil && len(entries) > 0 {
				t.Errorf("left is %v", entries)
			}
		})
	}
}

// A tag that stands for something else tomorrow does not change what runs today.
func TestPackageStaysThatOfItsDocument(t *testing.T) {
	r := registrytest.New(t, registrytest.Options{})
	push(t, r, entry{"web/compose.yaml", tar.TypeReg})
	s := &compose.Store{Dir: filepath.Join(t.TempDir(), "packages"), Client: &oci.Client{}}
	c := rc2.Component{Name: "web", Repository: "oci://" + r.Host + "/apps/web", Revision: "1.0.0"}
	get := func(revision string) compose.Package {
		t.Helper()
		p, err := s.Get(t.Context(), revision, c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := get("sha256:1")
	push(t, r, entry{"web/compose.yaml", tar.TypeReg}, entry{"web/more", tar.TypeReg})
	asked := len(r.Requests())
	if again := get("sha256:1"); again != first || len(r.Requests()) != asked {
		t.Errorf("%+v, and then %+v", first, again)
	}
	second := get("sha256:2")
	if second == first {
		t.Error("another document has the former package")
	}

	if err := os.WriteFile(second.Path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if mended := get("sha256:2"); mended != second {
		t.Errorf("%+v, and then %+v", second, mended)
	}
	if err := s.Clean([]compose.Used{{Revision: "sha256:2", Component: c, Package: second}}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 2 {
		t.Errorf("left is %v, %v", entries, err)
	}
}

// Whatever stands in documents is data: the site that is made of it is one, and has the values as they were.
func TestSiteHasWhatDocumentsSay(t *testing.T) {
	nasty := "Hello ${file(\"/etc/shadow\")} %{ if true } $$ \" \\ `id`"
	d := compose.Deployment{
		Wanted: margo.Wanted{ID: "9f~A.b", Remove: []string{"old"}, Document: &rc2.Deployment{
			Components: []rc2.Component{
				{Name: "web", Wait: true, Timeout: time.Minute},
				{Name: "proxy", Timeout: time.Hour},
			},
			Parameters: []rc2.Parameter{{Name: "p", Value: nasty, Targets: []rc2.Target{{Pointer: "GREETING", Components: []string{"web"}}}}},
		}},
		Packages: map[string]compose.Package{"web": {Path: "/p/${x}.tar.gz", Digest: rc2.DigestOf(nil)}, "proxy": {Path: "/q", Digest: rc2.DigestOf(nil)}},
	}
	text := compose.Site([]compose.Deployment{d}, compose.Options{Program: []string{"podman", "compose"}, Directory: "/srv/margo"})
	site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: text}}, lang.Options{Registry: modules.Standard(), Standard: stdlib.FS})
	if list.HasErrors() {
		t.Fatalf("%v\n%s", list, text)
	}
	declarations, list := site.Evaluate(t.Context(), lang.Target{Host: "host"})
	if list.HasErrors() {
		t.Fatalf("%v\n%s", list, text)
	}
	if declarations == nil || strings.Count(string(text), "component \"margo_x") != 3 || !strings.Contains(string(text), "$${file(") {
		t.Errorf("the site is\n%s", text)
	}
	for _, want := range []string{"require = [component." + compose.Project(d.ID, "web") + "]", "follows = [component." + compose.Project(d.ID, "old") + "]"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if e := compose.Judge(*d.Document); e != nil {
		t.Errorf("%+v", e)
	}
}

func TestProjectsAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a", "a-b", "A", "a_b", "a.b", "x", "xa", "-", "a3e2f5dc-912e-494f-8395-52cf3769bc06"} {
		for _, name := range []string{"b", "a-b", "b-c"} {
			project := compose.Project(id, name)
			if other, ok := seen[project]; ok {
				t.Errorf("%s is %s and %s/%s", project, other, id, name)
			}
			seen[project] = id + "/" + name
		}
	}
}

func TestJudge(t *testing.T) {
	judge := func(pointer, value string) *rc2.Error {
		return compose.Judge(rc2.Deployment{Components: []rc2.Component{{Name: "web"}}, Parameters: []rc2.Parameter{{Name: "p", Value: value, Targets: []rc2.Target{{Pointer: pointer, Components: []string{"web"}}}}}})
	}
	for value, want := range map[string]bool{"plain": true, "it's $5": true, "two\nlines": true, "": true, "nul\x00": false, strings.Repeat("ä", 32000): true, strings.Repeat("a", 32001): false} {
		if e := judge("A", value); (e == nil) != want || e == nil != (complaint(t, "A", value) == "") {
			t.Errorf("%.40q: %+v, %s", value, e, complaint(t, "A", value))
		}
	}
	for pointer, want := range map[string]bool{
		"A_1": true, "1A": false, "a.b": false, "A=B": false, "COMPOSE_FILE": false, "DOCKER_HOST": false, "PATH": false, "HOME": false, "LD_PRELOAD": false,
		"CONTAINERS_CONF": false, "CONTAINER_HOST": false, "CONTAINER_NAME": true, "PODMAN_X": false, "PYTHONPATH": false, "PATHS": true, "dir": true,
	} {
		if e := judge(pointer, "x"); (e == nil) != want || e == nil != (complaint(t, pointer, "x") == "") {
			t.Errorf("%q: %+v, %s", pointer, e, complaint(t, pointer, "x"))
		}
	}
	d := rc2.Deployment{Parameters: []rc2.Parameter{{Name: "p", Targets: []rc2.Target{{Pointer: "A", Components: []string{"nobody"}}}}}}
	if e := compose.Judge(d); e == nil || e.Code != margo.CodeParameter {
		t.Errorf("%+v", e)
	}
}

// complaint gives what std/margo_compose says of a variable: it wants the same of them.
func complaint(t *testing.T, name, value string) string {
	t.Helper()
	vars := map[string]map[string]string{"environment": {name: value}}
	data, err := json.Marshal(vars)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"vars.json": {Data: data},
		"site.hcl":  {Data: []byte("component \"web\" {\n  source = \"std/margo_compose\"\n  vars = {\n    project = \"p\"\n    removed = true\n    environment = jsondecode(read(\"vars.json\")).environment\n  }\n}\n")},
	}
	site, list := lang.Load(files, lang.Options{Registry: modules.Standard(), Standard: stdlib.FS})
	if list.HasErrors() {
		return list.Error()
	}
	if _, list = site.Evaluate(t.Context(), lang.Target{Host: "host"}); list.HasErrors() {
		return list.Error()
	}
	return ""
}

func TestProgress(t *testing.T) {
	d := compose.Deployment{Wanted: margo.Wanted{ID: "app", Remove: []string{"old"}, Document: &rc2.Deployment{Components: []rc2.Component{{Name: "web"}, {Name: "proxy"}}}}}
	p := compose.NewProgress([]compose.Deployment{d})
	for _, tt := range []struct {
		event states.Event
		want  string
	}{
		{states.Event{Type: states.EventRun}, ""},
		{states.Event{Type: states.EventBegin, Address: "component.margo_app_old.state.down.command.down"}, "old removing"},
		{states.Event{Type: states.EventInvocation, Address: "component.margo_app_old.state.down", Outcome: states.Changed}, ""},
		{states.Event{Type: states.EventInvocation, Address: "component.margo_app_old", Outcome: states.Changed}, "old removed"},
		{states.Event{Type: states.EventBegin, Address: "component.margo_app_web.state.up.command.up"}, "web installing"},
		{states.Event{Type: states.EventBegin, Address: "component.margo_app_web.state.up.command.up"}, ""},
		{states.Event{Type: states.EventPart, Address: "component.margo_app_web.state.up.command.up", Outcome: states.Failed, Error: &states.Failure{Message: "no image"}}, ""},
		{states.Event{Type: states.EventInvocation, Address: "component.margo_app_web", Outcome: states.Failed}, "web failed no image"},
		{states.Event{Type: states.EventInvocation, Address: "component.margo_app_proxy", Outcome: states.Blocked}, ""},
		{states.Event{Type: states.EventInvocation, Address: "component.other", Outcome: states.Changed}, ""},
		{states.Event{Type: states.EventInvocation, Address: "component.margo_app_web", Outcome: states.Unchanged}, "web installed"},
	} {
		got := ""
		if news, ok := p.Event(tt.event); ok {
			got = news.Component + " " + string(news.State)
			if news.Error != nil {
				got += " " + news.Error.Message
			}
		}
		if got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.event.Type, tt.event.Address, got, tt.want)
		}
	}
}
