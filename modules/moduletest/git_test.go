package moduletest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/git"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func gitValues(more map[string]any) map[string]any {
	v := map[string]any{"path": gitSite, "url": remote}
	maps.Copy(v, more)
	return v
}

// checkout is one at a commit, with other files in its .git.
func checkout(commit string, files ...string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		fake.Put(t, h, gitSite+"/.git/HEAD", commit, 0o644)
		fake.Put(t, h, gitSite+"/.git/url", remote, 0o644)
		fake.Put(t, h, gitSite+"/file", "of "+commit, 0o644)
		for i := 0; i < len(files); i += 2 {
			fake.Put(t, h, gitSite+"/.git/"+files[i], files[i+1], 0o644)
		}
	}
}

func gitHolds(commit string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if text := fake.Text(h, gitSite+"/file"); text != "of "+commit {
			t.Errorf("the file is %q, want that of %s", text, commit)
		}
	}
}

func TestGit(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: git.Module, Host: newGitHost,
		Hostile: gitValues(map[string]any{"commit": gitTwo, "user": "root", "ssh_key": "/root/key", "known_hosts": "/root/hosts"}),
		Cases: []statestest.Case{
			{Name: "create", Values: gitValues(nil), Action: states.Create, Changes: []string{"url", "commit"}, Check: gitHolds(gitTwo)},
			{Name: "a branch", Values: gitValues(map[string]any{"ref": "old"}), Action: states.Create, Changes: []string{"url", "commit"}, Check: gitHolds(gitOne)},
			{Name: "a tag with a message", Values: gitValues(map[string]any{"ref": "v2", "depth": 1}), Action: states.Create, Changes: []string{"url", "commit"}, Check: gitHolds(gitTwo)},
			{Name: "a full name", Values: gitValues(map[string]any{"ref": "refs/tags/both"}), Action: states.Create, Changes: []string{"url", "commit"}, Check: gitHolds(gitOne)},
			{Name: "a commit that is not handed out by its ID", Values: gitValues(map[string]any{"ref": three}), Action: states.Create, Changes: []string{"url", "commit"}, Check: gitHolds(three)},
			{Name: "in an empty directory", Prepare: func(t *testing.T, h host.Host) { fake.Dir(t, h, gitSite, 0o755) }, Values: gitValues(nil),
				Action: states.Create, Changes: []string{"url", "commit"}},
			{Name: "of a user", Values: gitValues(map[string]any{"user": "alice"}), Action: states.Create, Changes: []string{"url", "commit"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if info, err := h.Lstat(gitSite); err != nil || info.UID != 1000 {
						t.Errorf("%+v, %v", info, err)
					}
				}, Stays: "the simulated git writes as root"},
			{Name: "nothing to do", Prepare: checkout(gitTwo), Values: gitValues(nil)},
			{Name: "a commit, and nobody asked", Prepare: checkout(gitOne), Values: map[string]any{"path": gitSite, "url": remote, "ref": gitOne}},
			{Name: "edited files stay", Prepare: checkout(gitTwo, "edited", "file"), Values: gitValues(nil), Stays: "they would be lost"},
			{Name: "another commit", Prepare: checkout(gitOne), Values: gitValues(nil), Action: states.Update, Changes: []string{"commit"}, Check: gitHolds(gitTwo)},
			{Name: "another URL", Prepare: checkout(gitTwo), Values: gitValues(map[string]any{"url": "git@example.test:site.git"}), Action: states.Update, Changes: []string{"url"}},
			{Name: "edited files are put back", Prepare: checkout(gitTwo, "edited", "file"), Values: gitValues(map[string]any{"force": true}),
				Action: states.Update, Changes: []string{"edited files"}},
			{Name: "all is let go of", Prepare: checkout(gitMine, "edited", "file"), Values: gitValues(map[string]any{"force": true}),
				Action: states.Update, Changes: []string{"commit", "edited files"}, Check: gitHolds(gitTwo)},
			{Name: "submodules", Prepare: checkout(gitTwo, "modules", " "+gitOne+" good\n+"+gitOne+" lib (v1)\n"), Values: gitValues(map[string]any{"submodules": true}),
				Action: states.Update, Changes: []string{"submodules"}},
			{Name: "absent", Ensure: states.Absent, Prepare: checkout(gitTwo), Values: map[string]any{"path": gitSite}, Action: states.Remove, Changes: []string{"commit"}},
			{Name: "absent with all that is in it", Ensure: states.Absent, Prepare: checkout(gitMine, "extra", "notes"), Values: map[string]any{"path": gitSite, "force": true},
				Action: states.Remove, Changes: []string{"commit"}},
		},
	})
}

func TestGitFails(t *testing.T) {
	t.Parallel()
	gone := func(name, says string, files ...string) statestest.Case {
		return statestest.Case{Name: "absent with " + name, Ensure: states.Absent, Prepare: checkout(gitTwo, files...), Values: map[string]any{"path": gitSite}, Fails: says}
	}
	statestest.Run(t, statestest.Suite{Module: git.Module, Host: newGitHost, Cases: []statestest.Case{
		{Name: "edited files", Prepare: checkout(gitOne, "edited", "file with blanks"), Values: gitValues(nil), Fails: "holds files that were edited: file with blanks"},
		{Name: "a commit of its own", Prepare: checkout(gitMine), Values: gitValues(nil), Fails: "which was made there"},
		{Name: "a branch of its own", Prepare: checkout(gitOne, "branch", gitMine+"\n"), Values: gitValues(nil), Fails: "on a branch of its own"},
		gone("edited files", "nowhere else: file", "edited", "file"),
		gone("files that git does not know", "nowhere else: notes", "extra", "notes"),
		gone("a stash", "holds a stash", "stash", "refs/stash\n"),
		gone("a branch", "on a branch of its own", "branch", gitMine+"\n"),
		{Name: "another thing", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, gitSite+"/notes", "", 0o644) }, Values: gitValues(nil), Fails: "no checkout of git, and not empty: it holds notes"},
		{Name: "a file", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, gitSite, "", 0o644) }, Values: gitValues(nil), Fails: "is a file, not a checkout"},
		{Name: "a repository elsewhere", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, gitSite+"/.git", "gitdir: /x", 0o644) }, Values: gitValues(nil), Fails: "keep their repository elsewhere"},
		{Name: "another's", Prepare: func(t *testing.T, h host.Host) {
			checkout(gitTwo)(t, h)
			if err := h.SetMeta(gitSite, host.Meta{UID: new(1000)}); err != nil {
				t.Fatal(err)
			}
		}, Values: gitValues(map[string]any{"user": "www-data"}), Fails: "belongs to alice, and git is to run as www-data"},
		{Name: "no directory", Values: gitValues(map[string]any{"path": "/none/site"}), Fails: "the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "no repository", Values: gitValues(map[string]any{"url": "https://example.test/none.git"}), Fails: "fatal: repository not found"},
		{Name: "no such name", Values: gitValues(map[string]any{"ref": "no"}), Fails: `has no branch or tag "no"`},
		{Name: "two of a name", Values: gitValues(map[string]any{"ref": "both"}), Fails: "write refs/heads/both or refs/tags/both"},
		{Name: "unknown user", Values: gitValues(map[string]any{"user": "nobody-here"}), Fails: "no user named"},
		{Name: "ref beside commit", Values: gitValues(map[string]any{"ref": "main", "commit": gitOne}), Wrong: "beside ref"},
		{Name: "short commit", Values: gitValues(map[string]any{"commit": "abc"}), Wrong: "no ID of a commit"},
		{Name: "depth", Values: gitValues(map[string]any{"depth": 0}), Wrong: "no number of commits"},
		{Name: "key for a shell", Values: gitValues(map[string]any{"ssh_key": "/root/$(id)"}), Wrong: "cannot contain"},
		{Name: "key with a blank", Values: gitValues(map[string]any{"ssh_key": "/root/a -oProxyCommand=x"}), Wrong: "cannot contain"},
	}})
}

// What is no repository, or more than one, is refused before git sees it.
func TestGitNames(t *testing.T) {
	t.Parallel()
	good := []string{
		"https://example.test/a.git", "http://example.test:8080/a", "ssh://git@example.test:22/a", "git://[2001:db8::1]/a",
		"git@example.test:a/b.git", "example.test:a", "file:///srv/a.git", "/srv/a b.git"[:6],
	}
	bad := []string{
		"", "-x", "--upload-pack=touch /x", "ext::sh -c x", "ext::sh", "ftp://a/b", "https://a:b@example.test/c", "https://a@example.test/c", "https://", "https:///x",
		"ssh://-oProxyCommand=x/y", "ssh://-o@h/y", "-oProxyCommand=x:y", "a@-b:c", "h:-c", "a b:c", "a\nb:c", "srv/a", "../a", "/srv/../a",
		"file://host/a", "file:///a/../b", "a::b", "a-b::https://example.test/c", "::", "https://example.test/" + strings.Repeat("a", 3000), "https://$(id)/x",
	}
	refs := map[string]bool{
		"main": true, "v1.2": true, "refs/tags/v1": true, "feature/a-b": true, gitOne: true,
		"": false, "-x": false, "a b": false, "a..b": false, "a.lock": false, "a~1": false, "a^": false, "@": false, "a:b": false, "a*": false, "/a": false, "a//b": false, "a@{1}": false, ".a": false, "a\x00": false,
	}
	check := func(v map[string]any) error {
		want, err := git.Module.Decode(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		return git.Module.Check(want)
	}
	for _, url := range append(slices.Clone(good), bad...) {
		if err := check(gitValues(map[string]any{"url": url})); (err == nil) != slices.Contains(good, url) {
			t.Errorf("%q: %v", url, err)
		}
	}
	for ref, ok := range refs {
		if err := check(gitValues(map[string]any{"ref": ref})); (err == nil) != ok {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// git runs as the owner of what is there, and no repository makes it start a program
// or reach what it must not.
func TestGitEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url, protocols string
	}{{remote, "https:http:ssh:git"}, {"file:///srv/a.git", "https:http:ssh:git:file"}} {
		h, log := logged(t)
		checkout(gitOne)(t, h)
		if err := h.SetMeta(gitSite, host.Meta{UID: new(1000)}); err != nil {
			t.Fatal(err)
		}
		want, err := git.Module.Decode(map[string]any{"path": gitSite, "url": c.url, "ssh_key": "/etc/key"}, nil)
		if err == nil {
			want, err = git.Module.Complete(t.Context(), h, want)
		}
		var have any
		if err == nil {
			have, err = git.Module.Read(t.Context(), h, want)
		}
		if err == nil {
			err = git.Module.Write(t.Context(), h, have, git.Module.Fill(have, want))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range *log {
			words := strings.Join(call.Argv, " ")
			if call.User != "alice" || !strings.Contains(words, "core.hooksPath=/dev/null") {
				t.Errorf("as %q: %s", call.User, words)
			}
			for _, env := range []string{
				"GIT_ALLOW_PROTOCOL=" + c.protocols, "GIT_TERMINAL_PROMPT=0", "GIT_CEILING_DIRECTORIES=/srv",
				"GIT_SSH_COMMAND=ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -i /etc/key",
			} {
				if !slices.Contains(call.Env, env) {
					t.Errorf("%s lacks in its environment %s: %q", words, env, call.Env)
				}
			}
		}
	}
}

// A host without git is told so, before anything is changed.
func TestNoGit(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: git.Module, Host: func(t *testing.T) host.Host { return fake.Host(t) }, Cases: []statestest.Case{
		{Name: "no git", Values: gitValues(nil), Fails: "this host has no git, which the package git brings"},
	}})
}
