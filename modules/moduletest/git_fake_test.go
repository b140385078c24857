package moduletest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
)

// Commits of the repository.
var (
	gitOne  = strings.Repeat("1", 40)
	gitTwo  = strings.Repeat("2", 40)
	three   = strings.Repeat("3", 40) // known by its ID alone
	gitMine = strings.Repeat("a", 40) // made in the checkout
)

const (
	gitSite = "/srv/site"
	remote  = "https://example.test/site.git"
)

// gitRefs are what ls-remote says of any repository but one.
func gitRefs() string {
	return gitTwo + "\tHEAD\n" + gitTwo + "\trefs/heads/main\n" + gitOne + "\trefs/heads/old\n" +
		gitMine + "\trefs/tags/v2\n" + gitTwo + "\trefs/tags/v2^{}\n" + gitOne + "\trefs/tags/both\n" + gitOne + "\trefs/heads/both\n"
}

// program answers as git does, as far as the module asks; what it was asked with
// stands in log.
type program struct {
	h   *host.Memory
	ctx context.Context
	dir string
	log *[]host.Command
}

func newGitHost(t *testing.T) host.Host {
	h, _ := logged(t)
	return h
}

func logged(t *testing.T) (*host.Memory, *[]host.Command) {
	h := fake.Host(t)
	log := &[]host.Command{}
	h.Handle("git", func(ctx context.Context, c host.Command) (host.Result, error) {
		*log = append(*log, c)
		p := &program{h: h, ctx: ctx, log: log}
		args := c.Argv[1:]
		for len(args) > 1 && (args[0] == "-c" || args[0] == "-C") {
			if args[0] == "-C" {
				p.dir = args[1]
			}
			args = args[2:]
		}
		out, code, err := p.do(args)
		r := host.Result{Stdout: []byte(out), ExitCode: code}
		if code > 1 {
			r.Stderr, r.Stdout = []byte("fatal: "+out+"\n"), nil
		}
		return r, err
	})
	return h, log
}

func (p *program) get(name string) string { return fake.Text(p.h, p.dir+"/.git/"+name) }

func (p *program) set(name, text string) (string, int, error) {
	return "", 0, p.h.Add(p.dir+"/.git/"+name, text)
}

func (p *program) do(args []string) (string, int, error) {
	has := func(arg string) bool { return slices.Contains(args, arg) }
	last := args[len(args)-1]
	switch args[0] {
	case "ls-remote":
		if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "none.git") }) {
			return "repository not found", 128, nil
		}
		var out strings.Builder
		for line := range strings.Lines(gitRefs()) {
			if _, name, _ := strings.Cut(strings.TrimSpace(line), "\t"); has(name) {
				out.WriteString(line)
			}
		}
		return out.String(), 0, nil
	case "init":
		return p.set("HEAD", "")
	case "config":
		if has("--get") && p.get("url") == "" {
			return "", 1, nil
		} else if has("--get") {
			return p.get("url") + "\n", 0, nil
		} else if has("remote.origin.url") {
			return p.set("url", last)
		}
		return "", 0, nil
	case "fetch":
		if has("+" + three + ":refs/tenet/fetched") {
			return "not allowed", 128, nil
		}
		return p.set("objects", gitOne+gitTwo+three)
	case "cat-file":
		if strings.Contains(p.get("objects"), strings.TrimSuffix(last, "^{commit}")) {
			return "", 0, nil
		}
		return "", 1, nil
	case "checkout":
		if has("--force") {
			if _, _, err := p.set("edited", ""); err != nil {
				return "", 0, err
			}
		}
		commit := args[len(args)-2]
		if err := p.h.Add(p.dir+"/file", "of "+commit); err != nil {
			return "", 0, err
		}
		return p.set("HEAD", commit)
	case "update-ref":
		return p.set("deployed", last)
	case "submodule":
		if has("status") {
			return p.get("modules"), 0, nil
		} else if has("update") {
			return p.set("modules", strings.ReplaceAll(p.get("modules"), "+", " "))
		}
		return "", 0, nil
	}
	return p.look(args)
}

// look are the commands about what is checked out.
func (p *program) look(args []string) (string, int, error) {
	switch args[0] {
	case "status":
		head := p.get("HEAD")
		if head == "" {
			head = "(initial)"
		}
		out := "# branch.oid " + head + "\x00# branch.head (detached)\x00"
		if edited := p.get("edited"); edited != "" {
			out += "1 .M N... 100644 100644 100644 " + gitOne + " " + gitOne + " " + edited + "\x00"
		}
		if extra := p.get("extra"); extra != "" && slices.Contains(args, "--untracked-files=normal") {
			out += "? " + extra + "\x00"
		}
		return out, 0, nil
	case "for-each-ref":
		if slices.Contains(args, "refs/stash") {
			return p.get("stash"), 0, nil
		} else if slices.Contains(args, "--contains="+gitMine) {
			return "", 0, nil
		}
		return "refs/tenet/deployed\n", 0, nil
	case "rev-list":
		return p.get("branch"), 0, nil
	}
	return "unknown command " + args[0], 129, nil
}
