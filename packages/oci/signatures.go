package oci

import (
	"bytes"
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
)

// Sign attaches a signature to a package that the registry has: an artifact that refers to the package's manifest. Where a registry does not know
// which artifacts refer to others, the list of them is kept under a tag, as OCI 1.1 says. key is the fingerprint of the key that has signed, which makes the signature easy to find
// among others; empty: it is one of many.
func (c *Client) Sign(ctx context.Context, signed Package, signature []byte, key string) error {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	return explain(ctx, signed.Reference, c.sign(ctx, signed, signature, key))
}

func (c *Client) sign(ctx context.Context, signed Package, signature []byte, key string) error {
	if len(signature) == 0 || len(signature) > maxSignature {
		return refuse("", "a signature has up to %d bytes, not %d", maxSignature, len(signature))
	}
	repository, err := c.repository(signed.Reference)
	if err != nil {
		return err
	}
	layer := ocispec.Descriptor{MediaType: sshsigType, Digest: digest.FromBytes(signature), Size: int64(len(signature))}
	var annotations map[string]string
	if key != "" {
		annotations = map[string]string{AnnotationKey: key}
	}
	descriptor, data, err := newManifest(SignatureType, layer, subject(signed), annotations)
	if err != nil {
		return err
	}
	if err := pushBytes(ctx, repository, ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data); err != nil {
		return err
	}
	if err := pushBytes(ctx, repository, layer, signature); err != nil {
		return err
	}
	return repository.Push(ctx, descriptor, bytes.NewReader(data))
}

// subject is what referrers name.
func subject(p Package) *ocispec.Descriptor {
	return &ocispec.Descriptor{MediaType: p.manifest.MediaType, Digest: p.manifest.Digest, Size: p.manifest.Size}
}

// Signatures are what is attached to a package as its signatures.
type Signatures struct {
	Texts [][]byte
	// Unusable says why others that are attached are none. They hide no good one: whoever may write to the registry, or has done so by mistake, could keep all from being seen.
	Unusable []error
	// Lost say why others could not be fetched, which may be good ones.
	Lost []error
}

// Signatures gives the signatures that are attached to a package, as Resolve gives it. Nothing is known of them: package signature verifies them. Of many the first are those of keys that are
// wanted, as they say of themselves; nil: all are alike.
func (c *Client) Signatures(ctx context.Context, signed Package, isWanted func(key string) bool) (Signatures, error) {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	signatures, err := c.signatures(ctx, signed, isWanted)
	return signatures, explain(ctx, signed.Reference, err)
}

func (c *Client) signatures(ctx context.Context, signed Package, isWanted func(key string) bool) (out Signatures, err error) {
	repository, err := c.repository(signed.Reference)
	if err != nil {
		return out, err
	}
	referrers, err := listSignatures(ctx, repository, signed, isWanted, &out)
	if err != nil {
		return out, err
	}
	for _, referrer := range referrers {
		signature, err := fetchSignature(ctx, repository, referrer, signed)
		switch {
		case ctx.Err() != nil:
			return out, err
		case isLost(err) && len(out.Lost) < maxUnusable:
			out.Lost = append(out.Lost, explain(ctx, signed.Reference, err))
		case err != nil:
			out.pass(explain(ctx, signed.Reference, err))
		default:
			out.Texts = append(out.Texts, signature)
		}
	}
	return out, nil
}

// pass notes why something is no signature, of the first ones.
func (s *Signatures) pass(why error) {
	if len(s.Unusable) < maxUnusable {
		s.Unusable = append(s.Unusable, why)
	}
}

// listSignatures lists what is said to be a signature of a package, up to a number, and those first that are said to be of keys that are wanted. What cannot be one, by what the list says, is
// passed over.
func listSignatures(ctx context.Context, repository *remote.Repository, signed Package, isWanted func(key string) bool, out *Signatures) (referrers []ocispec.Descriptor, err error) {
	enough := errors.New("there are enough")
	var others []ocispec.Descriptor
	found := 0
	err = repository.Referrers(ctx, *subject(signed), SignatureType, func(page []ocispec.Descriptor) error {
		for _, referrer := range page {
			key := referrer.Annotations[AnnotationKey]
			switch {
			case referrer.ArtifactType != SignatureType: // a registry may say that it has filtered, and not have
				continue
			case referrer.MediaType != ocispec.MediaTypeImageManifest || referrer.Size > maxManifest || !isDigest(string(referrer.Digest)):
				out.pass(refuse("", "a signature of it is no manifest of at most %d bytes with a SHA-256", maxManifest))
				continue
			case key != "" && isWanted != nil && isWanted(key):
				referrers = append(referrers, referrer)
			case len(others) < maxSignatures:
				others = append(others, referrer)
			}
			if found++; len(referrers) > maxSignatures {
				return enough
			}
		}
		return nil
	})
	referrers = append(referrers, others...)
	referrers = referrers[:min(len(referrers), maxSignatures)]
	switch {
	case errors.Is(err, enough) || err == nil && found > maxSignatures:
		err = nil
		out.Unusable = append(out.Unusable, refuse("remove some in the registry", "it has more than %d signatures, and others were not looked at", maxSignatures))
	case errors.Is(err, errdef.ErrTooManyPages):
		err = nil
		out.Unusable = append(out.Unusable, refuse("remove some in the registry", "its signatures are listed on more than %d pages, and others were not looked at", maxPages))
	}
	return referrers, err
}

func fetchSignature(ctx context.Context, repository *remote.Repository, referrer ocispec.Descriptor, signed Package) ([]byte, error) {
	data, err := fetchAll(ctx, repository, referrer, maxManifest)
	if err != nil {
		return nil, err
	}
	manifest, err := parseManifest(referrer, data, SignatureType)
	switch {
	case err != nil:
		return nil, err
	case len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != sshsigType || manifest.Layers[0].Size > maxSignature:
		return nil, refuse("", "the signature %s has not one layer of the type %s alone", referrer.Digest, sshsigType)
	case manifest.Subject == nil || manifest.Subject.Digest != signed.manifest.Digest:
		return nil, refuse("", "the signature %s is of something else", referrer.Digest)
	}
	return fetchAll(ctx, repository, manifest.Layers[0], maxSignature)
}

// fetchAll fetches a manifest or a layer that is small.
func fetchAll(ctx context.Context, repository *remote.Repository, descriptor ocispec.Descriptor, limit int64) ([]byte, error) {
	body, err := repository.Fetch(ctx, descriptor)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readAll(body, descriptor, limit)
}
