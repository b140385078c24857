package oci_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
)

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// manifestOf writes a manifest with changes.
func manifestOf(artifactType, layerType, layer string, size int, annotation string) []byte {
	return fmt.Appendf(nil, `{"schemaVersion": 2, "mediaType": %q, "artifactType": %q, "config": {"mediaType": "application/vnd.oci.empty.v1+json",
		"digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "size": 2},
		"layers": [{"mediaType": %q, "digest": %q, "size": %d}], "annotations": {"io.github.tenetcm.package.digest": %q}}`,
		manifestType, artifactType, layerType, layer, size, annotation)
}

// Whatever a manifest says, nothing is pulled that is not a package as it has to be.
func TestHostileManifests(t *testing.T) {
	for _, c := range []struct{ name, mediaType, manifest, want string }{
		{"image", manifestType, `{"schemaVersion": 2, "config": {"mediaType": "application/vnd.oci.image.config.v1+json"}}`, `it is "application/vnd.oci.image.config.v1+json"`},
		{"index", "application/vnd.oci.image.index.v1+json", `{}`, "it is no tenet package"},
		{"docker", "application/vnd.docker.distribution.manifest.v2+json", `{}`, "it is no tenet package"},
		{"no JSON", manifestType, `{"`, "its manifest is no JSON"},
		{"null", manifestType, `null`, `it is ""`},
		{"huge", manifestType, strings.Repeat(" ", 300<<10), "there can be 262144 at most"},
		{"other type", manifestType, string(manifestOf("other", oci.LayerType, someDigest, 5, someDigest)), "is wanted"},
		{"other layer", manifestType, string(manifestOf(oci.PackageType, "text/plain", someDigest, 5, someDigest)), "not one layer of the type"},
		{"no digest", manifestType, string(manifestOf(oci.PackageType, oci.LayerType, someDigest, 5, "")), "does not say the digest"},
		{"layer's digest", manifestType, string(manifestOf(oci.PackageType, oci.LayerType, "md5:abc", 5, someDigest)), `the digest "md5:abc", which is no SHA-256`},
		{"layer's path", manifestType, string(manifestOf(oci.PackageType, oci.LayerType, "../../x", 5, someDigest)), `which is no SHA-256`},
		{"huge layer", manifestType, string(manifestOf(oci.PackageType, oci.LayerType, someDigest, 1<<40, someDigest)), "its archive has 1099511627776 bytes"},
		{"negative layer", manifestType, string(manifestOf(oci.PackageType, oci.LayerType, someDigest, -1, someDigest)), "its archive has -1 bytes"},
		{"no layer", manifestType, string(manifestOf(oci.PackageType, oci.LayerType, someDigest, 5, someDigest)), "the registry has no such package"},
	} {
		t.Run(c.name, func(t *testing.T) {
			registry := registrytest.New(t, registrytest.Options{})
			registry.PutManifest("web", "1", c.mediaType, []byte(c.manifest))
			dir := filepath.Join(t.TempDir(), "web")
			_, err := (&oci.Client{}).Pull(t.Context(), parse(t, "oci://"+registry.Host+"/web:1"), dir, "")
			assertError(t, err, c.want)
			assertNothing(t, dir)
		})
	}
}

// A layer counts only if it is what the manifest names, and its files are.
func TestHostileLayers(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	in, contents := pack(t, "one")
	good, _ := io.ReadAll(in)
	layer := registry.PutBlob("web", good)
	for _, c := range []struct {
		name, digest, want string
		size               int
		data               []byte
	}{
		{"other bytes", contents.Digest, "does not fit the digest " + layer, len(good), append([]byte("x"), good[1:]...)},
		{"cut", contents.Digest, "mismatch Content-Length", len(good), good[:50]},
		{"more", contents.Digest, "mismatch Content-Length", len(good), append(good, "x"...)},
		{"other size", contents.Digest, "mismatch Content-Length", 10, good},
		{"other files", someDigest, "its digest is " + contents.Digest, len(good), good},
	} {
		t.Run(c.name, func(t *testing.T) {
			registry.Damage("web", layer, c.data)
			registry.PutManifest("web", "1", manifestType, manifestOf(oci.PackageType, oci.LayerType, layer, c.size, c.digest))
			dir := filepath.Join(t.TempDir(), "web")
			_, err := (&oci.Client{}).Pull(t.Context(), parse(t, "oci://"+registry.Host+"/web:1"), dir, "")
			if c.name == "other bytes" { // which may be no archive either
				if err == nil {
					t.Error("it was taken")
				}
			} else {
				assertError(t, err, c.want)
			}
			assertNothing(t, dir)
		})
	}
}

// endless answers a GET of a path without an end and without a length.
func endless(part string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, part) {
			return false
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		for range 1 << 16 {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return true
			}
		}
		return true
	}
}

// Bodies without an end are left once they are longer than they may be.
func TestEndlessBodies(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	ref := parse(t, "oci://"+registry.Host+"/web:1")
	push(t, ref, "one")
	client := &oci.Client{Timeout: 20 * time.Second}
	for part, ask := range map[string]func() error{
		"/manifests/": func() error { _, err := client.Resolve(t.Context(), ref); return err },
		"/blobs/": func() error {
			dir := filepath.Join(t.TempDir(), "web")
			_, err := client.Pull(t.Context(), ref, dir, "")
			assertNothing(t, dir)
			return err
		},
		"/tags/": func() error { _, err := client.Tags(t.Context(), ref); return err },
		"/referrers/": func() error {
			found, err := client.Resolve(t.Context(), ref)
			if err == nil {
				_, err = client.Signatures(t.Context(), found, nil)
			}
			return err
		},
	} {
		registry.Change(func(o *registrytest.Options) { o.Answer = endless(part) })
		began := time.Now()
		if err := ask(); err == nil {
			t.Errorf("%s: it was taken", part)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: it took %s", part, took)
		}
	}
}

// A registry that says nothing, or too little, is left after a time; who waits may leave before.
func TestSlowRegistry(t *testing.T) {
	release := make(chan bool)
	defer close(release)
	registry := registrytest.New(t, registrytest.Options{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	}})
	ref := parse(t, "oci://"+registry.Host+"/web:1")
	_, err := (&oci.Client{Timeout: 50 * time.Millisecond}).Resolve(t.Context(), ref)
	assertError(t, err, "the registry takes too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("nobody waits")
	time.AfterFunc(20*time.Millisecond, func() { cancel(gone) })
	if _, err := (&oci.Client{}).Resolve(ctx, ref); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func redirect(part, to string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
}

// Layers may lie elsewhere, but credentials do not go there, nor what is pushed; and there is an end.
func TestRedirects(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{User: "me", Password: "secret"})
	ref := parse(t, "oci://"+registry.Host+"/web:1")
	client := &oci.Client{CredentialFiles: []string{authFile(t, registry.Host)}}
	in, _ := pack(t, "one")
	pushed, _, err := client.Push(t.Context(), ref, in, oci.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+r.Header.Get("Authorization"))
		in.Seek(0, io.SeekStart)
		io.Copy(w, in)
	}))
	defer elsewhere.Close()
	registry.Change(func(o *registrytest.Options) { o.Answer = redirect("/blobs/", elsewhere.URL+"/layer") })
	if _, err := client.Pull(t.Context(), ref, filepath.Join(t.TempDir(), "web"), pushed.Digest); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(seen) != "[GET]" {
		t.Errorf("it asked %q", seen)
	}

	other, _ := pack(t, "two")
	registry.Change(func(o *registrytest.Options) { o.Answer = redirect("/uploads/", elsewhere.URL+"/upload") })
	_, _, err = client.Push(t.Context(), parse(t, "oci://"+registry.Host+"/web:2"), other, oci.PushOptions{})
	assertError(t, err, "the registry wants what is pushed to be sent to")

	registry.Change(func(o *registrytest.Options) { o.Answer = redirect("/blobs/", registry.URL+"/blobs/again") })
	_, err = client.Pull(t.Context(), ref, filepath.Join(t.TempDir(), "web"), "")
	assertError(t, err, "from one place to another without an end")
	if len(seen) != 1 {
		t.Errorf("it asked %q", seen)
	}
}

func authFile(t testing.TB, host string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "auth.json")
	writeFile(t, file, `{"auths": {"`+host+`": {"auth": "bWU6c2VjcmV0"}}}`)
	return file
}

// A registry elsewhere cannot have this machine asked, nor anything without encryption. There are none in a test: a transport plays it.
func TestRedirectsFromElsewhere(t *testing.T) {
	for to, want := range map[string]string{
		"https://127.0.0.1/secret":      "the registry sends to 127.0.0.1, which is this machine",
		"https://localhost:8080/secret": "the registry sends to localhost:8080, which is this machine",
		"https://[::ffff:127.0.0.1]/x":  "which is this machine",
		"http://other.example/":         "the registry sends to other.example without encryption",
		"file:///etc/passwd":            "without encryption",
	} {
		var asked []string
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {to}}, Body: http.NoBody, Request: r}, nil
		})
		_, err := (&oci.Client{Transport: transport}).Resolve(t.Context(), parse(t, "oci://registry.example/web:1"))
		assertError(t, err, want)
		if fmt.Sprint(asked) != "[registry.example]" {
			t.Errorf("%s: it asked %q", to, asked)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Without being asked to, only this machine is asked by HTTP.
func TestPlainHTTP(t *testing.T) {
	var scheme string
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		scheme = r.URL.Scheme
		return nil, errors.New("nobody is there")
	})
	for _, c := range []struct {
		host  string
		plain bool
		want  string
	}{
		{"registry.example", false, "https"}, {"registry.example:80", false, "https"}, {"10.0.0.1", false, "https"}, {"localhost.example", false, "https"}, {"registry.example", true, "http"},
		{"localhost:5000", false, "http"}, {"127.0.0.7", false, "http"}, {"[::1]:5000", false, "http"},
	} {
		_, err := (&oci.Client{Transport: transport, PlainHTTP: c.plain}).Resolve(t.Context(), parse(t, "oci://"+c.host+"/web:1"))
		assertError(t, err, "the registry "+c.host+" cannot be asked: nobody is there")
		if scheme != c.want {
			t.Errorf("%s is asked by %s", c.host, scheme)
		}
	}
}

// Tokens for a registry elsewhere do not come from this machine or from the network's own services.
func TestTokensFromElsewhere(t *testing.T) {
	for _, realm := range []string{"http://registry.example/token", "https://127.0.0.1/token", "https://169.254.169.254/latest"} {
		var asked []string
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Bearer realm="` + realm + `",service="x"`}}, Body: http.NoBody, Request: r}, nil
		})
		client := &oci.Client{Transport: transport, CredentialFiles: []string{authFile(t, "registry.example")}}
		if _, err := client.Resolve(t.Context(), parse(t, "oci://registry.example/web:1")); err == nil {
			t.Errorf("%s: it was taken", realm)
		}
		if fmt.Sprint(asked) != "[registry.example]" {
			t.Errorf("%s: it asked %q", realm, asked)
		}
	}
}

// What a registry answers is not shown at any length.
func TestLongErrors(t *testing.T) {
	for status, want := range map[int]string{400: "status 400", 403: "does not let you do this", 429: "is asked too often", 404: "no such package"} {
		registry := registrytest.New(t, registrytest.Options{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"errors": [{"code": "X", "message": "%s"}]}`, strings.Repeat("a", 7000))
			return true
		}})
		_, err := (&oci.Client{}).Tags(t.Context(), parse(t, "oci://"+registry.Host+"/web"))
		assertError(t, err, want)
		if err != nil && len(err.Error()) > 2*diag.MaxText {
			t.Errorf("%d: the error has %d bytes", status, len(err.Error()))
		}
	}
}

// What is attached as a signature and is none hides none that is good, in whatever order they come; it is told why, of the first few.
func TestMalformedHidesNothing(t *testing.T) {
	for _, isFirst := range []bool{true, false} {
		registry := registrytest.New(t, registrytest.Options{})
		client := &oci.Client{}
		signed := push(t, parse(t, "oci://"+registry.Host+"/web:1"), "one")
		good := func() {
			if err := client.Sign(t.Context(), signed, []byte("a good one"), ""); err != nil {
				t.Fatal(err)
			}
		}
		if !isFirst {
			good()
		}
		subject := fmt.Sprintf(`, "subject": {"mediaType": %q, "digest": %q, "size": %d}}`, manifestType, signed.Manifest, len(registry.Manifest("web", signed.Manifest)))
		for i := range 20 {
			for _, layer := range []string{"application/vnd.tenet.signature.v1.sshsig", "text/plain"} { // no layer of them is there
				m := manifestOf(oci.SignatureType, layer, someDigest, i+1, "")
				registry.PutManifest("web", "", manifestType, append(bytes.TrimSuffix(m, []byte("}")), subject...))
			}
		}
		if isFirst {
			good()
		}
		found, err := client.Signatures(t.Context(), signed, nil)
		if err != nil || len(found.Texts) != 1 || string(found.Texts[0]) != "a good one" {
			t.Errorf("%q, %v", found.Texts, err)
		}
		if n := len(found.Unusable); n == 0 || n > 6 {
			t.Errorf("of %d malformed ones is told: %v", n, found.Unusable)
		}
	}
}

// A signature that is none of the package's is not handed on.
func TestHostileSignatures(t *testing.T) {
	const index = "application/vnd.oci.image.index.v1+json"
	for _, c := range []struct{ name, list, want string }{
		{"other subject", `[{"mediaType": "` + manifestType + `", "digest": "OTHER", "size": OTHERSIZE, "artifactType": "` + oci.SignatureType + `"}]`, "is of something else"},
		{"huge", `[{"mediaType": "` + manifestType + `", "digest": "` + someDigest + `", "size": 99999999, "artifactType": "` + oci.SignatureType + `"}]`, "is no manifest of at most"},
		{"no manifest", `[{"mediaType": "text/plain", "digest": "` + someDigest + `", "size": 5, "artifactType": "` + oci.SignatureType + `"}]`, "is no manifest of at most"},
		{"many", "[" + strings.TrimSuffix(strings.Repeat(`{"mediaType": "`+manifestType+`", "digest": "`+someDigest+`", "size": 5, "artifactType": "`+oci.SignatureType+`"},`, 100), ",") + "]", "more than 64 signatures"},
		{"others", `[{"mediaType": "text/plain", "digest": "` + someDigest + `", "size": 5, "artifactType": "application/vnd.example.sbom"}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			registry := registrytest.New(t, registrytest.Options{})
			client := &oci.Client{}
			signed := push(t, parse(t, "oci://"+registry.Host+"/web:1"), "one")
			other := manifestOf(oci.SignatureType, "application/vnd.tenet.signature.v1.sshsig", someDigest, 5, "")
			digest := registry.PutManifest("web", "other", manifestType, other)
			list := strings.NewReplacer("OTHERSIZE", fmt.Sprint(len(other)), "OTHER", digest).Replace(c.list)
			registry.Change(func(o *registrytest.Options) {
				o.Answer = func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.Contains(r.URL.Path, "/referrers/") {
						return false
					}
					w.Header().Set("Content-Type", index)
					w.Header().Set("OCI-Filters-Applied", "artifactType")
					fmt.Fprintf(w, `{"schemaVersion": 2, "mediaType": %q, "manifests": %s}`, index, list)
					return true
				}
			})
			signatures, err := client.Signatures(t.Context(), signed, nil)
			if err != nil || len(signatures.Texts) > 0 || c.want == "" && len(signatures.Unusable) > 0 {
				t.Errorf("%q, %v", signatures, err)
			} else if c.want != "" {
				assertError(t, errors.Join(signatures.Unusable...), c.want)
			}
			if len(signatures.Unusable) > 10 {
				t.Errorf("%d are told of", len(signatures.Unusable))
			}
		})
	}
}
