package trust_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

func content(text string) trust.Content {
	return trust.Content{SHA256: trust.DigestOf([]byte(text)), Size: int64(len(text))}
}

// releaseWorld is a chain that lets one key release programs, and another one assign.
func releaseWorld(t *testing.T) (chain *trust.Chain, releaser, other trust.PrivateKey) {
	t.Helper()
	var keys [4]trust.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = trust.GenerateKey(); err != nil {
			t.Fatal(err)
		}
	}
	document, err := trust.Sign(trust.KindDocument, trust.Document{Generation: 1, Number: 1, Issued: time.Now(), Recovery: keys[0].Public(), Keys: []trust.Delegated{
		{Key: keys[1].Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust, trust.VerbAssign}},
		{Key: keys[2].Public(), Name: "releases", Verbs: []trust.Verb{trust.VerbRelease}},
	}}, keys[1], keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if chain, err = trust.ParseChain([]*trust.Signed{document}); err != nil {
		t.Fatal(err)
	}
	return chain, keys[2], keys[1]
}

func TestReleases(t *testing.T) {
	chain, releaser, other := releaseWorld(t)
	good := func() trust.Release {
		return trust.Release{Format: trust.ReleaseFormat, Version: "v1.2.0", Programs: []trust.Program{{Name: "tenet", OS: "linux", Arch: "amd64", Content: content("program")}}}
	}
	sign := func(r trust.Release, keys ...trust.PrivateKey) *trust.Signed {
		signed, err := trust.Sign(trust.KindRelease, r, keys...)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	if _, err := chain.OpenRelease(sign(good(), releaser)); err != nil {
		t.Fatal(err)
	}
	changed := sign(good(), releaser)
	changed.Content = []byte(strings.Replace(string(changed.Content), "v1.2.0", "v1.3.0", 1))
	otherKind, err := trust.Sign(trust.KindAssignment, good(), releaser)
	if err != nil {
		t.Fatal(err)
	}
	for name, signed := range map[string]*trust.Signed{"unsigned": sign(good()), "by a key that may not": sign(good(), other), "changed": changed, "of another kind": otherKind, "none": nil} {
		if r, err := chain.OpenRelease(signed); err == nil {
			t.Errorf("a release that is %s is accepted: %+v", name, r)
		}
	}
	for name, change := range map[string]func(*trust.Release){
		"another format":  func(r *trust.Release) { r.Format = "tenet.release/2" },
		"no version":      func(r *trust.Release) { r.Version = "" },
		"a short version": func(r *trust.Release) { r.Version = "v1.2" },
		"build metadata":  func(r *trust.Release) { r.Version = "v1.2.0+dirty" },
		"a path":          func(r *trust.Release) { r.Version = "../../etc/passwd" },
		"no programs":     func(r *trust.Release) { r.Programs = nil },
		"one twice":       func(r *trust.Release) { r.Programs = append(r.Programs, r.Programs[0]) },
		"an odd name":     func(r *trust.Release) { r.Programs[0].Name = "../tenet" },
		"no digest":       func(r *trust.Release) { r.Programs[0].SHA256 = trust.Digest{} },
		"too large":       func(r *trust.Release) { r.Programs[0].Size = trust.MaxProgramSize + 1 },
	} {
		r := good()
		change(&r)
		if _, err := chain.OpenRelease(sign(r, releaser)); err == nil {
			t.Errorf("a release with %s is accepted", name)
		}
	}
}

// What follows is of a later version, and for the same program, system and architecture.
func TestReleasesFollow(t *testing.T) {
	r := trust.Release{Format: trust.ReleaseFormat, Version: "v1.10.0", Programs: []trust.Program{{Name: "tenet", OS: "linux", Arch: "amd64", Content: content("program")}}}
	for _, c := range []struct {
		name, version, arch string
		follows             bool
	}{
		{"tenet", "v1.9.9", "amd64", true},
		{"tenet", "v1.10.0-rc.1", "amd64", true},
		{"tenet", "v0.0.0-20260101000000-abcdefabcdef", "amd64", true},
		{"tenet", "v1.10.0", "amd64", false},
		{"tenet", "v1.10.0+dirty", "amd64", false},
		{"tenet", "v1.10.1-rc.1", "amd64", false},
		{"tenet", "v2.0.0", "amd64", false},
		{"tenet", "devel-0123456789ab", "amd64", false},
		{"tenet", "v1.9.9", "arm64", false},
		{"tenet-agent", "v1.9.9", "amd64", false},
	} {
		_, err := r.Follow(&trust.Running{Name: c.name, Version: c.version, OS: "linux", Arch: c.arch})
		if (err == nil) != c.follows {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
