// Package gittest makes repositories of Git for tests, and servers of them. It needs git and ssh-keygen: where they are missing, a test fails.
package gittest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Repository is a bare repository.
type Repository struct {
	t   testing.TB
	Dir string
}

// Commit is what a commit is to be. The zero value is an empty one on the branch main.
type Commit struct {
	Ref     string            // whole name; empty: refs/heads/main
	Parent  string            // empty: what the ref is now; "none": it has none
	Files   map[string]string // all of them; a name that begins with "x:" is executable, "link:" a link, "module:" a submodule
	Message string
	Key     string    // path of the private key that signs it; empty: it is not signed
	Time    time.Time // zero: one that is the same each time
}

// New makes an empty repository, in a directory of its own.
func New(t testing.TB) *Repository {
	t.Helper()
	r := &Repository{t, filepath.Join(t.TempDir(), "site.git")}
	r.Init("sha1")
	return r
}

// Init makes the repository anew, whose objects are named by sha1 or sha256.
func (r *Repository) Init(format string) {
	r.t.Helper()
	if err := os.RemoveAll(r.Dir); err != nil {
		r.t.Fatal(err)
	}
	r.call("", nil, "init", "--quiet", "--bare", "--initial-branch=main", "--object-format="+format, r.Dir)
}

// URL is its address on this machine.
func (r *Repository) URL() string { return "file://" + r.Dir }

// Git calls git in the repository, and gives what it writes.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	return r.call("", nil, append([]string{"--git-dir", r.Dir}, args...)...)
}

// Import gives a stream to git fast-import.
func (r *Repository) Import(stream string) {
	r.t.Helper()
	r.call(stream, nil, "--git-dir", r.Dir, "fast-import", "--quiet", "--force")
}

// Commit makes a commit, and gives its name.
func (r *Repository) Commit(c Commit) string {
	r.t.Helper()
	if c.Ref == "" {
		c.Ref = "refs/heads/main"
	}
	if c.Time.IsZero() {
		c.Time = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	}
	parent := c.Parent
	if parent == "" {
		parent = strings.TrimSpace(r.Git("for-each-ref", "--format=%(objectname)", c.Ref))
	}
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/gittest/tree\ncommitter T <t@example.org> 1 +0000\ndata 0\ndeleteall\n")
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		writeFile(&stream, name, c.Files[name])
	}
	r.Import("reset refs/gittest/tree\n\n" + stream.String())
	args := []string{"commit-tree", "refs/gittest/tree^{tree}", "-m", c.Message + "."}
	if parent != "" && parent != "none" {
		args = append(args, "-p", parent)
	}
	config := []string{"--git-dir", r.Dir}
	if c.Key != "" {
		config = append(config, "-c", "gpg.format=ssh", "-c", "user.signingkey="+c.Key)
		args = append(args, "-S")
	}
	at := fmt.Sprintf("%d +0000", c.Time.Unix())
	commit := strings.TrimSpace(r.call("", []string{"GIT_COMMITTER_DATE=" + at, "GIT_AUTHOR_DATE=" + at}, append(config, args...)...))
	r.Git("update-ref", c.Ref, commit)
	return commit
}

// writeFile writes a file for fast-import.
func writeFile(stream *strings.Builder, name, content string) {
	mode := "100644"
	for kind, other := range map[string]string{"x:": "100755", "link:": "120000", "module:": "160000"} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			name, mode = rest, other
		}
	}
	name = quote(name)
	if mode == "160000" {
		fmt.Fprintf(stream, "M 160000 %s %s\n", content, name)
		return
	}
	fmt.Fprintf(stream, "M %s inline %s\ndata %d\n%s\n", mode, name, len(content), content)
}

// quote writes a name as git reads it.
func quote(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
			continue
		}
		b.WriteByte(c)
	}
	return `"` + b.String() + `"`
}

// Tag makes an annotated tag of what a revision is; with a key it is signed.
func (r *Repository) Tag(name, revision, key string) {
	r.t.Helper()
	args := []string{"--git-dir", r.Dir, "-c", "gpg.format=ssh", "-c", "user.signingkey=" + key, "tag", "-f", "-m", "release " + name}
	if key != "" {
		args = append(args, "-s")
	} else {
		args = append(args, "-a")
	}
	r.call("", nil, append(args, name, revision)...)
}

// call calls git without what the machine or the user have configured.
func (r *Repository) call(stdin string, env []string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org"}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		told := ""
		if ended, ok := err.(*exec.ExitError); ok {
			told = string(ended.Stderr)
		}
		r.t.Fatalf("git %s: %v: %s (these tests need git: apt install git)", strings.Join(args, " "), err, told)
	}
	return string(out)
}

// Key makes a key, and gives its path and the line of it in a file of allowed signers.
func Key(t testing.TB, principal string) (path, line string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s (these tests need it: apt install openssh-client)", err, out)
	}
	public, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return path, principal + " " + strings.TrimSpace(string(public)) + "\n"
}

// Signers writes a file of allowed signers.
func Signers(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Hash keeps an object as it is, be it right or not, and gives its name.
func (r *Repository) Hash(kind, content string) string {
	r.t.Helper()
	return r.call(content, nil, "--git-dir", r.Dir, "hash-object", "-w", "--literally", "--stdin", "-t", kind)
}
