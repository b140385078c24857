package get

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/signature"
)

// Registries are registries of containers, as an origin.
type Registries struct{ Client *oci.Client }

// Resolve finds out what a tag stands for.
func (r Registries) Resolve(ctx context.Context, source string) (Found, error) {
	ref, err := oci.ParseReference(source)
	if err != nil {
		return Found{}, err
	}
	p, err := r.Client.Resolve(ctx, ref)
	if diag.CodeOf(err) == oci.CodeNotFound {
		err = r.suggest(ctx, ref, err)
	}
	return Found{From: p.Manifest, Version: p.Version}, err
}

// suggest adds the newest versions that there are to an error about one that there is not.
func (r Registries) suggest(ctx context.Context, ref oci.Reference, err error) error {
	const most = 5
	versions, failed := r.Client.Tags(ctx, ref)
	if failed != nil || len(versions) == 0 {
		return err // which says enough
	}
	slices.Reverse(versions)
	return &diag.HintError{Code: diag.CodeOf(err), Err: err, Hint: "there is " + strings.Join(versions[:min(len(versions), most)], ", ")}
}

// Fetch pulls the package of a manifest.
func (r Registries) Fetch(ctx context.Context, source, from, want, dir string) (string, error) {
	ref, err := oci.ParseReference(source)
	if err != nil {
		return "", err
	}
	ref.Tag, ref.Digest = "", from // whatever the tag stands for by now
	p, err := r.Client.Pull(ctx, ref, dir, want)
	return p.Digest, err
}

// Signer looks for a signature that refers to the manifest.
func (r Registries) Signer(ctx context.Context, source, from, files string, signers *Signers) (string, error) {
	allowed, err := signature.ParseSigners(signers.Name, signers.Data, nil)
	if err != nil {
		return "", err
	}
	ref, err := oci.ParseReference(source)
	if err != nil {
		return "", err
	}
	ref.Tag, ref.Digest = "", from
	p, err := r.Client.Resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	keys := allowed.Fingerprints()
	found, err := r.Client.Signatures(ctx, p, func(key string) bool { return keys[key] })
	if err != nil {
		return "", err
	}
	by, err := allowed.VerifyAny(files, found.Texts, time.Now())
	switch {
	case err != nil && len(found.Lost) > 0: // what is not known is no refusal
		lost := found.Lost[0]
		return "", &diag.HintError{Code: diag.CodeOf(lost), Message: fmt.Sprintf("%s: whether somebody has signed it who may is not known, since a signature could not be fetched: %v", source, lost), Hint: "try it again"}
	case err != nil:
		err = errors.Join(append([]error{err}, found.Unusable...)...)
		return "", &diag.HintError{Message: fmt.Sprintf("%s is refused: %v", source, err), Hint: diag.HintOf(err)}
	}
	return by.Principals + " " + by.Fingerprint, nil
}
