package oci

import (
	"context"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tenetcm/tenet/lang/diag"
)

// Artifact is something with one layer that others than tenet have put into a registry.
type Artifact struct {
	Type  string // of the artifact
	Layer string // the media type of its layer
	Limit int64  // bytes that the layer may have
}

// Fetch writes the layer of an artifact, and gives its digest. Where it fails, what it has written counts for nothing.
func (c *Client) Fetch(ctx context.Context, ref Reference, a Artifact, to io.Writer) (digest string, err error) {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	digest, err = c.fetch(ctx, ref, a, to)
	return digest, explain(ctx, ref, err)
}

func (c *Client) fetch(ctx context.Context, ref Reference, a Artifact, to io.Writer) (digest string, err error) {
	repository, err := c.repository(ref)
	if err != nil {
		return "", err
	}
	name, err := ref.name()
	if err != nil {
		return "", err
	}
	descriptor, body, err := repository.FetchReference(ctx, name)
	if err != nil {
		return "", err
	}
	data, err := readAll(body, descriptor, maxManifest)
	if err = errors.Join(err, body.Close()); err != nil {
		return "", err
	}
	layer, err := a.layer(ref, descriptor, data)
	if err != nil {
		return "", err
	}
	blob, err := repository.Blobs().Fetch(ctx, layer)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, newVerifier(blob, layer))
	return string(layer.Digest), errors.Join(err, blob.Close())
}

// layer gives the one layer that a manifest has.
func (a Artifact) layer(ref Reference, descriptor ocispec.Descriptor, data []byte) (ocispec.Descriptor, error) {
	if ref.Digest != "" && ref.Digest != string(descriptor.Digest) {
		return ocispec.Descriptor{}, refuse("", "the registry answers with %s", descriptor.Digest)
	}
	manifest, err := parseManifest(descriptor, data, a.Type)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if len(manifest.Layers) != 1 {
		return ocispec.Descriptor{}, refuse("", "its manifest has %d layers, where one is wanted", len(manifest.Layers))
	}
	layer := manifest.Layers[0]
	switch {
	case layer.MediaType != a.Layer:
		err = fmt.Errorf("its layer is %q, where %s is wanted", diag.Shorten(layer.MediaType), a.Layer)
	case !isDigest(string(layer.Digest)):
		err = fmt.Errorf("its layer has the digest %q, which is no SHA-256", diag.Shorten(string(layer.Digest)))
	case layer.Size <= 0 || layer.Size > a.Limit:
		err = fmt.Errorf("its layer has %d bytes, where there can be %d at most", layer.Size, a.Limit)
	}
	if err != nil {
		return ocispec.Descriptor{}, refuse("", "%v", err)
	}
	return layer, nil
}
