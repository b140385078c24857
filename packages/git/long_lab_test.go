//go:build lab

package git

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/git/gittest"
)

const (
	siteCount   = 100
	commitCount = 10_000
	// What a repository of that many commits may take here.
	maxCache = 64 << 20
	maxStep  = time.Minute
)

// longHistory makes a repository in which each commit changes one of many sites, and gives the commits, the oldest first.
func longHistory(t *testing.T) (*gittest.Repository, []string) {
	repository := gittest.New(t)
	var b strings.Builder
	for i := range commitCount {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter T <t@example.org> %d +0000\ndata 1\nx\n", at(0).Unix()+int64(i)*60)
		for s := range siteCount {
			if i == 0 || i%siteCount == s {
				text := fmt.Sprintf("# site %d at %d\n", s, i)
				fmt.Fprintf(&b, "M 100644 inline sites/s%02d/site.hcl\ndata %d\n%s\n", s, len(text), text)
			}
		}
	}
	repository.Import(b.String())
	return repository, strings.Fields(repository.Git("rev-list", "--reverse", "main"))
}

// story follows a repository, and compares what it is told with what the repository itself says.
type story struct {
	*testing.T
	random     *rand.Rand
	repository *gittest.Repository
	server     *gittest.Server
	commits    []string // of the history as it began
	client     *Client
	r          *Repository
	key        string
	signers    string
	held       string // the commit that was followed last
	signed     map[string]bool
}

// A repository is followed through whatever may come: many commits at a time, a push by force, another history, commits that nobody has signed, and a server that
// hangs. What is told is true each time, and neither time nor disk go out of hand.
func TestLongStory(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	repository, commits := longHistory(t)
	key, line := gittest.Key(t, "alice@example.org")
	s := &story{T: t, random: rand.New(rand.NewPCG(seed, 1)), repository: repository, commits: commits, key: key, signers: gittest.Signers(t, line), signed: map[string]bool{}}
	s.server = repository.Serve(true)
	s.client = client(t)
	s.client.CAFile, s.client.Limits.Cache = s.server.CAFile, maxCache
	s.r = open(t, s.client, s.server.Address())
	events := []func() string{s.advance, s.goBack, s.sign, s.another, s.noNews, s.hang}
	for i := range 24 {
		event := events[i%len(events)] // each comes several times, and first in this order
		if i >= len(events) {
			event = events[s.random.IntN(len(events))]
		}
		what, begin := event(), time.Now()
		s.follow(what)
		if took := time.Since(begin); took > maxStep {
			t.Errorf("%s took %v", what, took)
		}
		if bytes, err := s.r.size(); err != nil || bytes > maxCache {
			t.Errorf("after %s the cache has %d bytes: %v", what, bytes, err)
		}
		if t.Failed() {
			t.Fatalf("step %d: %s", i, what)
		}
	}
}

func (s *story) set(commit string) { s.repository.Git("update-ref", "refs/heads/main", commit) }

// advance goes on in the history as it began, from wherever it is there.
func (s *story) advance() string {
	now := max(slices.Index(s.commits, s.held), 0)
	s.set(s.commits[min(now+1+s.random.IntN(3000), len(s.commits)-1)])
	return "many commits"
}

func (s *story) goBack() string {
	s.set(s.commits[s.random.IntN(len(s.commits)/2)])
	return "a push by force"
}

func (s *story) commit(parent, key string) string {
	files := map[string]string{"sites/s00/site.hcl": fmt.Sprint(s.random.Uint64()), "other/file": "x"}
	commit := s.repository.Commit(gittest.Commit{Parent: parent, Files: files, Key: key, Time: at(200 + s.random.IntN(100))})
	s.signed[commit] = key != ""
	return commit
}

func (s *story) sign() string {
	s.commit("", s.key)
	return "a signed commit"
}

func (s *story) another() string {
	s.commit("none", "")
	return "another history"
}

func (s *story) noNews() string { return "nothing new" }

// hang has the server hang for a while, in which there is an answer in time, and then there is something new.
func (s *story) hang() string {
	s.server.Before(gittest.Hang)
	s.client.Timeout = time.Second / 2
	_, err := s.r.Resolve(s.Context(), "main")
	wants(s.T, err, "timeout", "longer than")
	commit := s.commit("", "")
	wants(s.T, s.r.Fetch(s.Context(), Revision{Commit: commit}), "timeout", "longer than")
	s.server.Before(nil)
	s.client.Timeout = time.Minute
	return "a server that hangs"
}

// follow looks, fetches and compares.
func (s *story) follow(what string) {
	s.Helper()
	v, err := s.r.Resolve(s.Context(), "main")
	if err != nil {
		s.Fatal(what, err)
	}
	if want := strings.TrimSpace(s.repository.Git("rev-parse", "main")); v.Commit != want {
		s.Fatalf("%s: it is %s, and not %s", what, v.Commit, want)
	}
	if err := s.r.Fetch(s.Context(), v, s.held); err != nil {
		s.Fatal(what, err)
	}
	_, err = s.r.Verify(s.Context(), v, AllowedSigners{File: s.signers})
	if (err == nil) != s.signed[v.Commit] {
		s.Errorf("%s: signed %v, and %v", what, s.signed[v.Commit], err)
	}
	if s.held != "" {
		s.compare(what, v)
	}
	to := filepath.Join(s.TempDir(), "site")
	if _, err := s.r.Extract(s.Context(), v.Commit, "sites/s00", to); err != nil {
		s.Fatal(what, err)
	}
	want := map[string]string{"site.hcl": s.repository.Git("show", v.Commit+":sites/s00/site.hcl")}
	if got := tree(s.T, to); !maps.Equal(got, want) {
		s.Errorf("%s: there is %q, and not %q", what, got, want)
	}
	s.held = v.Commit
}

// compare compares what is told of two commits with what the repository says, which has its whole history.
func (s *story) compare(what string, v Revision) {
	s.Helper()
	is, err := s.r.IsDescendant(s.Context(), v, s.held)
	before := strings.Fields(s.repository.Git("rev-list", v.Commit))
	if want := slices.Contains(before, s.held); err != nil || is != want {
		s.Errorf("%s: %s comes after %s: %v %v, and not %v", what, v.Commit, s.held, is, err, want)
	}
	changed, err := s.r.Changed(s.Context(), s.held, v.Commit)
	if want := strings.Fields(s.repository.Git("diff-tree", "-r", "--no-renames", "--name-only", s.held, v.Commit)); err != nil || !slices.Equal(changed, want) {
		s.Errorf("%s: %d files have changed, and not %d: %v", what, len(changed), len(want), err)
	}
}
