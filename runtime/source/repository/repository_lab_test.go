//go:build lab

package repository_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/packages/git/gittest"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/repository"
	"github.com/tenetcm/tenet/runtime/source/sourcetest"
)

type place struct {
	*testing.T
	repository *gittest.Repository
	client     *git.Client
}

func newPlace(t *testing.T) *place {
	return &place{t, gittest.New(t), &git.Client{Dir: filepath.Join(t.TempDir(), "cache"), Getenv: os.Getenv, Timeout: time.Minute}}
}

func (p *place) of(s repository.Source, url string) *repository.Source {
	p.Helper()
	r, err := p.client.Repository(url)
	if err != nil {
		p.Fatal(err)
	}
	s.Repository = r
	return &s
}

func (p *place) Source() source.Source {
	return p.of(repository.Source{Ref: "main"}, p.repository.URL())
}

func (p *place) Put(files map[string]string) {
	all := map[string]string{}
	for name, text := range files {
		if strings.HasPrefix(text, "#!") {
			name = "x:" + name
		}
		all[name] = text
	}
	p.repository.Commit(gittest.Commit{Files: all})
}

func (p *place) Break(broken bool) {
	from, to := p.repository.Dir, p.repository.Dir+".away"
	if !broken {
		from, to = to, from
	}
	if err := os.Rename(from, to); err != nil {
		p.Fatal(err)
	}
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Place { return newPlace(t) })
}

const (
	siteCount   = 100
	commitCount = 10_000
)

// history is a repository of many sites and commits, as a stream.
func history() string {
	var b strings.Builder
	for i := range commitCount {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter T <t@example.org> %d +0000\ndata 1\nx\n", 1_700_000_000+i)
		if i == 0 {
			for s := range siteCount {
				text := fmt.Sprintf("# site %d\n", s)
				fmt.Fprintf(&b, "M 100644 inline sites/s%d/site.hcl\ndata %d\n%s\n", s, len(text), text)
			}
			continue
		}
		text := fmt.Sprintf("# site, commit %d\n", i)
		fmt.Fprintf(&b, "M 100644 inline sites/s%d/site.hcl\ndata %d\n%s\n", i%siteCount, len(text), text)
	}
	return b.String()
}

// follows is a follower of one of the sites, by a clock of its own.
type follows struct {
	*testing.T
	f      *source.Follower
	now    time.Time
	events []string
	broken string // what no site may hold
}

// follow follows a site anew, after a revision that has counted elsewhere.
func (p *place) follow(s *repository.Source, after ...source.Revision) *follows {
	p.Helper()
	w := &follows{T: p.T, now: time.Now()}
	var former source.Revision
	for _, r := range after {
		former = r
	}
	f, err := source.Open(source.Config{Source: s, Dir: p.TempDir(), After: former, Now: func() time.Time { return w.now }, Random: func() float64 { return 0.5 },
		Check: func(_ context.Context, dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, "site.hcl"))
			if err == nil && w.broken != "" && strings.Contains(string(data), w.broken) {
				err = errors.New("site.hcl:1:1: it does not load")
			}
			return err
		},
		Tell: func(e source.Event) { w.events = append(w.events, string(e.Kind)) }})
	if err != nil {
		p.Fatal(err)
	}
	w.f = f
	return w
}

// turn takes the next turn, and compares what was told.
func (w *follows) turn(want string) {
	w.Helper()
	w.events, w.now = nil, w.now.Add(time.Hour)
	if _, err := w.f.Turn(w.Context()); err != nil {
		w.Fatal(err)
	}
	if got := strings.Join(w.events, " "); got != want {
		w.Fatalf("told was %q, and not %q: %+v", got, want, w.f.State())
	}
}

func (w *follows) holds(want string) {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.f.Folder(), "site.hcl"))
	if err != nil || strings.TrimSpace(string(data)) != want {
		w.Fatalf("it holds %q, %v, and not %q", data, err, want)
	}
}

// bytesIn is how much a folder holds.
func bytesIn(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// A repository of 100 sites and 10,000 commits is followed through bad commits, force-pushes and a server that hangs, in bounded time and disk.
func TestFollowLongHistory(t *testing.T) {
	p := newPlace(t)
	p.repository.Import(history())
	server := p.repository.Serve(false)
	p.client.Timeout = 20 * time.Second
	w := p.follow(p.of(repository.Source{Ref: "main", Dir: "sites/s7"}, server.Address()))
	began := time.Now()
	w.turn("adopted")
	w.holds("# site, commit 9907")
	w.turn("")
	commit := func(parent, text string) string {
		t.Helper()
		return p.repository.Commit(gittest.Commit{Parent: parent, Files: map[string]string{"sites/s7/site.hcl": text + "\n"}, Time: time.Now()})
	}
	good := commit("", "# good")
	w.turn("adopted")
	w.holds("# good")
	w.broken = "bad"
	commit("", "# bad")
	w.turn("rejected")
	w.holds("# good")
	commit("", "# better")
	w.turn("skipped adopted")
	w.holds("# better")
	commit(good, "# rewritten") // a force-push, told, and followed
	w.turn("rewritten adopted")
	w.holds("# rewritten")
	p.repository.Git("update-ref", "-d", "refs/heads/main")
	w.turn("away")
	w.holds("# rewritten")
	commit("none", "# an unrelated history")
	w.turn("back rewritten adopted")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if size := bytesIn(t, p.client.Dir); size > 8<<20 {
		t.Errorf("the cache has %d bytes", size)
	}

	p.repository.Commit(gittest.Commit{Files: map[string]string{"sites/s7/site.hcl": "# an unrelated history\n", "sites/s8/site.hcl": "# another site\n"}, Time: time.Now()})
	w.turn("advanced") // it is not this site that has changed
	w.holds("# an unrelated history")

	p.client.Timeout = 2 * time.Second
	server.Before(gittest.Hang)
	began = time.Now()
	w.turn("away")
	w.turn("")
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("two looks at a server that hangs took %v", took)
	}
	w.holds("# an unrelated history")
	server.Before(nil)
	p.client.Timeout = 20 * time.Second
	commit("", "# back")
	w.turn("back adopted")
	w.holds("# back")
}

// Where signatures count, nothing else does: no unsigned commit, no signature of others, no old commit that was signed.
func TestFollowSigned(t *testing.T) {
	p := newPlace(t)
	key, line := gittest.Key(t, "release@example.org")
	other, _ := gittest.Key(t, "other@example.org")
	signers := gittest.Signers(t, line)
	w := p.follow(p.of(repository.Source{Ref: "main", Signers: signers}, p.repository.URL()))
	commit := func(parent, text, key string) string {
		t.Helper()
		return p.repository.Commit(gittest.Commit{Parent: parent, Files: map[string]string{"site.hcl": text + "\n"}, Key: key, Message: text, Time: time.Now()})
	}
	commit("", "# unsigned", "")
	w.turn("rejected")
	first := commit("", "# first", key)
	w.turn("skipped adopted")
	w.holds("# first")
	if by := w.f.State().Fetched.Signer; !strings.HasPrefix(by, "release@example.org SHA256:") {
		t.Errorf("it was signed by %q", by)
	}
	second := commit("", "# second", key)
	w.turn("adopted")
	commit("", "# by another key", other)
	w.turn("rejected")
	w.holds("# second")
	p.repository.Git("update-ref", "refs/heads/main", first)
	w.turn("skipped rejected")
	w.holds("# second")
	if problem := w.f.State().Problem; problem == nil || problem.Code != "rewritten" || problem.Hint == "" {
		t.Errorf("the problem is %+v", problem)
	}
	commit("none", "# an unrelated history", key)
	w.turn("skipped rejected")
	w.holds("# second")
	p.repository.Git("update-ref", "refs/heads/main", second)
	commit("", "# third", key)
	w.turn("skipped adopted")
	w.holds("# third")

	// Another machine, without a cache, that goes on where this one was, is not taken back either.
	third := w.f.State().Held
	p.repository.Git("update-ref", "refs/heads/main", second)
	anew := newPlace(t)
	w = p.follow(anew.of(repository.Source{Ref: "main", Signers: signers}, p.repository.URL()), third)
	w.turn("rejected")
	if problem := w.f.State().Problem; problem == nil || problem.Code != "rewritten" || w.f.Folder() != "" {
		t.Errorf("the problem is %+v", problem)
	}
	p.repository.Git("update-ref", "refs/heads/main", third.ID)
	commit("", "# fourth", key)
	w.turn("skipped adopted")
	w.holds("# fourth")
}

// Nothing of a commit is taken that has links that lead anywhere, and nothing outside of the folder is written.
func TestFollowHostileCommit(t *testing.T) {
	p := newPlace(t)
	w := p.follow(p.of(repository.Source{Ref: "main"}, p.repository.URL()))
	p.repository.Commit(gittest.Commit{Files: map[string]string{"site.hcl": "# one\n"}})
	w.turn("adopted")
	files := map[string]string{"site.hcl": "# two\n"}
	hostile := maps.Clone(files)
	hostile["link:secrets"] = "/etc"
	p.repository.Commit(gittest.Commit{Files: hostile})
	w.turn("rejected")
	w.holds("# one")
	p.repository.Commit(gittest.Commit{Files: files})
	w.turn("skipped adopted")
	w.holds("# two")
}
