//go:build lab

package get_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/packages/get"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/packages/git/gittest"
	"github.com/tenetcm/tenet/packages/lock"
)

// A package in a repository is locked by its commit, whatever its tag stands for later; signers sign tags or commits.
func TestPackagesInRepositories(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) { testPackages(t, format) })
	}
}

func testPackages(t *testing.T, format string) {
	origin := gittest.New(t)
	origin.Init(format)
	key, line := gittest.Key(t, "release@example.org")
	files := func(text string) map[string]string {
		return map[string]string{"parts/page/main.hcl": "file \"/page\" {\n content = " + text + "\n}\n", "parts/page/vendor/x": "left out", "README": "no part of it"}
	}
	first := origin.Commit(gittest.Commit{Files: files(`"one"`), Time: time.Now()})
	origin.Tag("v1", first, "")
	server := origin.Serve(false)
	p := newPlace(t, map[string]string{"site.hcl": "component \"page\" {\n source = \"git::" + server.Address() + "//parts/page?ref=v1\"\n}\n"})
	p.repositories = &git.Client{Dir: filepath.Join(t.TempDir(), "repositories"), Getenv: os.Getenv, Timeout: time.Minute}
	l, _, err := p.get(false, false)
	p.must(err)
	if len(l.Packages) != 1 || l.Packages[0].From != first || l.Packages[0].Version != "v1" {
		t.Fatalf("the lock has %+v", l.Packages)
	}
	digest := l.Packages[0].Digest
	if parts, err := p.offline(p.cache); err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}

	// The tag is moved: another cache brings the commit that is locked.
	second := origin.Commit(gittest.Commit{Files: files(`"two"`), Key: key, Time: time.Now()})
	origin.Tag("v1", second, key)
	p.cache, p.repositories.Dir = t.TempDir(), filepath.Join(t.TempDir(), "repositories")
	l, _, err = p.get(false, true)
	p.must(err)
	if l.Packages[0].Digest != digest || l.Packages[0].From != first {
		t.Errorf("the moved tag was taken: %+v", l.Packages)
	}
	server.Before(gittest.Hang)
	if parts, err := p.offline(""); err != nil || len(parts) != 1 {
		t.Error(parts, err)
	}
	server.Before(nil)

	// Signers.
	p.signers = &get.Signers{Name: "signers", Data: []byte(line)}
	if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("the first commit has no signature: %v", err)
	}
	l, changes, err := p.get(true, false)
	p.must(err)
	if by := l.Packages[0].Signer; l.Packages[0].From != second || !strings.HasPrefix(by, "release@example.org SHA256:") || len(changes) != 1 {
		t.Errorf("updated: %+v", l.Packages)
	}

	// A lock that says of the commit what it does not hold.
	wrong := *l
	wrong.Packages[0].Digest = digest
	p.must(os.WriteFile(filepath.Join(p.dir, lock.Name), wrong.Bytes(), 0o644))
	p.must(os.RemoveAll(filepath.Join(p.dir, "vendor")))
	p.cache = t.TempDir()
	if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "have the digest") {
		t.Errorf("another digest: %v", err)
	}
}
