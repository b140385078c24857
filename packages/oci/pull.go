package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tenetcm/tenet/packages/archive"
)

// Pull makes a folder of a package, whole or not at all, as archive.Extract does. digest is what the archive's tar has to have; empty: what the
// manifest says.
func (c *Client) Pull(ctx context.Context, ref Reference, dir, digest string) (Package, error) {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	found, err := c.pull(ctx, ref, dir, digest)
	return found, explain(ctx, ref, err)
}

func (c *Client) pull(ctx context.Context, ref Reference, dir, digest string) (Package, error) {
	repository, err := c.repository(ref)
	if err != nil {
		return Package{}, err
	}
	found, err := resolve(ctx, repository, ref)
	if err != nil {
		return Package{}, err
	}
	if digest != "" && digest != found.Digest {
		return Package{}, refuse("another package has taken its place: tenet get --update shows what changes", "its digest is %s, not %s", found.Digest, digest)
	}
	body, err := repository.Blobs().Fetch(ctx, found.layer)
	if err != nil {
		return Package{}, err
	}
	defer body.Close()
	_, err = archive.Extract(ctx, newVerifier(body, found.layer), dir, archive.Options{Digest: found.Digest})
	return found, err
}

// verifier reads contents, and ends with an error unless they are as they are described.
type verifier struct {
	in   io.Reader
	sum  hash.Hash
	left int64
	want string
}

func newVerifier(in io.Reader, descriptor ocispec.Descriptor) *verifier {
	return &verifier{in: in, sum: sha256.New(), left: descriptor.Size, want: string(descriptor.Digest)}
}

// Read reads on.
func (v *verifier) Read(data []byte) (int, error) {
	n, err := v.in.Read(data)
	v.sum.Write(data[:n])
	v.left -= int64(n)
	switch {
	case v.left < 0:
		return 0, refuse("", "the registry sends more than the manifest says")
	case err != io.EOF:
		return n, err
	case v.left > 0:
		return n, refuse("try it again", "the registry sends %d bytes less than the manifest says", v.left)
	case "sha256:"+hex.EncodeToString(v.sum.Sum(nil)) != v.want:
		return 0, refuse("", "what the registry sends does not fit the digest %s", v.want)
	}
	return n, err
}
