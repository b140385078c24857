package packages

import (
	"maps"
	"slices"
	"testing"
)

const statusText = `Package: dpkg
Essential: yes
Status: install ok installed
Priority: required
Architecture: amd64
Version: 1.21

Package: libc6
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

Package: wine32
Status: install ok installed
Architecture: i386
Version: 8

Package: half
Status: install ok half-configured
Architecture: amd64
Version: 1

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1.0

Package: known
Status: purge ok not-installed
Architecture: amd64

Package: triggers
Status: install ok triggers-pending
Version: 3`

func TestFind(t *testing.T) {
	r := parseRecord([]byte(statusText))
	for name, want := range map[string]installed{
		"libc6":        {Version: "2.36-9"},
		"libc6:amd64":  {Version: "2.36-9"},
		"libc6:native": {Version: "2.36-9"},
		"libc6:i386":   {Version: "2.36-8", Hold: true},
		"libc6:arm64":  {},
		"wine32":       {Version: "8"},
		"wine32:amd64": {},
		"hidden":       {},
		"half":         {Version: "1", State: "half-configured"},
		"gone":         {Leftover: true},
		"known":        {},
		"triggers":     {Version: "3"},
		"libc":         {},
		"c6":           {},
	} {
		if is := r.find(name); is != want {
			t.Errorf("%s: %+v, want %+v", name, is, want)
		}
	}
	if is := parseRecord(nil).find("x"); is != (installed{}) {
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
		"bash":                 {Newest: "5.2.15-2+b13", Versions: []string{"5.2.15-2+b13", "5.2.15-2+b8"}},
		"bash:amd64":           {Newest: "5.2.15-2+b13", Versions: []string{"5.2.15-2+b13", "5.2.15-2+b8"}},
		"mail-transport-agent": {},
		"libc6:i386":           {Newest: "2.36-9", Versions: []string{"2.36-9"}},
		"none":                 {},
	} {
		if is := offers.offer(name); is.Newest != want.Newest || !slices.Equal(is.Versions, want.Versions) {
			t.Errorf("%s: %+v, want %+v", name, is, want)
		}
	}
}

// As apt 2.6 prints it.
const showpkg = `Package: mail-transport-agent
Versions: 

Reverse Depends: 
  webalizer,mail-transport-agent
Dependencies: 
Provides: 
Reverse Provides: 
postfix 3.7.11-0+deb12u1 (= )
exim4-daemon-light 4.96-15+deb12u7 (= )
exim4-daemon-light 4.96-15+deb12u6 (= )

Package: none
Versions: 

Reverse Depends: 
Dependencies: 
Provides: 
Reverse Provides: 
`

func TestParseProviders(t *testing.T) {
	is := parseProviders(showpkg)
	if want := []string{"exim4-daemon-light", "postfix"}; !slices.Equal(is["mail-transport-agent"], want) || len(is) != 1 {
		t.Errorf("%q, want %q", is, want)
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

func TestParseAutomatic(t *testing.T) {
	auto := parseAutomatic([]byte("Package: came\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: asked\nArchitecture: amd64\nAuto-Installed: 0\n"))
	for name, want := range map[string]bool{"came": true, "asked": false, "none": false} {
		if is := auto.has(name, "all", "amd64"); is != want {
			t.Errorf("%s: %v", name, is)
		}
	}
	if auto.has("came", "i386", "amd64") {
		t.Error("another architecture")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(statusText, "libc6:i386")
	f.Add(policy, "bash")
	f.Add(showpkg, "none")
	f.Fuzz(func(t *testing.T, text, name string) {
		if p := parseRecord([]byte(text)).find(name); p.Version != "" && p.Leftover {
			t.Errorf("both installed and left over: %+v", p)
		}
		parsePolicy(text)
		parseProviders(text)
		parseAutomatic([]byte(text))
	})
}

// Of what apt believes that somebody asked for, libraries that others need are not.
func TestNeededLibraries(t *testing.T) {
	got := neededLibraries([]byte("Package: web\nSection: net\nDepends: libc6 (>= 2.36), liba | libb:any\n\n" +
		"Package: libc6\nSection: libs\nDepends: libx\n\nPackage: liba\nSection: libs\n\nPackage: libb\nSection: oldlibs\n\n" +
		"Package: libown\nSection: libs\nDepends: libown\n\nPackage: tool\nSection: utils\n\n"))
	if want := map[string]bool{"libc6": true, "liba": true, "libb": true}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
