// Package git is the module "git": a checkout of a repository at a commit.
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/trees"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Git is the state of one checkout, wanted or observed. A nil attribute is not
// managed.
type Git struct {
	Path       string  `state:"path,key,path" doc:"Absolute path of the checkout. Its directory must be there."`
	URL        *string `state:"url,present" doc:"The repository: https://, http://, ssh://, git:// or file://, USER@HOST:PATH, or a path on the host. Without a password: use a key, or a credential helper of git."`
	Ref        *string `state:"ref,in" doc:"Branch, tag or whole commit ID; by default the repository's own choice (HEAD)."`
	Commit     *string `state:"commit" doc:"ID of the commit that is checked out: by default the one that ref names now."`
	Depth      *int    `state:"depth,in" doc:"How many commits of the history are fetched; without it all."`
	Submodules *bool   `state:"submodules,in" doc:"Checks submodules out, too, and theirs."`
	User       *string `state:"user,in,of_user" doc:"Name of the user who owns the checkout, as whom git runs; by default the owner of what is there, else who runs tenet."`
	SSHKey     *string `state:"ssh_key,in,path" doc:"Path of the private key for ssh, on the host; that user must be able to read it."`
	KnownHosts *string `state:"known_hosts,in,path" doc:"Path of a file of known hosts for ssh, in place of the user's and the system's."`
	Force      *bool   `state:"force,in,widens" doc:"Lets go of what was changed in the checkout: files that are edited, commits that are nowhere else. Otherwise that is an error where they would be lost. Files that git does not know stay, unless one of the repository takes their place."`

	// What Complete and Read found.
	source string   // the name on the other side: refs/heads/main
	edits  []string // files that were edited
	stray  []string // submodules that are not at their commit
}

const doc = `A checkout of a git repository at a branch, a tag or a commit.

A plan asks the repository which commit a branch or tag stands for now, and says which one follows which. What is checked out is that commit, with a detached HEAD: no branch of the checkout is moved, and nothing is merged.

Files that were edited and commits that were made in the checkout are not lost: where they would be, the part fails and names them, unless force is given. As long as the commit is the right one, edited files stay as they are; with force they are put back. Absent removes the checkout on the same terms: files that git does not know count too, those that it ignores do not.

git runs as the owner of the checkout, never with more rights, since a repository can bring configuration along. It asks nobody anything, runs no hooks, and reaches repositories by the protocols above only, submodules included, which are not taken from the host's files unless url is. By ssh the other side must be a known host; use known_host. It is tried three times.`

const example = `git "/srv/site" {
  url   = "file:///srv/site.git"
  ref   = "main"
  depth = 1
}`

// Module is the module "git".
var Module = states.Define(states.Type[Git]{
	Name: "git", Doc: doc, Example: example,
	Validate: validate, Complete: complete, Extra: differences,
	Read: read, Write: write, Remove: remove,
	Retry: &states.Retry{Attempts: 3, Delay: 2 * time.Second, Backoff: 2}, Effects: effects,
})

// effects: git runs no hooks, and nothing of the repository.
func effects(want Git, _ bool) states.Effects {
	return states.Effects{Paths: []string{states.Literal(want.Path), "/tmp"}}
}

// maxListed is how many files and submodules a message or change names.
const maxListed = 10

func list(names []string) string {
	text := strings.Join(names[:min(len(names), maxListed)], ", ")
	if n := len(names) - maxListed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// lossError is an error where something would be.
func lossError(format string, args ...any) error {
	return final(&diag.HintError{Err: fmt.Errorf(format, args...), Hint: "save it elsewhere, or let go of it with force = true"})
}

// final is an error that another attempt does not change.
func final(err error) error { return &states.FinalError{Err: err} }

// differences are those that no attribute holds.
func differences(have, want Git) []states.Change {
	var out []states.Change
	if len(have.edits) > 0 && check.True(want.Force) {
		out = append(out, states.Change{Attribute: "edited files", From: list(have.edits), To: "as in the repository"})
	}
	if len(have.stray) > 0 {
		out = append(out, states.Change{Attribute: "submodules", From: list(have.stray), To: "as in the repository"})
	}
	return out
}

// complete asks the repository which commit is wanted.
func complete(ctx context.Context, h host.Host, want *Git) error {
	if want.URL == nil || want.Commit != nil {
		return nil
	}
	if want.Ref != nil && isCommit(*want.Ref) {
		want.Commit = want.Ref
		return nil
	}
	g, err := newProgram(h, *want)
	if err != nil {
		return err
	}
	want.source, err = g.resolve(ctx, want)
	return err
}

func read(ctx context.Context, h host.Host, want Git) (*Git, error) {
	info, err := h.Lstat(want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind != host.Directory:
		return nil, final(fmt.Errorf("%s is a %s, not a checkout", want.Path, info.Kind))
	}
	inside, err := h.Lstat(path.Join(want.Path, ".git"))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := h.ReadDir(want.Path)
		if err == nil && len(entries) > 0 {
			err = final(fmt.Errorf("%s is no checkout of git, and not empty: it holds %s", want.Path, entries[0].Name))
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if inside.Kind != host.Directory {
		return nil, fmt.Errorf("%s/.git is a %s: checkouts that keep their repository elsewhere are not managed", want.Path, inside.Kind)
	}
	g, err := newProgram(h, want)
	if err != nil {
		return nil, err
	}
	have := want
	have.Commit, have.URL = new(""), nil
	*have.Commit, have.edits, err = g.status(ctx, false)
	if err == nil && want.URL != nil {
		have.URL, err = g.url(ctx)
	}
	if err == nil && check.True(want.Submodules) && *have.Commit != "" {
		have.stray, err = g.stray(ctx)
	}
	return &have, err
}

func write(ctx context.Context, h host.Host, have *Git, want Git) error {
	if want.URL == nil || want.Commit == nil {
		return states.InvalidAttribute("url", "it is required for a checkout that is to be there", "")
	}
	g, err := newProgram(h, want)
	if err != nil {
		return err
	}
	if have == nil {
		err = g.begin(ctx, h, want)
	} else {
		err = g.mayLeave(ctx, *have, want)
	}
	if err != nil {
		return err
	}
	if have == nil || *have.URL != *want.URL {
		if err := g.setURL(ctx, *want.URL); err != nil {
			return err
		}
	}
	moves := have == nil || *have.Commit != *want.Commit
	if moves {
		if err := g.fetch(ctx, want); err != nil {
			return err
		}
	}
	if moves || check.True(want.Force) {
		if err := g.checkout(ctx, want); err != nil {
			return err
		}
	}
	if check.True(want.Submodules) {
		return g.updateSubmodules(ctx, want)
	}
	return nil
}

// mayLeave is an error where something would be lost.
func (g *program) mayLeave(ctx context.Context, have, want Git) error {
	if check.True(want.Force) || *have.Commit == *want.Commit {
		return nil
	}
	if len(have.edits) > 0 {
		return lossError("%s holds files that were edited: %s", want.Path, list(have.edits))
	}
	return g.checkPublished(ctx, *have.Commit)
}

// begin makes an empty repository.
func (g *program) begin(ctx context.Context, h host.Host, want Git) error {
	meta := host.Meta{}
	if g.user != "" {
		u, err := h.User(g.user)
		if err != nil {
			return err
		}
		meta = host.Meta{UID: &u.UID, GID: &u.GID}
	}
	err := h.Mkdir(want.Path, meta)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return states.DirectoryError(h, path.Dir(want.Path), err)
	case errors.Is(err, fs.ErrExist): // and empty, as Read has seen
	case err != nil:
		return err
	}
	return g.run(ctx, "init", "--quiet", "--template=")
}

func remove(ctx context.Context, h host.Host, have Git) error {
	g, err := newProgram(h, have)
	if err != nil {
		return err
	}
	if !check.True(have.Force) {
		_, changed, err := g.status(ctx, true)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			slices.Sort(changed)
			return lossError("%s holds files that are nowhere else: %s", have.Path, list(changed))
		}
		if err := g.checkPublished(ctx, *have.Commit); err != nil {
			return err
		}
		if err := g.noStash(ctx); err != nil {
			return err
		}
	}
	return trees.Remove(ctx, h, have.Path)
}
