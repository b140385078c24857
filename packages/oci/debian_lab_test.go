//go:build lab

package oci_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
)

// A real registry does as the one of the tests: one of OCI 1.0, which does not know what refers to what.
func TestDebianRegistry(t *testing.T) {
	host := registrytest.Debian(t)
	ref := parse(t, "oci://"+host+"/acme/web:1.4.0")
	in, contents := pack(t, "one")
	_, _, err := (&oci.Client{}).Push(t.Context(), ref, in, oci.PushOptions{})
	assertError(t, err, "the registry wants credentials, and none are known")

	client := &oci.Client{CredentialFiles: []string{authFile(t, host)}}
	_, err = client.Resolve(t.Context(), ref)
	assertError(t, err, "the registry has no such package")
	pushed, existed, err := client.Push(t.Context(), ref, in, oci.PushOptions{Title: "web"})
	if err != nil || existed {
		t.Fatal(existed, err)
	}
	if again, existed, err := client.Push(t.Context(), ref, in, oci.PushOptions{}); err != nil || !existed || again.Manifest != pushed.Manifest {
		t.Errorf("%+v, %t, %v", again, existed, err)
	}
	other, _ := pack(t, "two")
	_, _, err = client.Push(t.Context(), ref, other, oci.PushOptions{})
	assertError(t, err, "this version exists with other contents")
	second := ref
	second.Tag = "1.10"
	if _, _, err := client.Push(t.Context(), second, other, oci.PushOptions{}); err != nil {
		t.Fatal(err)
	}

	for _, signature := range []string{"by me", "by you"} {
		if err := client.Sign(t.Context(), pushed, []byte(signature), ""); err != nil {
			t.Fatal(err)
		}
	}
	found, err := client.Resolve(t.Context(), ref.At(pushed.Manifest))
	if err != nil || found.Digest != contents.Digest || found.Version != "1.4.0" || found.Title != "web" {
		t.Fatalf("%+v, %v", found, err)
	}
	signatures, err := client.Signatures(t.Context(), found, nil)
	if err != nil || len(signatures.Texts) != 2 {
		t.Errorf("%q, %v", signatures, err)
	}
	tags, err := client.Tags(t.Context(), ref)
	if err != nil || !slices.Equal(tags, []string{"1.4.0", "1.10"}) {
		t.Errorf("%q, %v", tags, err)
	}
	dir := filepath.Join(t.TempDir(), "web")
	if _, err := client.Pull(t.Context(), ref, dir, contents.Digest); err != nil {
		t.Fatal(err)
	}
	if digest, err := archive.Digest(os.DirFS(dir)); err != nil || digest != contents.Digest {
		t.Error(digest, err)
	}
}
