package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// program is git, in one checkout.
type program struct {
	h     host.Host
	path  string
	user  string // empty: who runs tenet
	env   []string
	reads []string // what the other side depends on
}

// newProgram finds out as whom git runs: as the owner of the checkout, since its
// configuration names programs.
func newProgram(h host.Host, want Git) (*program, error) {
	g := &program{h: h, path: want.Path}
	if want.User != nil {
		if _, err := h.User(*want.User); errors.Is(err, fs.ErrNotExist) {
			return nil, check.NotOnHost("user", strconv.Quote(*want.User))
		} else if err != nil {
			return nil, err
		}
		g.user = *want.User
	}
	if info, err := h.Lstat(want.Path); err == nil {
		if err := g.actAs(info.UID); err != nil {
			return nil, err
		}
	}
	url := ""
	if want.URL != nil {
		url = *want.URL
	}
	protocols := "https:http:ssh:git"
	if local, ok := localPath(url); ok {
		protocols += ":file"
		g.reads = append(g.reads, local)
	}
	ssh := "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes"
	if want.SSHKey != nil {
		ssh += " -o IdentitiesOnly=yes -i " + *want.SSHKey // of harmless characters; see validate
		g.reads = append(g.reads, *want.SSHKey)
	}
	if want.KnownHosts != nil {
		ssh += " -o GlobalKnownHostsFile=/dev/null -o UserKnownHostsFile=" + *want.KnownHosts
		g.reads = append(g.reads, *want.KnownHosts)
	}
	g.env = []string{
		"LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CEILING_DIRECTORIES=" + path.Dir(want.Path), "GIT_ALLOW_PROTOCOL=" + protocols, "GIT_SSH_COMMAND=" + ssh,
	}
	return g, nil
}

// actAs takes the owner of what is there, or wants it to be the user.
func (g *program) actAs(uid int) error {
	if own, _ := g.h.Actor(); own == uid && g.user == "" {
		return nil
	}
	u, err := g.h.UserID(uid)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s belongs to the user %d, who has no name on this host", g.path, uid)
	}
	if err != nil {
		return err
	}
	if g.user != "" && g.user != u.Name {
		if named, err := g.h.User(g.user); err != nil || named.UID != uid {
			return fmt.Errorf("%s belongs to %s, and git is to run as %s: change its owner first, with all below", g.path, u.Name, g.user)
		}
	}
	g.user = u.Name
	return nil
}

func (g *program) command(args ...string) host.Command {
	argv := []string{
		"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false",
		"-c", "protocol.ext.allow=never", "-c", "advice.detachedHead=false",
	}
	return host.Command{Argv: append(argv, args...), Env: g.env, User: g.user}
}

func (g *program) run(ctx context.Context, args ...string) error {
	_, err := process.Run(ctx, g.h, g.command(append([]string{"-C", g.path}, args...)...))
	return explain(err)
}

func (g *program) query(ctx context.Context, args ...string) (string, error) {
	return g.ask(ctx, []string{g.path}, append([]string{"-C", g.path}, args...)...)
}

func (g *program) ask(ctx context.Context, reads []string, args ...string) (string, error) {
	r, err := process.Query(ctx, g.h, host.Query{Command: g.command(args...), Reads: reads})
	if err == nil && r.Truncated {
		err = errors.New("git says more than can be read")
	}
	return string(r.Stdout), explain(err)
}

func explain(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this host has no git, which the package git brings: %w", err)
	}
	return err
}

// exits reports whether git ended with that status.
func exits(err error, status int) bool {
	exit, ok := errors.AsType[*process.ExitError](err)
	return ok && exit.Result.ExitCode == status
}

// resolve asks the repository which commit a name stands for, and gives the name in
// full.
func (g *program) resolve(ctx context.Context, want *Git) (source string, err error) {
	names := []string{"HEAD"}
	if want.Ref != nil {
		names = []string{"refs/heads/" + *want.Ref, "refs/tags/" + *want.Ref, "refs/tags/" + *want.Ref + "^{}"}
		if strings.HasPrefix(*want.Ref, "refs/") {
			names = []string{*want.Ref, *want.Ref + "^{}"}
		}
	}
	said, err := g.ask(ctx, g.reads, append([]string{"ls-remote", "--quiet", "--", *want.URL}, names...)...)
	if err != nil {
		return "", err
	}
	found := map[string]string{}
	for line := range strings.Lines(said) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[name] = id
	}
	for _, name := range names {
		id := found[name]
		if id == "" || strings.HasSuffix(name, "^{}") {
			continue
		}
		if source != "" {
			return "", fmt.Errorf("%q is a branch and a tag of %s: write %s or %s", *want.Ref, *want.URL, source, name)
		}
		source = name
		if peeled := found[name+"^{}"]; peeled != "" {
			id = peeled
		}
		if !isCommit(id) {
			return "", fmt.Errorf("git names no commit of %s: %.80q", name, id)
		}
		want.Commit = &id
	}
	switch {
	case source == "" && want.Ref == nil:
		return "", fmt.Errorf("%s has no commit, or no HEAD: write ref", *want.URL)
	case source == "":
		return "", fmt.Errorf("%s has no branch or tag %q (a commit is written with all its digits)", *want.URL, *want.Ref)
	}
	return source, nil
}

// status gives the commit that is checked out, empty for none, and the files that
// are not as they are there; with all, files that git does not know too, and what is
// in submodules.
func (g *program) status(ctx context.Context, all bool) (commit string, changed []string, err error) {
	args := []string{"status", "--porcelain=v2", "--branch", "-z", "--no-renames"}
	if all {
		args = append(args, "--untracked-files=normal", "--ignore-submodules=none")
	} else {
		args = append(args, "--untracked-files=no", "--ignore-submodules=all")
	}
	said, err := g.query(ctx, args...)
	if err == nil {
		commit, changed = parseStatus(said)
	}
	return commit, changed, err
}

// parseStatus takes apart what "git status --porcelain=v2 --branch -z" says; see
// git-status(1).
func parseStatus(said string) (commit string, changed []string) {
	for _, row := range strings.Split(said, "\x00") {
		// 1 XY sub mH mI mW hH hI path; u XY sub m1 m2 m3 mW h1 h2 h3 path; ? path
		fields := map[byte]int{'1': 9, 'u': 11, '?': 2}
		switch {
		case strings.HasPrefix(row, "# branch.oid "):
			if commit = strings.TrimPrefix(row, "# branch.oid "); commit == "(initial)" {
				commit = ""
			}
		case row == "" || row[0] == '#':
		default:
			words := strings.SplitN(row, " ", max(1, fields[row[0]]))
			changed = append(changed, words[len(words)-1])
		}
	}
	return commit, changed
}

// url is where the checkout comes from.
func (g *program) url(ctx context.Context) (*string, error) {
	said, err := g.query(ctx, "config", "--local", "--get", "remote.origin.url")
	if exits(err, 1) {
		return new(""), nil
	}
	return new(strings.TrimSuffix(said, "\n")), err
}

// stray names the submodules that are not at their commit.
func (g *program) stray(ctx context.Context) ([]string, error) {
	said, err := g.query(ctx, "submodule", "status", "--recursive")
	return parseStray(said), err
}

// parseStray takes apart what "git submodule status" says: a mark, the commit and
// the path in each line.
func parseStray(said string) (names []string) {
	for line := range strings.Lines(said) {
		if words := strings.Fields(line[1:]); line[0] != ' ' && len(words) > 1 {
			names = append(names, words[1])
		}
	}
	return names
}
