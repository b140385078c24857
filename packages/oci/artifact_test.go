package oci_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
)

func TestFetchArtifact(t *testing.T) {
	wanted := oci.Artifact{Type: "application/vnd.example.thing+json", Layer: "application/vnd.example.thing.tar+gzip", Limit: 100}
	put := func(r *registrytest.Registry, kind, layer, data string, layers int) {
		digest := r.PutBlob("acme/thing", []byte(data))
		text := ""
		for i := range layers {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprintf(`{"mediaType": %q, "digest": %q, "size": %d}`, layer, digest, len(data))
		}
		r.PutManifest("acme/thing", "1.0.0", "application/vnd.oci.image.manifest.v1+json", fmt.Appendf(nil,
			`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": %q, "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "size": 2}, "layers": [%s]}`, kind, text))
	}
	for name, tt := range map[string]struct {
		kind, layer, data string
		layers            int
		damage            bool
		fails             string
	}{
		"good":          {wanted.Type, wanted.Layer, "hello", 1, false, ""},
		"another type":  {"application/vnd.docker.compose.project", wanted.Layer, "hello", 1, false, "is wanted"},
		"another layer": {wanted.Type, "text/plain", "hello", 1, false, "text/plain"},
		"two layers":    {wanted.Type, wanted.Layer, "hello", 2, false, "2 layers"},
		"too large":     {wanted.Type, wanted.Layer, string(make([]byte, 101)), 1, false, "101 bytes"},
		"damaged":       {wanted.Type, wanted.Layer, "hello", 1, true, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			r := registrytest.New(t, registrytest.Options{})
			put(r, tt.kind, tt.layer, tt.data, tt.layers)
			if tt.damage {
				r.Damage("acme/thing", "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", []byte("hallo"))
			}
			var out bytes.Buffer
			digest, err := (&oci.Client{}).Fetch(t.Context(), parse(t, "oci://"+r.Host+"/acme/thing:1.0.0"), wanted, &out)
			if tt.fails != "" {
				assertError(t, err, tt.fails)
				return
			}
			if err != nil || out.String() != "hello" || digest != "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
				t.Errorf("%q, %s, %v", out.String(), digest, err)
			}
		})
	}
}
