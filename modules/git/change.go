package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
)

// Names for what was fetched and what was checked out last by this module, among
// what is known to be elsewhere too. A run may end between the two.
const (
	fetchedRef  = "refs/tenet/fetched"
	deployedRef = "refs/tenet/deployed"
)

func (g *program) setURL(ctx context.Context, url string) error {
	if err := g.run(ctx, "config", "--local", "remote.origin.url", url); err != nil {
		return err
	}
	return g.run(ctx, "config", "--local", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
}

// fetch gets the wanted commit.
func (g *program) fetch(ctx context.Context, want Git) error {
	if g.has(ctx, *want.Commit) {
		return nil
	}
	from := want.source
	if from == "" {
		from = *want.Commit
	}
	args := []string{"fetch", "--quiet", "--force", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}
	shallow := slices.Clone(args)
	if want.Depth != nil {
		shallow = append(shallow, "--depth="+strconv.Itoa(*want.Depth))
	}
	err := g.run(ctx, append(shallow, "--", "origin", "+"+from+":"+fetchedRef)...)
	if err != nil && want.source != "" {
		return err
	}
	if err != nil || !g.has(ctx, *want.Commit) {
		// Not every server hands out a commit by its ID, or the branch has moved on.
		all := append(args, "--", "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
		if err := g.run(ctx, all...); err != nil {
			return err
		}
	}
	if !g.has(ctx, *want.Commit) {
		return fmt.Errorf("%s has no commit %s (any more)", *want.URL, *want.Commit)
	}
	return nil
}

// has reports whether the commit is in the checkout's repository.
func (g *program) has(ctx context.Context, commit string) bool {
	_, err := g.query(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

func (g *program) checkout(ctx context.Context, want Git) error {
	args := []string{"checkout", "--quiet", "--detach"}
	if check.True(want.Force) {
		args = append(args, "--force")
	}
	if err := g.run(ctx, append(args, *want.Commit, "--")...); err != nil {
		return err
	}
	return g.run(ctx, "update-ref", deployedRef, *want.Commit)
}

func (g *program) updateSubmodules(ctx context.Context, want Git) error {
	if err := g.run(ctx, "submodule", "--quiet", "sync", "--recursive"); err != nil {
		return err
	}
	args := []string{"submodule", "--quiet", "update", "--init", "--recursive"}
	if check.True(want.Force) {
		args = append(args, "--force")
	}
	if want.Depth != nil {
		args = append(args, "--depth="+strconv.Itoa(*want.Depth))
	}
	return g.run(ctx, args...)
}

// checkPublished is an error where commits were made in the checkout that are known to be
// nowhere else.
func (g *program) checkPublished(ctx context.Context, commit string) error {
	names := []string{"for-each-ref", "--count=1", "--format=%(refname)"}
	if commit != "" {
		said, err := g.query(ctx, append(names, "--contains="+commit, "refs/tenet", "refs/remotes", "refs/tags")...)
		if err != nil {
			return err
		}
		if strings.TrimSpace(said) == "" {
			return lossError("%s holds the commit %s, which was made there and is known nowhere else", g.path, commit)
		}
	}
	// What branches hold that no other side has.
	said, err := g.query(ctx, "rev-list", "--max-count=1", "--branches", "--not", "--remotes", "--tags", "--glob=refs/tenet/*")
	if err == nil && strings.TrimSpace(said) != "" {
		err = lossError("%s holds the commit %s on a branch of its own, which is known nowhere else", g.path, strings.TrimSpace(said))
	}
	return err
}

// noStash is an error where something was put aside.
func (g *program) noStash(ctx context.Context) error {
	said, err := g.query(ctx, "for-each-ref", "--format=%(refname)", "refs/stash")
	if err == nil && strings.TrimSpace(said) != "" {
		err = lossError("%s holds a stash", g.path)
	}
	return err
}
