package packages

import (
	"slices"
	"testing"
)

const dpkgStatus = `Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 2.36-9
Description: library
 Package: hidden
 Status: install ok installed

Package: libc6
Status: hold ok installed
Architecture: i386
Version: 2.36-8

Package: half
Status: install ok half-configured
Version: 1

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1.0

Package: triggers
Status: install ok triggers-pending
Version: 3`

func TestFindInstalled(t *testing.T) {
	for name, want := range map[string]installed{
		"libc6":       {Version: "2.36-9"},
		"libc6:amd64": {Version: "2.36-9"},
		"libc6:i386":  {Version: "2.36-8", Hold: true},
		"libc6:arm64": {},
		"hidden":      {},
		"half":        {},
		"gone":        {Leftover: true},
		"triggers":    {Version: "3"},
		"libc":        {},
		"c6":          {},
	} {
		if is := findInstalled(dpkgStatus, name); is != want {
			t.Errorf("%s: %+v, want %+v", name, is, want)
		}
	}
	if is := findInstalled("", "x"); is != (installed{}) {
		t.Errorf("nothing: %+v", is)
	}
}

// As apt 2.6 prints it.
const policy = `bash:
  Installed: 5.2.15-2+b8
  Candidate: 5.2.15-2+b13
  Version table:
     5.2.15-2+b13 500
        500 http://mirror.example.test/debian bookworm/main amd64 Packages
 *** 5.2.15-2+b8 100
        100 /var/lib/dpkg/status
mail-transport-agent:
  Installed: (none)
  Candidate: (none)
  Version table:
libc6:i386:
  Installed: (none)
  Candidate: 2.36-9
  Version table:
     2.36-9 500
        500 http://mirror.example.test/debian bookworm/main i386 Packages
`

func TestParsePolicy(t *testing.T) {
	offers := parsePolicy(policy)
	for name, want := range map[string]offer{
		"bash":                 {"5.2.15-2+b13", []string{"5.2.15-2+b13", "5.2.15-2+b8"}},
		"bash:amd64":           {"5.2.15-2+b13", []string{"5.2.15-2+b13", "5.2.15-2+b8"}},
		"mail-transport-agent": {},
		"libc6:i386":           {"2.36-9", []string{"2.36-9"}},
		"none":                 {},
	} {
		if is := offers.of(name); is.Newest != want.Newest || !slices.Equal(is.Versions, want.Versions) {
			t.Errorf("%s: %+v, want %+v", name, is, want)
		}
	}
}

func TestFindLock(t *testing.T) {
	for text, want := range map[string]string{
		"E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12 (apt-get)\n":     "the package manager's lock /var/lib/dpkg/lock-frontend is held by process 12 (apt-get)",
		"E: Could not get lock /var/lib/apt/lists/lock - open (11: Resource temporarily unavailable)": "the package manager's lock /var/lib/apt/lists/lock is held by another process",
		"dpkg: error: dpkg frontend lock was locked by another process with pid 77\n":                 "the package manager's lock frontend lock is held by process 77",
		"E: Unable to locate package x": "",
	} {
		is := ""
		if locked := findLock(text); locked != nil {
			is = locked.Error()
		}
		if is != want {
			t.Errorf("%q: %q, want %q", text, is, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(dpkgStatus, "libc6:i386")
	f.Add(policy, "bash")
	f.Fuzz(func(t *testing.T, text, name string) {
		if p := findInstalled(text, name); p.Version != "" && p.Leftover {
			t.Errorf("both installed and left over: %+v", p)
		}
		parsePolicy(text)
	})
}
