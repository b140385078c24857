package margo_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/managertest"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

func TestRollbackIsRefused(t *testing.T) {
	b := newBench(t)
	old := map[string]string{"app": managertest.Document("app", []string{"web:1.0.0"})}
	b.manager.Publish(old)
	b.turn()
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web:1.0.1"})})
	b.turn()
	for _, open := range []bool{false, true} {
		if open {
			b.open()
		}
		b.manager.PublishAs(2, old)
		b.turn()
		b.wantTold(margo.Security, "offers version 2")
		b.manager.PublishAs(3, old)
		b.turn()
		b.wantTold(margo.Security, "with other content")
		b.wantHost("app/web 1.0.1")
	}
	b.manager.PublishAs(math.MaxUint64, old)
	b.turn()
	b.wantHost("app/web 1.0.0")
	b.wantStatuses("app", "pending 2", "installing 2", "installed 2", "pending 3", "installing 3", "installed 3",
		"pending 18446744073709551615", "installing 18446744073709551615", "installed 18446744073709551615")
}

// What a manager answers must not harm the device, and leaves all as it was.
func TestHostileAnswers(t *testing.T) {
	good := map[string]string{"app": managertest.Document("app", []string{"web"})}
	next := managertest.Document("app", []string{"web:2.0.0"})
	many := map[string]string{}
	for i := range 10 {
		id := fmt.Sprintf("app-%d", i)
		many[id] = managertest.Document(id, []string{"web"})
	}
	on := func(method, path string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != method || !strings.HasPrefix(r.URL.Path, path) {
				return false
			}
			answer(w, r)
			return true
		}
	}
	manifest := func(body string) func(http.ResponseWriter, *http.Request) bool {
		return on("GET", rc2.PathManifest, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", rc2.TypeManifest)
			fmt.Fprint(w, body)
		})
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", rc2.TypeManifest)
		for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		documents map[string]string
		disturb   func(http.ResponseWriter, *http.Request) bool
		told      string
	}{
		"manifest without end": {disturb: on("GET", rc2.PathManifest, endless), told: "more than"},
		"document without end": {disturb: on("GET", rc2.PathManifest+"/", endless), told: "more than"},
		"redirect": {disturb: on("GET", rc2.PathManifest, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.test/", http.StatusFound)
		}), told: "302"},
		"encoded": {disturb: on("GET", rc2.PathManifest, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
		}), told: "encoded"},
		"web page": {disturb: on("GET", rc2.PathManifest, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }), told: "text/html"},
		"wrong ETag": {disturb: on("GET", rc2.PathManifest, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"sha256:0"`)
			w.Header().Set("Content-Type", rc2.TypeManifest)
			fmt.Fprint(w, "{}")
		}), told: "ETag"},
		"deep":                {disturb: manifest(strings.Repeat("[", 1<<20)), told: "deeper"},
		"no version":          {disturb: manifest(`{"bundle": null, "deployments": []}`), told: "manifestVersion"},
		"version 0":           {disturb: manifest(`{"manifestVersion": 0, "bundle": null, "deployments": []}`), told: "manifestVersion"},
		"version large":       {disturb: manifest(`{"manifestVersion": 18446744073709551616, "bundle": null, "deployments": []}`), told: "manifestVersion"},
		"version part":        {disturb: manifest(`{"manifestVersion": 7.5, "bundle": null, "deployments": []}`), told: "manifestVersion"},
		"other digest":        {disturb: manifest(`{"manifestVersion": 7, "bundle": null, "deployments": [{"deploymentId": "a", "digest": "md5:00", "url": ""}]}`), told: "digest"},
		"id leads out":        {disturb: manifest(`{"manifestVersion": 7, "bundle": null, "deployments": [{"deploymentId": "../../x", "digest": "sha256:` + strings.Repeat("0", 64) + `", "url": ""}]}`), told: "deploymentId"},
		"unavailable":         {disturb: on("GET", rc2.PathManifest, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), told: "500"},
		"nothing asked":       {disturb: on("GET", rc2.PathManifest, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304); panic(http.ErrAbortHandler) }), told: "manifest"},
		"wrong digest":        {documents: map[string]string{"app": next}, disturb: on("GET", rc2.PathManifest+"/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, next+"\n") }), told: "was announced"},
		"document gone":       {documents: map[string]string{"app": next}, disturb: on("GET", rc2.PathManifest+"/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }), told: "404"},
		"document of another": {documents: map[string]string{"app": managertest.Document("app2", []string{"web"})}, told: "another one"},
		"document wrong":      {documents: map[string]string{"app": "id: app\n"}, told: "metadata"},
		"aliases without end": {documents: map[string]string{"app": "a: &a [x,x,x,x,x,x,x,x,x]\n" + aliases() + "id: app\n"}, told: "document"},
		"bundle bomb":         {documents: many, disturb: on("GET", "/api/v1/bundles/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bomb(t)) }), told: "was announced"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.manager.Publish(good)
			b.turn()
			b.told = nil
			documents := tt.documents
			if documents == nil {
				documents = map[string]string{"app": next}
			}
			b.manager.Publish(documents)
			b.manager.Disturb(tt.disturb)
			b.turn()
			b.turn()
			b.wantTold(margo.Trouble, tt.told)
			b.wantHost("app/web 1.0.0")
			b.wantStatuses("app", "pending 2", "installing 2", "installed 2")
			if s := b.device.State(); s.Accepted.Version != 2 || s.Synced.Version != 2 {
				t.Errorf("accepted %d, synced %d", s.Accepted.Version, s.Synced.Version)
			}
			b.manager.Disturb(nil)
			b.manager.Publish(nil)
			b.after(time.Hour)
			b.wantHost()
		})
	}
}

func aliases() string {
	var b strings.Builder
	for i := 'b'; i < 'k'; i++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 9), ","))
	}
	return b.String()
}

// bomb is an archive with a file of a gigabyte.
func bomb(t *testing.T) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	const size = 128 << 20
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "app.yaml", Size: size}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Names of JSON count as they are written: another spelling may not take their place.
func TestNamesAreExact(t *testing.T) {
	_, err := rc2.ReadManifest([]byte(`{"manifestVersion": 7, "MANIFESTVERSION": 9, "bundle": null, "deployments": []}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := rc2.ReadManifest([]byte(`{"MANIFESTVERSION": 9, "manifestVersion": 7, "bundle": null, "deployments": []}`))
	if err != nil || m.Version != 7 {
		t.Errorf("version %d, %v", m.Version, err)
	}
}

func TestManagerIsWhoItIsToBe(t *testing.T) {
	for name, tt := range map[string]struct {
		id     string
		other  bool
		change func(*x509.Certificate)
		told   string
	}{
		"another manager":      {id: "spiffe://plant.test/margo/wfm/wfm-2", told: "belongs to"},
		"another trust domain": {id: "spiffe://other.test/margo/wfm/wfm-1", told: "belongs to"},
		"a device":             {id: managertest.ClientID, told: "belongs to"},
		"another authority":    {id: managertest.ManagerID, other: true, told: "unknown authority"},
		"it has ended": {id: managertest.ManagerID, told: "expired", change: func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		}},
		"it signs others": {id: managertest.ManagerID, told: "may sign", change: func(c *x509.Certificate) { c.IsCA = true; c.KeyUsage |= x509.KeyUsageCertSign }},
		"two names":       {id: managertest.ManagerID, told: "2 URIs", change: func(c *x509.Certificate) { c.URIs = append(c.URIs, c.URIs[0]) }},
		"no name":         {id: managertest.ManagerID, told: "0 URIs", change: func(c *x509.Certificate) { c.URIs = nil; c.DNSNames = []string{"localhost"} }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			authority := b.manager.Authority
			if tt.other {
				authority = managertest.NewAuthority(t)
			}
			b.manager.Serve(authority.Issue(t, tt.id, tt.change))
			b.open()
			b.turn()
			b.wantTold(margo.Trouble, tt.told)
			if s := b.device.State(); s.Accepted.Version != 0 {
				t.Error("a manifest was accepted")
			}
		})
	}
}

func TestOwnIdentity(t *testing.T) {
	for _, id := range []string{
		managertest.ManagerID, "spiffe://plant.test/margo/wfm/wfm-1/client/", "spiffe://plant.test/margo/wfm/../client/x", "spiffe://plant.test/margo/wfm/a/client/..",
		"https://plant.test/margo/wfm/a/client/b", "spiffe://plant.test/margo/wfm/a/client/b/c", "spiffe://plant.test/margo/wfm/a%2fb/client/b", "spiffe://PLANT.test/margo/wfm/a/client/b",
	} {
		if got, err := margo.ParseIdentity(id); err == nil {
			t.Errorf("%s is %+v", id, got)
		}
	}
	if got, err := margo.ParseIdentity(managertest.ClientID); err != nil || got.String() != managertest.ClientID || got.ManagerID() != managertest.ManagerID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCredentialsAreReadAnew(t *testing.T) {
	b := newBench(t)
	b.turn()
	b.manager.Authority.WriteFiles(t, b.dir, b.manager.Authority.Issue(t, managertest.ManagerID+"/client/device-1-renewed", nil))
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.turn()
	b.wantTold(margo.Notice, "it begins anew")
	if s := b.device.State(); s.Client != managertest.ManagerID+"/client/device-1-renewed" {
		t.Errorf("the device is %s", s.Client)
	}
	b.wantHost("app/web 1.0.0")
}

// A clock that was put back does not stop the device for as long.
func TestClockIsPutBack(t *testing.T) {
	b := newBench(t)
	b.turn()
	b.now = b.now.Add(-30 * time.Minute)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.after(time.Second)
	b.wantHost("app/web 1.0.0")
}

func TestStatusIsTriedAsTheManagerSays(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		more   map[string]any
		wait   time.Duration // 0: it is not tried again
	}{
		"not retryable":   {422, map[string]any{"retryable": false}, 0},
		"wrong":           {422, nil, 0},
		"none":            {503, map[string]any{"backoffStrategy": "none"}, 0},
		"fixed":           {503, map[string]any{"retryable": true, "retryAfterSeconds": 90, "backoffStrategy": "fixed"}, 90 * time.Second},
		"retryable wrong": {422, map[string]any{"retryable": true, "retryAfterSeconds": 10, "backoffStrategy": "exponential"}, 10 * time.Second},
		"busy":            {503, nil, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.turn()
			posts := 0
			b.manager.Disturb(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost {
					return false
				}
				posts++
				managertest.Refuse(w, tt.status, "about:blank", tt.more)
				return true
			})
			b.manager.Publish(map[string]string{"app": managertest.DocumentOf("helm", "app", "device-1", []string{"web"})})
			b.turn()
			if posts != 1 {
				t.Fatalf("%d posts at once", posts)
			}
			if tt.wait == 0 {
				b.after(time.Hour)
				if posts != 1 {
					t.Errorf("%d posts", posts)
				}
				return
			}
			b.after(tt.wait - time.Second)
			b.after(time.Second)
			if posts != 2 {
				t.Errorf("%d posts after %s", posts, tt.wait)
			}
			b.manager.Disturb(nil)
			b.after(time.Hour)
			b.wantStatuses("app", "failed 2")
		})
	}
}

func TestStateThatCannotBeReadIsAnError(t *testing.T) {
	for name, text := range map[string]string{"another program's": `{"format": "x"}`, "half": `{"format": "tenet-margo/v1", "acc`, "empty": ``} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if err := os.WriteFile(filepath.Join(b.dir, "records", "state.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := margo.Open(margo.Config{Manager: b.manager.Address(), Folder: filepath.Join(b.dir, "records"), Capabilities: capabilities(t)})
			if err == nil || !strings.Contains(diag.HintOf(err), "restore") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
