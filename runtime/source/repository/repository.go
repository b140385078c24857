// Package repository follows a branch or a tag of a repository of Git.
package repository

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/packages/signature"
	"github.com/tenetcm/tenet/runtime/source"
)

// Source is a branch, a tag or a commit of a repository.
type Source struct {
	Repository *git.Repository
	Ref        string // empty: HEAD
	Dir        string // the directory of the site in it; empty: all of it
	// Signers is a file of allowed signers. Then only what one of them has signed is taken, and only what comes after the revision that counts. Empty: nobody has to sign,
	// and a history that is another one is followed.
	Signers string
}

// Look asks what the name stands for.
func (s *Source) Look(ctx context.Context, _ source.Revision) (source.Revision, error) {
	v, err := s.Repository.Resolve(ctx, s.Ref)
	return source.Revision{ID: v.Commit, Name: v.Tag, Version: v.TagObject}, err
}

// Fetch brings a commit, verifies it, and makes a folder of it.
func (s *Source) Fetch(ctx context.Context, r source.Revision, former source.Former, dir string) (out source.Fetched, err error) {
	v := git.Revision{Commit: r.ID, Tag: r.Name, TagObject: r.Version}
	var keep []string
	for _, id := range []string{former.ID, former.Version} {
		if id != "" {
			keep = append(keep, id)
		}
	}
	if err := s.Repository.Fetch(ctx, v, keep...); err != nil {
		return out, judged(ctx, err)
	}
	if s.Signers != "" {
		by, err := s.Repository.Verify(ctx, v, git.AllowedSigners{File: s.Signers})
		if err != nil {
			return out, judged(ctx, err)
		}
		if err := s.allow(by.Fingerprint); err != nil {
			return out, source.Refuse(err)
		}
		out.Signer = by.Principal + " " + by.Fingerprint
	}
	if !former.IsZero() && former.ID != r.ID {
		if out.Rewritten, err = s.isRewritten(ctx, v, former.ID); err != nil {
			return out, err
		}
	}
	if former.HasFiles {
		if out.Same, err = s.isSame(ctx, v.Commit, former.ID); out.Same || err != nil {
			return out, err
		}
	}
	_, err = s.Repository.Extract(ctx, v.Commit, s.Dir, dir)
	return out, judged(ctx, err)
}

// isSame reports whether two commits have the same files of the site: of many sites in a repository most have not changed.
func (s *Source) isSame(ctx context.Context, commit, held string) (bool, error) {
	if held == "" || commit == held {
		return false, nil
	}
	names, err := s.Repository.Changed(ctx, held, commit)
	switch code := diag.CodeOf(err); {
	case code == git.CodeNotFound || code == git.CodeTooLarge: // the former one is not here any more, or most is another one
		return false, nil
	case err != nil:
		return false, err
	}
	return !slices.ContainsFunc(names, func(name string) bool { return s.Dir == "" || name == s.Dir || strings.HasPrefix(name, s.Dir+"/") }), nil
}

// allow is an error unless a key may sign now. A commit's own date, by which git goes, says nothing: who has the key writes it.
func (s *Source) allow(fingerprint string) error {
	data, err := os.ReadFile(s.Signers)
	if err != nil {
		return err
	}
	allowed, err := signature.ParseSigners(s.Signers, data, nil)
	if err == nil {
		_, err = allowed.Find(fingerprint, "git", time.Now())
	}
	return err
}

// isRewritten reports whether a revision does not come after the one that is held, which is refused where signatures count: somebody could put an old one in
// the place of the newest.
func (s *Source) isRewritten(ctx context.Context, v git.Revision, held string) (bool, error) {
	comes, err := s.Repository.IsDescendant(ctx, v, held)
	switch {
	case err != nil && (ctx.Err() != nil || isAway(err)):
		return false, err
	case err != nil && s.Signers != "":
		return false, source.Refuse(err)
	case err != nil || !comes && s.Signers == "":
		return true, nil
	case !comes:
		return false, source.Refuse(&diag.HintError{Code: "rewritten", Message: fmt.Sprintf("commit %.12s does not come after %.12s, which counts", v.Commit, held),
			Hint: "have the branch come after it; who means to go back adds a commit that does so (git revert)"})
	}
	return false, nil
}

// isAway reports whether it is the way to the repository that does not work.
func isAway(err error) bool {
	switch diag.CodeOf(err) {
	case git.CodeUnreachable, git.CodeCredentials, git.CodeProgram, git.CodeDamaged, "timeout":
		return true
	}
	_, isPath := err.(*os.PathError)
	return isPath
}

// judged tells what is wrong with a revision from what is wrong with the way to it.
func judged(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || isAway(err) || diag.CodeOf(err) == "" {
		return err
	}
	return source.Refuse(err)
}
