// Package registrytest is a registry for tests, in this process and in memory: as much of the OCI distribution specification 1.1 as packages need.
// It can be made to behave badly.
package registrytest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Options say what a registry is like. The zero value is a good one that anybody may use.
type Options struct {
	// NoReferrers is a registry of OCI 1.0, which does not know what refers to what.
	NoReferrers bool
	// User and Password have to be given; empty: nobody has to.
	User, Password string
	// Page is how many tags a list has at most; 0: all.
	Page int
	// Answer answers a request in the place of the registry, and reports whether it did; nil: it never does.
	Answer func(http.ResponseWriter, *http.Request) bool
}

// Registry is a registry for a test.
type Registry struct {
	URL  string // http://…
	Host string // with the port

	mu      sync.Mutex
	options Options
	blobs   map[string][]byte   // by repository and digest
	stored  map[string]manifest // by repository and digest or tag
	asked   []string            // methods and paths
}

type manifest struct {
	digest, mediaType string
	data              []byte
	subject           string
}

// New starts a registry, which ends with the test.
func New(t interface{ Cleanup(func()) }, options Options) *Registry {
	r := &Registry{options: options, blobs: map[string][]byte{}, stored: map[string]manifest{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL, r.Host = server.URL, strings.TrimPrefix(server.URL, "http://")
	return r
}

// Change changes what a registry is like.
func (r *Registry) Change(change func(*Options)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.options)
}

// Requests gives the requests so far, as "METHOD PATH".
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// PutManifest stores a manifest under a tag, whatever it is, and gives its digest.
func (r *Registry) PutManifest(repository, tag, mediaType string, data []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store(repository, tag, mediaType, data).digest
}

// PutBlob stores contents, and gives their digest.
func (r *Registry) PutBlob(repository string, data []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	digest := digestOf(data)
	r.blobs[repository+"@"+digest] = data
	return digest
}

// Manifest gives the manifest of a tag or a digest, or nil.
func (r *Registry) Manifest(repository, name string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored[repository+":"+name].data
}

// Damage replaces contents, which keep their digest.
func (r *Registry) Damage(repository, digest string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[repository+"@"+digest] = data
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ServeHTTP answers a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, request.Method+" "+request.URL.Path)
	options := r.options
	r.mu.Unlock()
	if options.Answer != nil && options.Answer(w, request) {
		return
	}
	if options.User != "" {
		if user, password, _ := request.BasicAuth(); user != options.User || password != options.Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			fail(w, http.StatusUnauthorized, "UNAUTHORIZED")
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	path := regexp.MustCompile(`^/v2/(.+)/(manifests|blobs|tags|referrers)/(.*)$`).FindStringSubmatch(request.URL.Path)
	switch {
	case request.URL.Path == "/v2/":
	case path == nil:
		fail(w, http.StatusNotFound, "NAME_INVALID")
	case path[2] == "manifests":
		r.manifests(w, request, path[1], path[3])
	case path[2] == "blobs" && strings.HasPrefix(path[3], "uploads/"):
		r.upload(w, request, path[1])
	case path[2] == "blobs":
		r.blob(w, path[1], path[3])
	case path[2] == "tags":
		r.tags(w, request, path[1])
	case r.options.NoReferrers:
		fail(w, http.StatusNotFound, "UNSUPPORTED")
	default:
		r.referrers(w, path[1], path[3])
	}
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, `{"errors":[{"code":"`+code+`","message":"as the test wants it"}]}`)
}

func (r *Registry) manifests(w http.ResponseWriter, request *http.Request, repository, name string) {
	if request.Method == http.MethodPut {
		data, err := io.ReadAll(io.LimitReader(request.Body, 4<<20))
		if err != nil {
			fail(w, http.StatusBadRequest, "MANIFEST_INVALID")
			return
		}
		m := r.store(repository, name, request.Header.Get("Content-Type"), data)
		if m.subject != "" && !r.options.NoReferrers {
			w.Header().Set("OCI-Subject", m.subject)
		}
		w.Header().Set("Docker-Content-Digest", m.digest)
		w.WriteHeader(http.StatusCreated)
		return
	}
	m, ok := r.stored[repository+":"+name]
	if !ok {
		fail(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
		return
	}
	w.Header().Set("Content-Type", m.mediaType)
	w.Header().Set("Docker-Content-Digest", m.digest)
	w.Header().Set("Content-Length", strconv.Itoa(len(m.data)))
	w.Write(m.data) // of which HEAD sends nothing
}

func (r *Registry) store(repository, name, mediaType string, data []byte) manifest {
	var parsed struct {
		Subject *struct{ Digest string }
	}
	m := manifest{digest: digestOf(data), mediaType: mediaType, data: data}
	if json.Unmarshal(data, &parsed) == nil && parsed.Subject != nil {
		m.subject = parsed.Subject.Digest
	}
	r.stored[repository+":"+m.digest] = m
	r.stored[repository+":"+name] = m
	return m
}

func (r *Registry) upload(w http.ResponseWriter, request *http.Request, repository string) {
	if request.Method == http.MethodPost {
		w.Header().Set("Location", "/v2/"+repository+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	data, err := io.ReadAll(request.Body)
	digest := request.URL.Query().Get("digest")
	if err != nil || digest != digestOf(data) {
		fail(w, http.StatusBadRequest, "DIGEST_INVALID")
		return
	}
	r.blobs[repository+"@"+digest] = data
	w.WriteHeader(http.StatusCreated)
}

func (r *Registry) blob(w http.ResponseWriter, repository, digest string) {
	data, ok := r.blobs[repository+"@"+digest]
	if !ok {
		fail(w, http.StatusNotFound, "BLOB_UNKNOWN")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Write(data)
}

func (r *Registry) tags(w http.ResponseWriter, request *http.Request, repository string) {
	var tags []string
	last := request.URL.Query().Get("last")
	for _, key := range slices.Sorted(maps.Keys(r.stored)) {
		tag, ok := strings.CutPrefix(key, repository+":")
		if ok && !strings.HasPrefix(tag, "sha256:") && tag > last {
			tags = append(tags, tag)
		}
	}
	if last == "" && tags == nil {
		fail(w, http.StatusNotFound, "NAME_UNKNOWN")
		return
	}
	if page := r.options.Page; page > 0 && len(tags) > page {
		tags = tags[:page]
		w.Header().Set("Link", "</v2/"+repository+"/tags/list?last="+tags[page-1]+`>; rel="next"`)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"name": repository, "tags": tags})
}

func (r *Registry) referrers(w http.ResponseWriter, repository, subject string) {
	list := []map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(r.stored)) {
		m := r.stored[key]
		if m.subject != subject || key != repository+":"+m.digest {
			continue
		}
		var parsed struct {
			ArtifactType string
			Annotations  map[string]string
		}
		if err := json.Unmarshal(m.data, &parsed); err != nil {
			continue // it was parsed before
		}
		list = append(list, map[string]any{"mediaType": m.mediaType, "digest": m.digest, "size": len(m.data), "artifactType": parsed.ArtifactType, "annotations": parsed.Annotations})
	}
	w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	json.NewEncoder(w).Encode(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": list})
}
