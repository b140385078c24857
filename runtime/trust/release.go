package trust

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// ReleaseFormat is the version of releases. Whoever reads one does not pass over what a later format means.
const ReleaseFormat = "tenet.release/1"

// Release is a version of the programs that agents run. Its signature covers what each program is; the programs lie elsewhere, under the digests
// that stand here.
type Release struct {
	Format   string    `json:"format"`
	Version  string    `json:"version"` // see CheckVersion
	Programs []Program `json:"programs"`
}

// Program is a program of a release, for one operating system and architecture, as Go calls them.
type Program struct {
	Name string `json:"name"` // tenet, or tenet-agent
	OS   string `json:"os"`
	Arch string `json:"arch"`
	Content
}

// Limits of a release.
const (
	maxPrograms    = 64
	maxWord        = 40
	maxVersion     = 100
	MaxProgramSize = 256 << 20 // bytes
)

// CheckVersion says why a text can be no version of a release. It is a semantic version with all of its three numbers, and without build
// metadata, which have no order: https://semver.org, section 10.
func CheckVersion(version string) error {
	if len(version) > maxVersion || !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%.40q is no version of a release: it is written like v1.2.3 or v1.3.0-rc.1", version)
	}
	return nil
}

// HasOrder tells whether a version can be compared with those of releases: one that was built from no release may not be.
func HasOrder(version string) bool { return semver.IsValid(version) }

// CompareVersions orders versions that have an order, as semantic versioning does.
func CompareVersions(a, b string) int { return semver.Compare(a, b) }

// Check says why a release can be none.
func (r *Release) Check() error {
	if r.Format != ReleaseFormat {
		return fmt.Errorf("its format is %.40q, and this program knows %s", r.Format, ReleaseFormat)
	}
	if err := CheckVersion(r.Version); err != nil {
		return err
	}
	if len(r.Programs) == 0 || len(r.Programs) > maxPrograms {
		return fmt.Errorf("it has %d programs, and has to have 1 to %d", len(r.Programs), maxPrograms)
	}
	seen := map[[3]string]bool{}
	for _, p := range r.Programs {
		key := [3]string{p.Name, p.OS, p.Arch}
		for _, word := range key {
			if !isWord(word) {
				return fmt.Errorf("%.40q cannot be the name of a program, a system or an architecture", word)
			}
		}
		switch {
		case p.SHA256.IsZero() || p.Size <= 0 || p.Size > MaxProgramSize:
			return fmt.Errorf("the program %s has no digest, or not between 1 byte and %d MiB", p.Title(), MaxProgramSize>>20)
		case seen[key]:
			return fmt.Errorf("the program %s stands there twice", p.Title())
		}
		seen[key] = true
	}
	return nil
}

func isWord(word string) bool {
	return word != "" && len(word) <= maxWord && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// Title names a program for people: tenet-agent/linux/amd64.
func (p *Program) Title() string { return p.Name + "/" + p.OS + "/" + p.Arch }

// Program gives a program of the release.
func (r *Release) Program(name, system, arch string) (*Program, error) {
	for i, p := range r.Programs {
		if p.Name == name && p.OS == system && p.Arch == arch {
			return &r.Programs[i], nil
		}
	}
	var others []string
	for _, p := range r.Programs {
		others = append(others, p.Title())
	}
	return nil, refuse(KindRelease, "it has no program %s/%s/%s, but %s", name, system, arch, strings.Join(others, ", "))
}

// OpenRelease gives a release that a key has signed which may release programs.
func (c *Chain) OpenRelease(s *Signed) (*Release, error) {
	if s == nil {
		return nil, refuse(KindRelease, "there is none")
	}
	r, _, err := open[Release](c, s, KindRelease, VerbRelease)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, refuse(KindRelease, "%v", err)
	}
	return r, nil
}

// Running is a program that runs.
type Running struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Check says why a program can be none.
func (r *Running) Check() error {
	for _, text := range []string{r.Name, r.Version, r.OS, r.Arch} {
		if text == "" || len(text) > maxVersion || strings.ContainsFunc(text, isControl) {
			return errors.New("it names no program that runs")
		}
	}
	return nil
}

// Follow gives the program of a release that may follow one that runs: for the same system and architecture, and of a later version.
func (r *Release) Follow(now *Running) (*Program, error) {
	p, err := r.Program(now.Name, now.OS, now.Arch)
	switch {
	case err != nil:
		return nil, err
	case !HasOrder(now.Version):
		return nil, refuse(KindRelease, "the program that runs has the version %.40q, which comes neither before nor after %s", now.Version, r.Version)
	case CompareVersions(r.Version, now.Version) <= 0:
		return nil, refuse(KindRelease, "its version %s does not come after %s, which runs", r.Version, now.Version)
	}
	return p, nil
}
