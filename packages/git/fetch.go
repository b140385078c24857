package git

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Revision is what a tag, a branch or a commit stands for.
type Revision struct {
	Commit string
	// Tag is the name of an annotated tag, which may be signed, and TagObject that of its object; empty: there is none.
	Tag, TagObject string
}

// object is what is fetched: all that the revision consists of is below it.
func (v Revision) object() string {
	if v.TagObject != "" {
		return v.TagObject
	}
	return v.Commit
}

// Resolve asks the repository what a tag, a branch or a commit stands for; empty: its HEAD. A name may be a whole one (refs/heads/main), and has to be
// where a tag and a branch have the same. A commit is not looked for: Fetch does so.
func (r *Repository) Resolve(ctx context.Context, ref string) (Revision, error) {
	if IsCommit(ref) {
		return Revision{Commit: ref}, nil
	}
	if ref != "" {
		if err := checkRef(ref); err != nil {
			return Revision{}, r.refuse("reference", "name a tag, a branch or a whole commit", "%v", err)
		}
	}
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	if err := r.client.prepareDir(); err != nil {
		return Revision{}, err
	}
	names := candidates(ref)
	args := []string{"ls-remote", "--quiet", "--end-of-options", r.URL()}
	for _, name := range names {
		args = append(args, name, name+"^{}")
	}
	if err := r.client.Credentials.check(); err != nil {
		return Revision{}, r.refuse(CodeCredentials, "", "%v", err)
	}
	out, err := r.run(ctx, command{args: args})
	if err != nil {
		if errors.Is(err, errOutput) {
			err = r.refuse(CodeTooLarge, "", "it answers with more than it was asked for")
		}
		return Revision{}, err
	}
	return r.choose(ref, names, string(out))
}

// candidates are the whole names that a short one may stand for.
func candidates(ref string) []string {
	switch {
	case ref == "":
		return []string{"HEAD"}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	}
	return []string{"refs/tags/" + ref, "refs/heads/" + ref}
}

// choose finds a revision in what ls-remote has listed, which is more than was asked for.
func (r *Repository) choose(ref string, names []string, listing string) (Revision, error) {
	objects := map[string]string{}
	for line := range strings.Lines(listing) {
		object, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok && IsCommit(object) {
			objects[name] = object
		}
	}
	var found []Revision
	for _, name := range names {
		object, ok := objects[name]
		if !ok {
			continue
		}
		v := Revision{Commit: object}
		if commit := objects[name+"^{}"]; commit != "" {
			v = Revision{Commit: commit, TagObject: object, Tag: strings.TrimPrefix(name, "refs/tags/")}
		}
		found = append(found, v)
	}
	switch {
	case len(found) == 0 && ref == "":
		return Revision{}, r.refuse(CodeNotFound, "name a branch or a tag", "the repository is empty, or has no HEAD")
	case len(found) == 0:
		return Revision{}, r.refuse(CodeNotFound, "git ls-remote "+r.URL()+" lists what there is", "there is no tag and no branch %q", ref)
	case len(found) > 1:
		return Revision{}, r.refuse("ambiguous", fmt.Sprintf("write refs/tags/%s or refs/heads/%s", ref, ref), "%q is a tag and a branch", ref)
	}
	return found[0], nil
}

// Fetch brings a revision into the cache, whole or not at all. What is there already is not fetched again. Older ones may be removed,
// except those that keep names.
func (r *Repository) Fetch(ctx context.Context, v Revision, keep ...string) error {
	if !IsCommit(v.Commit) || v.TagObject != "" && (!IsCommit(v.TagObject) || len(v.TagObject) != len(v.Commit)) {
		return r.refuse("reference", "", "%q is no commit", diag.Shorten(v.Commit))
	}
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	release, err := r.hold(ctx, v.Commit)
	if err != nil {
		return err
	}
	defer release()
	if there, err := r.isKept(ctx, v.object()); err != nil {
		return err
	} else if there {
		return r.checkObject(ctx, v)
	}
	if err := r.client.Credentials.check(); err != nil {
		return r.refuse(CodeCredentials, "", "%v", err)
	}
	if err := r.prune(ctx, append(keep, v.object())); err != nil {
		return err
	}
	return r.fetchWhole(ctx, v)
}

// fetchWhole fetches, and once more into an empty cache where what the cache has is in the way.
func (r *Repository) fetchWhole(ctx context.Context, v Revision) error {
	before, err := r.keptRefs(ctx)
	if err != nil {
		return err
	}
	err = r.fetch(ctx, v.object(), 1)
	isCache := err != nil && (diag.CodeOf(err) == CodeTooLarge || diag.CodeOf(err) == "git")
	if isCache && ctx.Err() == nil {
		if err2 := r.renew(ctx, formatOf(v.Commit)); err2 != nil {
			return errors.Join(err, err2)
		}
		if len(before) > 0 {
			err = r.fetch(ctx, v.object(), 1)
		}
	}
	if err != nil {
		return err
	}
	return r.checkFetched(ctx, v)
}

// fetch brings an object and so many generations of commits.
func (r *Repository) fetch(ctx context.Context, object string, depth int) error {
	_, err := r.run(ctx, command{
		args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--update-shallow",
			fmt.Sprintf("--depth=%d", depth), "--end-of-options", r.URL(), "+" + object + ":" + keptPrefix + object},
		bare: true, check: r.checkSize,
	})
	if err == nil || diag.CodeOf(err) == "git" { // a file that has become too large ends git, which does not say so
		if larger := r.checkSize(); larger != nil {
			err = larger
		}
	}
	return err
}

// checkFetched removes an object from the cache that is not what the repository has said.
func (r *Repository) checkFetched(ctx context.Context, v Revision) error {
	err := r.checkObject(ctx, v)
	if err != nil {
		_, gone := r.run(ctx, command{args: []string{"update-ref", "-d", keptPrefix + v.object()}, bare: true})
		err = errors.Join(err, gone)
	}
	return err
}

// checkObject looks whether an object in the cache stands for the commit that the repository has named along with it. It has to be asked each time:
// the commit of a signed tag could be named wrongly when the tag is in the cache already.
func (r *Repository) checkObject(ctx context.Context, v Revision) error {
	out, err := r.run(ctx, command{args: []string{"rev-parse", "--verify", "--end-of-options", v.object() + "^{commit}"}, bare: true})
	switch {
	case err != nil && exitCode(err) < 0:
		return err
	case err != nil:
		return r.refuse(CodeNotFound, "name a commit, or a tag or branch of one", "%s is no commit", v.object())
	case strings.TrimSpace(string(out)) != v.Commit:
		return r.refuse(CodeSignature, "", "%s stands for another commit than %.12s, which the repository has said", v.object(), v.Commit)
	}
	return nil
}
