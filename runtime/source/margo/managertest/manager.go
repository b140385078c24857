// Package managertest is a workload fleet manager of Margo for tests. It keeps to the specification, unless it is told to play a
// hostile one, and fails the test where a device does not.
package managertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Who takes part.
const (
	ManagerID = "spiffe://plant.test/margo/wfm/wfm-1"
	ClientID  = ManagerID + "/client/device-1"
	DeviceID  = "device-1"
)

// Manager is one on its way.
type Manager struct {
	Authority *Authority
	t         testing.TB
	server    *httptest.Server

	mu           sync.Mutex
	version      uint64
	documents    map[string][]byte // what is wanted, by deployment
	manifest     []byte
	bundle       []byte
	retired      bool
	disturb      func(http.ResponseWriter, *http.Request) bool
	statuses     []rc2.Status
	capabilities map[string][]byte
	requests     []string
}

// New begins a manager, and ends it with the test.
func New(t testing.TB) *Manager {
	t.Helper()
	m := &Manager{Authority: NewAuthority(t), t: t, documents: map[string][]byte{}, capabilities: map[string][]byte{}}
	m.Serve(m.Authority.Issue(t, ManagerID, nil))
	m.Publish(nil)
	return m
}

// Serve begins to serve with another certificate, at another address.
func (m *Manager) Serve(certificate tls.Certificate) {
	if m.server != nil {
		m.server.Close()
	}
	m.server = httptest.NewUnstartedServer(http.HandlerFunc(m.handle))
	m.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.Authority.Pool(), MinVersion: tls.VersionTLS13}
	m.server.Config.ErrorLog = quiet()
	m.server.StartTLS()
	m.t.Cleanup(m.server.Close)
}

// Address is what tenet watch is given.
func (m *Manager) Address() string { return "margo+" + m.server.URL }

// Publish makes documents, by their deployments, the next version of the manifest, and gives it.
func (m *Manager) Publish(documents map[string]string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.publish(m.version+1, documents)
	return m.version
}

// PublishAs makes documents a certain version, whatever was before: a manager does that by mistake, or to attack.
func (m *Manager) PublishAs(version uint64, documents map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.publish(version, documents)
}

func (m *Manager) publish(version uint64, documents map[string]string) {
	m.version, m.documents = version, map[string][]byte{}
	manifest := rc2.Manifest{Version: version, Deployments: []rc2.Reference{}}
	for _, id := range slices.Sorted(maps.Keys(documents)) {
		data := []byte(documents[id])
		m.documents[id] = data
		r := rc2.Reference{ID: id, Digest: rc2.DigestOf(data)}
		r.URL = r.Path()
		manifest.Deployments = append(manifest.Deployments, r)
	}
	if len(documents) > 0 {
		m.bundle = m.archive()
		b := rc2.BundleRef{MediaType: rc2.TypeBundle, Digest: rc2.DigestOf(m.bundle)}
		b.URL = b.Path()
		manifest.Bundle = &b
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		panic(err)
	}
	m.manifest = data
}

func (m *Manager) archive() []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, id := range slices.Sorted(maps.Keys(m.documents)) {
		must(files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: id + ".yaml", Mode: 0o644, Size: int64(len(m.documents[id]))}))
		_, err := files.Write(m.documents[id])
		must(err)
	}
	must(files.Close())
	must(zipped.Close())
	return out.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err) // of memory alone
	}
}

// Retire lets the device in no more, or again.
func (m *Manager) Retire(retired bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retired = retired
}

// Disturb has each request be seen first by a function, which answers it where it gives true; nil: by none.
func (m *Manager) Disturb(f func(http.ResponseWriter, *http.Request) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.disturb = f
}

// Statuses gives what was told of a deployment, in order, as "state version" each; the same again stands once.
func (m *Manager) Statuses(deployment string) (out []string) {
	for _, s := range m.Reports(deployment) {
		text := fmt.Sprintf("%s %d", s.Overall.State, s.Adopted)
		if len(out) == 0 || out[len(out)-1] != text {
			out = append(out, text)
		}
	}
	return out
}

// Reports gives the reports of a deployment.
func (m *Manager) Reports(deployment string) (out []rc2.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.statuses {
		if s.Deployment == deployment {
			out = append(out, s)
		}
	}
	return out
}

// Capabilities gives those of a device; nil: there are none.
func (m *Manager) Capabilities(device string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.capabilities[device]
}

// Requests gives methods and paths of the requests since the last call.
func (m *Manager) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.requests
	m.requests = nil
	return out
}

func (m *Manager) handle(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	disturb := m.disturb
	m.requests = append(m.requests, r.Method+" "+r.URL.Path)
	m.mu.Unlock()
	if disturb != nil && disturb(w, r) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if id := r.TLS.PeerCertificates[0].URIs[0].String(); !strings.HasPrefix(id, ManagerID+"/client/") {
		m.t.Errorf("a device came as %s", id)
	}
	if m.retired {
		Refuse(w, http.StatusForbidden, "https://docs.margo.org/specification/problem-types#not-authorized", nil)
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == rc2.PathManifest:
		m.serve(w, r, m.manifest, rc2.TypeManifest)
	case r.Method == http.MethodGet && parts[0] == "bundles":
		m.content(w, r, m.bundle, rc2.TypeBundle, parts[1])
	case r.Method == http.MethodGet && parts[0] == "deployments" && len(parts) == 3:
		m.content(w, r, m.documents[parts[1]], rc2.TypeDeployment, parts[2])
	case r.Method == http.MethodPost && parts[0] == "deployments" && len(parts) == 3 && parts[2] == "status":
		m.takeStatus(w, r, parts[1])
	case parts[0] == "capabilities" && len(parts) >= 2:
		m.takeCapabilities(w, r, strings.Join(parts[1:], "/"))
	default:
		m.t.Errorf("a device asks for %s %s, which the specification does not have", r.Method, r.URL.Path)
		http.NotFound(w, r)
	}
}

func (m *Manager) content(w http.ResponseWriter, r *http.Request, data []byte, mediaType, digest string) {
	if string(rc2.DigestOf(data)) != digest {
		Refuse(w, http.StatusNotFound, "https://docs.margo.org/specification/problem-types#deployment-not-found", nil)
		return
	}
	m.serve(w, r, data, mediaType)
}

func (m *Manager) serve(w http.ResponseWriter, r *http.Request, data []byte, mediaType string) {
	etag := `"` + string(rc2.DigestOf(data)) + `"`
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", mediaType)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if _, err := w.Write(data); err != nil {
		m.t.Log(err) // a device has gone away
	}
}

// Refuse answers with a problem.
func Refuse(w http.ResponseWriter, status int, kind string, more map[string]any) {
	problem := map[string]any{"type": kind, "title": http.StatusText(status), "status": status}
	maps.Copy(problem, more)
	w.Header().Set("Content-Type", rc2.TypeProblem)
	w.WriteHeader(status)
	must(json.NewEncoder(w).Encode(problem))
}
