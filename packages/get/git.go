package get

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/git"
)

// Repositories are repositories of Git, as an origin.
type Repositories struct{ Client *git.Client }

// open gives the repository of a source.
func (r Repositories) open(source string) (*git.Repository, git.Reference, error) {
	ref, err := git.ParseReference(source)
	if err != nil {
		return nil, ref, err
	}
	from, err := r.Client.Repository(ref.URL)
	return from, ref, err
}

// Resolve finds out which commit a tag or a branch stands for.
func (r Repositories) Resolve(ctx context.Context, source string) (Found, error) {
	from, ref, err := r.open(source)
	if err != nil {
		return Found{}, err
	}
	v, err := from.Resolve(ctx, ref.Ref)
	return Found{From: v.Commit, Version: v.Tag}, err
}

// Fetch brings a commit, and makes a folder of its directory.
func (r Repositories) Fetch(ctx context.Context, source, commit, want, dir string) (string, error) {
	from, ref, err := r.open(source)
	if err != nil {
		return "", err
	}
	if err := from.Fetch(ctx, git.Revision{Commit: commit}); err != nil {
		return "", err
	}
	if _, err := from.Extract(ctx, commit, ref.Dir, dir); err != nil {
		return "", err
	}
	digest := ""
	if err = os.RemoveAll(filepath.Join(dir, packages.Vendor)); err == nil { // no package has that
		digest, err = archive.Digest(os.DirFS(dir))
	}
	if err == nil && want != "" && digest != want {
		err = &diag.HintError{Message: fmt.Sprintf("%s: the files of commit %.12s have the digest %s, not %s", source, commit, digest, want), Hint: "the lock is not what tenet get has written: take it from the repository of the site again"}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return digest, nil
}

// Signer verifies the signature of the tag, if the source names one that stands for the commit, else that of the commit.
func (r Repositories) Signer(ctx context.Context, source, commit, _ string, signers *Signers) (signer string, err error) {
	from, ref, err := r.open(source)
	if err != nil {
		return "", err
	}
	v, err := from.Resolve(ctx, ref.Ref)
	if err != nil {
		return "", err
	}
	if v.Commit != commit {
		v = git.Revision{Commit: commit} // the tag stands for another one by now
	}
	if err := from.Fetch(ctx, v); err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "tenet-signers-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(signers.Data)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	by, err := from.Verify(ctx, v, git.AllowedSigners{File: f.Name(), Name: signers.Name})
	if err == nil {
		err = signers.allow(by.Fingerprint)
	}
	if err != nil {
		return "", &diag.HintError{Message: fmt.Sprintf("%s is refused: %v", source, err), Hint: diag.HintOf(err)}
	}
	return by.Principal + " " + by.Fingerprint, nil
}
