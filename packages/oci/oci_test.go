package oci_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
)

// pack gives the archive of a package with one file.
func pack(t testing.TB, text string) (*bytes.Reader, archive.Contents) {
	t.Helper()
	var out bytes.Buffer
	contents, err := archive.Write(&out, fstest.MapFS{"main.hcl": {Data: []byte(text)}, "files/run.sh": {Data: []byte("#!/bin/sh\n"), Mode: 0o755}})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes()), contents
}

func parse(t testing.TB, text string) oci.Reference {
	t.Helper()
	ref, err := oci.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// push pushes a package with one file.
func push(t testing.TB, ref oci.Reference, text string) oci.Package {
	t.Helper()
	in, _ := pack(t, text)
	pushed, _, err := (&oci.Client{}).Push(t.Context(), ref, in, oci.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func assertError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func assertNothing(t testing.TB, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) > 0 {
		t.Errorf("there is %v (%v)", entries, err)
	}
}

// What was pushed is what is pulled, by its tag and by its digest.
func TestPushAndPull(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	ref := parse(t, "oci://"+registry.Host+"/acme/web:1.4.0")
	client := &oci.Client{}
	in, contents := pack(t, "state {}")
	pushed, existed, err := client.Push(t.Context(), ref, in, oci.PushOptions{Title: "web", Description: "A web server."})
	if err != nil || existed {
		t.Fatal(existed, err)
	}
	found, err := client.Resolve(t.Context(), ref)
	if err != nil || found.Manifest != pushed.Manifest || found.Digest != contents.Digest || found.Size != in.Size() ||
		found.Version != "1.4.0" || found.Title != "web" || found.Description != "A web server." {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, from := range []oci.Reference{ref, ref.At(found.Manifest)} {
		dir := filepath.Join(t.TempDir(), "web")
		pulled, err := client.Pull(t.Context(), from, dir, contents.Digest)
		if err != nil || pulled.Digest != contents.Digest {
			t.Fatal(pulled, err)
		}
		if digest, err := archive.Digest(os.DirFS(dir)); err != nil || digest != contents.Digest {
			t.Error(digest, err)
		}
	}
	var manifest struct {
		ArtifactType string
		Config       struct{ MediaType string }
		Layers       []struct{ MediaType string }
	}
	if err := json.Unmarshal(registry.Manifest("acme/web", "1.4.0"), &manifest); err != nil || manifest.ArtifactType != "application/vnd.tenet.package.v1" ||
		manifest.Config.MediaType != "application/vnd.oci.empty.v1+json" || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != "application/vnd.tenet.package.v1.tar+zstd" {
		t.Errorf("%+v, %v", manifest, err)
	}
}

// A version that others may have is not replaced, unless that is asked for; the same one may be pushed again.
func TestPushOverVersion(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	ref := parse(t, "oci://"+registry.Host+"/web:1.4")
	first := push(t, ref, "one")
	client := &oci.Client{}

	asked := len(registry.Requests())
	in, _ := pack(t, "one")
	again, existed, err := client.Push(t.Context(), ref, in, oci.PushOptions{Description: "another one"})
	if err != nil || !existed || again.Manifest != first.Manifest {
		t.Errorf("%+v, %t, %v", again, existed, err)
	}
	for _, request := range registry.Requests()[asked:] {
		if !strings.HasPrefix(request, "GET ") && !strings.HasPrefix(request, "HEAD ") {
			t.Errorf("it asks %s", request)
		}
	}

	in, other := pack(t, "two")
	_, _, err = client.Push(t.Context(), ref, in, oci.PushOptions{})
	assertError(t, err, "this version exists with other contents: "+first.Digest+", and not "+other.Digest)
	if found, err := client.Resolve(t.Context(), ref); err != nil || found.Manifest != first.Manifest {
		t.Errorf("%+v, %v", found, err)
	}
	pushed, existed, err := client.Push(t.Context(), ref, in, oci.PushOptions{Overwrite: true})
	if err != nil || existed || pushed.Digest != other.Digest {
		t.Errorf("%+v, %t, %v", pushed, existed, err)
	}
	if found, err := client.Resolve(t.Context(), ref.At(first.Manifest)); err != nil || found.Digest != first.Digest {
		t.Errorf("the former one: %+v, %v", found, err)
	}
}

func TestPushRefuses(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	in, _ := pack(t, "one")
	for _, name := range []string{"/web", "/web:latest", "/web:1.x", "/web@" + someDigest} {
		_, _, err := (&oci.Client{}).Push(t.Context(), parse(t, "oci://"+registry.Host+name), in, oci.PushOptions{})
		assertError(t, err, "a package is pushed as a version")
	}
	_, _, err := (&oci.Client{}).Push(t.Context(), parse(t, "oci://"+registry.Host+"/web:1"), bytes.NewReader([]byte("no archive")), oci.PushOptions{})
	assertError(t, err, "no archive of a package")
	if asked := registry.Requests(); len(asked) > 0 {
		t.Errorf("the registry was asked %q", asked)
	}
}

func TestPullOtherDigest(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	ref := parse(t, "oci://"+registry.Host+"/web:1.4")
	push(t, ref, "one")
	dir := filepath.Join(t.TempDir(), "web")
	_, err := (&oci.Client{}).Pull(t.Context(), ref, dir, someDigest)
	assertError(t, err, "not "+someDigest)
	assertNothing(t, dir)

	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err = (&oci.Client{}).Pull(t.Context(), ref, dir, ""); !os.IsExist(err) {
		t.Error(err)
	}
}

func TestTags(t *testing.T) {
	for _, page := range []int{0, 2} {
		registry := registrytest.New(t, registrytest.Options{Page: page})
		for _, tag := range []string{"1.10.0", "1.9.0", "1.4.0", "1.4.0-rc.1", "1.4", "v2", "latest", "sha256-abc"} {
			registry.PutManifest("acme/web", tag, "application/json", []byte("{}"))
		}
		registry.PutManifest("other", "9", "application/json", []byte("{}"))
		tags, err := (&oci.Client{}).Tags(t.Context(), parse(t, "oci://"+registry.Host+"/acme/web"))
		if want := []string{"1.4.0-rc.1", "1.4", "1.4.0", "1.9.0", "1.10.0", "v2"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("%q, %v, want %q", tags, err, want)
		}
		_, err = (&oci.Client{}).Tags(t.Context(), parse(t, "oci://"+registry.Host+"/acme/none"))
		assertError(t, err, "the registry has no such package")
	}
}

func TestNotThere(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{})
	ref := parse(t, "oci://"+registry.Host+"/web:1.4")
	_, err := (&oci.Client{}).Resolve(t.Context(), ref)
	assertError(t, err, ref.String()+": the registry has no such package")
	if diag.CodeOf(err) != "not_found" {
		t.Errorf("the code is %q", diag.CodeOf(err))
	}
	_, err = (&oci.Client{}).Resolve(t.Context(), parse(t, "oci://"+registry.Host+"/web"))
	assertError(t, err, "names no version")
}

// Signatures are found again, whether the registry knows what refers to what or not.
func TestSignatures(t *testing.T) {
	for _, noReferrers := range []bool{false, true} {
		registry := registrytest.New(t, registrytest.Options{NoReferrers: noReferrers})
		client := &oci.Client{}
		first := push(t, parse(t, "oci://"+registry.Host+"/web:1.4"), "one")
		other := push(t, parse(t, "oci://"+registry.Host+"/web:1.5"), "two")
		if none, err := client.Signatures(t.Context(), first, nil); err != nil || len(none.Texts) > 0 {
			t.Errorf("%q, %v", none, err)
		}
		for _, signature := range []string{"by me", "by you"} {
			if err := client.Sign(t.Context(), first, []byte(signature), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Sign(t.Context(), other, []byte("of the other one"), ""); err != nil {
			t.Fatal(err)
		}
		found, err := client.Resolve(t.Context(), parse(t, "oci://"+registry.Host+"/web:1.4"))
		if err != nil {
			t.Fatal(err)
		}
		attached, err := client.Signatures(t.Context(), found, nil)
		signatures := attached.Texts
		slices.SortFunc(signatures, bytes.Compare)
		if want := [][]byte{[]byte("by me"), []byte("by you")}; err != nil || !slices.EqualFunc(signatures, want, bytes.Equal) {
			t.Errorf("%q, %v, want %q", signatures, err, want)
		}
		tags, err := client.Tags(t.Context(), found.Reference)
		if err != nil || !slices.Equal(tags, []string{"1.4", "1.5"}) {
			t.Errorf("%q, %v", tags, err)
		}
	}
}

// Credentials are read from files as docker and podman write them; who has none is told what to do.
func TestCredentials(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{User: "me", Password: "secret"})
	ref := parse(t, "oci://"+registry.Host+"/acme/web:1.4")
	in, contents := pack(t, "one")
	_, _, err := (&oci.Client{}).Push(t.Context(), ref, in, oci.PushOptions{})
	assertError(t, err, "the registry wants credentials, and none are known")
	if hint := diag.HintOf(err); !strings.Contains(hint, "podman login "+registry.Host) {
		t.Errorf("hint: %s", hint)
	}
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "auth.json")
		writeFile(t, file, text)
		return file
	}
	none, missing := write("{}"), filepath.Join(t.TempDir(), "config.json")
	for _, key := range []string{registry.Host, registry.Host + "/acme", registry.Host + "/acme/web"} {
		right := write(`{"auths": {"` + key + `": {"auth": "bWU6c2VjcmV0"}, "other.example": {"auth": "eDp5"}}}`)
		client := &oci.Client{CredentialFiles: []string{missing, none, right}}
		if _, _, err := client.Push(t.Context(), ref, in, oci.PushOptions{}); err != nil {
			t.Fatal(err)
		}
		if found, err := client.Resolve(t.Context(), ref); err != nil || found.Digest != contents.Digest {
			t.Errorf("%+v, %v", found, err)
		}
	}
	wrong := write(`{"auths": {"` + registry.Host + `": {"auth": "bWU6d3Jvbmc="}}}`)
	_, err = (&oci.Client{CredentialFiles: []string{wrong}}).Resolve(t.Context(), ref)
	assertError(t, err, "the registry does not let you do this: 401")
	broken := write("{")
	_, err = (&oci.Client{CredentialFiles: []string{broken}}).Resolve(t.Context(), ref)
	assertError(t, err, "credentials of registries cannot be read: "+broken)
}

// A program that keeps credentials is asked for those of the registry alone.
func TestCredentialHelper(t *testing.T) {
	registry := registrytest.New(t, registrytest.Options{User: "me", Password: "secret"})
	bin := t.TempDir()
	helper := "#!/bin/sh\nread host\n[ \"$1 $host\" = \"get " + registry.Host + "\" ] || { echo 'credentials not found in native keychain'; exit 1; }\n" +
		`echo '{"ServerURL": "x", "Username": "me", "Secret": "secret"}'` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-test"), []byte(helper), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	file := filepath.Join(bin, "config.json")
	writeFile(t, file, `{"credHelpers": {"`+registry.Host+`": "test"}}`)
	registry.PutManifest("web", "1", "application/json", []byte("{}"))
	tags, err := (&oci.Client{CredentialFiles: []string{file}}).Tags(t.Context(), parse(t, "oci://"+registry.Host+"/web"))
	if err != nil || !slices.Equal(tags, []string{"1"}) {
		t.Errorf("%q, %v", tags, err)
	}
}

func TestCredentialFiles(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		want        []string
	}{
		{map[string]string{"HOME": "/h"}, []string{"/h/.config/containers/auth.json", "/h/.docker/config.json"}},
		{map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1", "XDG_CONFIG_HOME": "/c", "DOCKER_CONFIG": "/d"},
			[]string{"/run/user/1/containers/auth.json", "/c/containers/auth.json", "/d/config.json"}},
		{map[string]string{"HOME": "/h", "REGISTRY_AUTH_FILE": "/a.json"}, []string{"/a.json"}},
		{nil, nil},
	} {
		if got := oci.CredentialFiles(func(name string) string { return c.environment[name] }); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
