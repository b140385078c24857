package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tenetcm/tenet/lang/diag"
)

// Package is what a registry says of a package. Only Manifest and Digest are certain: the rest is what the one who pushed it has written.
type Package struct {
	Reference   Reference
	Manifest    string // its digest
	Digest      string // of the archive's tar, as package archive computes it
	Size        int64  // of the archive, compressed
	Version     string
	Title       string
	Description string

	manifest ocispec.Descriptor
	layer    ocispec.Descriptor
}

// Resolve tells what a reference with a tag or a digest stands for.
func (c *Client) Resolve(ctx context.Context, ref Reference) (Package, error) {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	repository, err := c.repository(ref)
	if err != nil {
		return Package{}, err
	}
	found, err := resolve(ctx, repository, ref)
	return found, explain(ctx, ref, err)
}

func resolve(ctx context.Context, repository *remote.Repository, ref Reference) (Package, error) {
	name, err := ref.name()
	if err != nil {
		return Package{}, err
	}
	descriptor, body, err := repository.FetchReference(ctx, name)
	if err != nil {
		return Package{}, err
	}
	defer body.Close()
	data, err := readAll(body, descriptor, maxManifest)
	if err != nil {
		return Package{}, err
	}
	found, err := parsePackage(ref, descriptor, data)
	return found, err
}

// readAll reads contents that have to be as they are described.
func readAll(in io.Reader, descriptor ocispec.Descriptor, limit int64) ([]byte, error) {
	if descriptor.Size < 0 || descriptor.Size > limit {
		return nil, refuse("", "the registry answers with %d bytes, where there can be %d at most", descriptor.Size, limit)
	}
	if !isDigest(string(descriptor.Digest)) {
		return nil, refuse("", "the registry names the digest %q, which is no SHA-256", diag.Shorten(string(descriptor.Digest)))
	}
	data, err := content.ReadAll(in, descriptor)
	if err != nil {
		return nil, refuse("", "what the registry answers does not fit its digest %s: %v", descriptor.Digest, err)
	}
	return data, nil
}

func parsePackage(ref Reference, descriptor ocispec.Descriptor, data []byte) (Package, error) {
	if ref.Digest != "" && ref.Digest != string(descriptor.Digest) {
		return Package{}, refuse("", "the registry answers with %s", descriptor.Digest)
	}
	manifest, err := parseManifest(descriptor, data, PackageType)
	if err != nil {
		return Package{}, err
	}
	if len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != LayerType {
		return Package{}, refuse("", "its manifest has not one layer of the type %s alone", LayerType)
	}
	layer := manifest.Layers[0]
	found := Package{
		Reference: ref, Manifest: string(descriptor.Digest), Digest: manifest.Annotations[AnnotationDigest], Size: layer.Size,
		Version: manifest.Annotations[ocispec.AnnotationVersion], Title: manifest.Annotations[ocispec.AnnotationTitle],
		Description: manifest.Annotations[ocispec.AnnotationDescription],
		manifest:    descriptor, layer: layer,
	}
	switch {
	case !isDigest(found.Digest):
		return Package{}, refuse("push it by tenet push", "its manifest does not say the digest of the archive, in the annotation %s", AnnotationDigest)
	case !isDigest(string(layer.Digest)):
		return Package{}, refuse("", "its layer has the digest %q, which is no SHA-256", diag.Shorten(string(layer.Digest)))
	case layer.Size <= 0 || layer.Size > maxLayer:
		return Package{}, refuse("", "its archive has %d bytes, where there can be %d at most", layer.Size, maxLayer)
	}
	return found, nil
}

// parseManifest reads the manifest of an artifact of a type.
func parseManifest(descriptor ocispec.Descriptor, data []byte, artifactType string) (ocispec.Manifest, error) {
	var manifest ocispec.Manifest
	if descriptor.MediaType != ocispec.MediaTypeImageManifest {
		return manifest, refuse("", "it is no tenet package: its type is %q", diag.Shorten(descriptor.MediaType))
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return manifest, refuse("", "its manifest is no JSON of a manifest: %v", err)
	}
	is := manifest.ArtifactType
	if is == "" {
		is = manifest.Config.MediaType // as of a container's image
	}
	if is != artifactType {
		return manifest, refuse("", "it is %q, where %s is wanted", diag.Shorten(is), artifactType)
	}
	return manifest, nil
}

// newManifest gives a manifest as it is pushed: the same for the same package, without a time.
func newManifest(artifactType string, layer ocispec.Descriptor, subject *ocispec.Descriptor, annotations map[string]string) (ocispec.Descriptor, []byte, error) {
	data, err := json.Marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: artifactType,
		Config:       ocispec.DescriptorEmptyJSON,
		Layers:       []ocispec.Descriptor{layer},
		Subject:      subject,
		Annotations:  annotations,
	})
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Digest: digest.FromBytes(data), Size: int64(len(data)), Annotations: annotations,
	}, data, nil
}

// pushBlob pushes contents, unless they are there.
func pushBlob(ctx context.Context, repository *remote.Repository, descriptor ocispec.Descriptor, open func() (io.Reader, error)) error {
	if there, err := repository.Blobs().Exists(ctx, descriptor); err != nil || there {
		return err
	}
	in, err := open()
	if err != nil {
		return err
	}
	return repository.Blobs().Push(ctx, descriptor, in)
}

func pushBytes(ctx context.Context, repository *remote.Repository, descriptor ocispec.Descriptor, data []byte) error {
	return pushBlob(ctx, repository, descriptor, func() (io.Reader, error) { return bytes.NewReader(data), nil })
}

// refuse makes an error about what a registry has.
func refuse(hint, format string, args ...any) error {
	return &diag.HintError{Code: "registry", Message: fmt.Sprintf(format, args...), Hint: hint}
}
