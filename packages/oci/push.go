package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/mod/semver"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tenetcm/tenet/packages/archive"
)

// PushOptions say how a package is pushed.
type PushOptions struct {
	Title, Description string // for people who browse a registry; empty: none
	// Overwrite has a tag that exists stand for the package from now on, whatever it stood for.
	Overwrite bool
}

// Push pushes an archive that package archive has written, as the version that the tag names. Where the tag stands for the same files already, nothing
// is pushed, which the second result tells. Where it stands for others, it is an error unless that is asked for.
func (c *Client) Push(ctx context.Context, ref Reference, in io.ReadSeeker, o PushOptions) (pushed Package, existed bool, err error) {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	pushed, existed, err = c.push(ctx, ref, in, o)
	return pushed, existed, explain(ctx, ref, err)
}

func (c *Client) push(ctx context.Context, ref Reference, in io.ReadSeeker, o PushOptions) (Package, bool, error) {
	if !IsVersion(ref.Tag) {
		return Package{}, false, refuse("write it behind the repository, as in "+Reference{Registry: ref.Registry, Repository: ref.Repository, Tag: "1.4.0"}.String(),
			"a package is pushed as a version, such as 1.4.0")
	}
	layer, contents, err := describe(ctx, in)
	if err != nil {
		return Package{}, false, err
	}
	repository, err := c.repository(ref)
	if err != nil {
		return Package{}, false, err
	}
	former, err := resolve(ctx, repository, ref)
	switch {
	case err == nil && former.Digest == contents.Digest:
		return former, true, nil
	case errors.Is(err, errdef.ErrNotFound) || o.Overwrite:
	case err == nil:
		return Package{}, false, refuse("push it as another version; --overwrite replaces the one that others may have already",
			"this version exists with other contents: %s, and not %s", former.Digest, contents.Digest)
	default:
		return Package{}, false, err
	}
	pushed, err := pushPackage(ctx, repository, ref, in, layer, contents, o)
	return pushed, false, err
}

// describe reads an archive, which has to be one, and describes it as a layer.
func describe(ctx context.Context, in io.ReadSeeker) (ocispec.Descriptor, archive.Contents, error) {
	sum := digest.SHA256.Digester()
	counted := &counter{}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return ocispec.Descriptor{}, archive.Contents{}, err
	}
	contents, err := archive.Read(ctx, io.TeeReader(in, io.MultiWriter(sum.Hash(), counted)), archive.Options{}, nil)
	if err != nil {
		return ocispec.Descriptor{}, archive.Contents{}, fmt.Errorf("what is to be pushed is not right: %w", err)
	}
	return ocispec.Descriptor{
		MediaType: LayerType, Digest: sum.Digest(), Size: counted.bytes, Annotations: map[string]string{AnnotationDigest: contents.Digest},
	}, contents, nil
}

type counter struct{ bytes int64 }

func (c *counter) Write(data []byte) (int, error) {
	c.bytes += int64(len(data))
	return len(data), nil
}

// pushPackage pushes what a manifest names, and then the manifest.
func pushPackage(ctx context.Context, repository *remote.Repository, ref Reference, in io.ReadSeeker, layer ocispec.Descriptor, contents archive.Contents, o PushOptions) (Package, error) {
	annotations := map[string]string{AnnotationDigest: contents.Digest, ocispec.AnnotationVersion: ref.Tag}
	for name, value := range map[string]string{ocispec.AnnotationTitle: o.Title, ocispec.AnnotationDescription: o.Description} {
		if value != "" {
			annotations[name] = value
		}
	}
	descriptor, data, err := newManifest(PackageType, layer, nil, annotations)
	if err != nil {
		return Package{}, err
	}
	if int64(len(data)) > maxManifest {
		return Package{}, refuse("shorten the description", "its manifest would have %d bytes, where there can be %d at most", len(data), maxManifest)
	}
	if err := pushBytes(ctx, repository, ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data); err != nil {
		return Package{}, err
	}
	archived := func() (io.Reader, error) {
		_, err := in.Seek(0, io.SeekStart)
		return struct{ io.Reader }{in}, err // a file would be closed
	}
	if err := pushBlob(ctx, repository, layer, archived); err != nil {
		return Package{}, fmt.Errorf("the archive cannot be pushed: %w", err)
	}
	if err := repository.PushReference(ctx, descriptor, bytes.NewReader(data), ref.Tag); err != nil {
		return Package{}, fmt.Errorf("the manifest cannot be pushed: %w", err)
	}
	pushed, err := parsePackage(ref, descriptor, data)
	return pushed, err
}

// IsVersion reports whether a tag is a semantic version, of which the last numbers may be left out: 1, 1.4, 1.4.0, 1.4.0-rc.1; v may stand before it.
func IsVersion(tag string) bool { return semver.IsValid(semantic(tag)) }

func semantic(tag string) string {
	if len(tag) > 0 && tag[0] == 'v' {
		return tag
	}
	return "v" + tag
}
