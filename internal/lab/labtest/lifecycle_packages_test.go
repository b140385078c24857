//go:build lab

package labtest

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"
	"testing"
)

// refreshed fetches the package lists, so that a plan knows what they offer.
const refreshed = repository + "\napt-get -q update\n"

func TestLifecycleOfPackages(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "package", Label: "lab-one", Prepare: refreshed,
		Steps: []step{
			{Set: ``, Verify: `[ "$(dpkg-query -W -f '${Status} ${Version}' lab-one)" = "install ok installed 2.0" ]`},
			{Set: `version = "1.0"`, Verify: `[ "$(dpkg-query -W -f '${Version}' lab-one)" = 1.0 ]`},
			{Set: "version = \"1.0\"\nhold = true", Verify: `apt-mark showhold | grep -qx lab-one`},
			{Set: "version = \"latest\"\nhold = true", Verify: `[ "$(dpkg-query -W -f '${Status} ${Version}' lab-one)" = "hold ok installed 2.0" ]`},
			{Set: "version = \"1.0\"\nhold = false", Verify: `[ "$(dpkg-query -W -f '${Status} ${Version}' lab-one)" = "install ok installed 1.0" ]`},
			{Set: "version = \"latest\"\nlock_timeout = \"10s\"", Verify: `[ "$(dpkg-query -W -f '${Version}' lab-one)" = 2.0 ]`},
		},
		Gone: "test -e /etc/lab-one.conf && test ! -e /usr/share/lab/lab-one",
	}.run(m)
	lifecycle{
		Type: "package", Label: "lab-one", Prepare: "dpkg --purge lab-one",
		Steps:   []step{{Set: "version = \"1.0\"\nhold = true\npurge = true"}},
		Untried: map[string]string{"version": "above", "hold": "above"},
		Gone:    "test ! -e /etc/lab-one.conf",
	}.run(m)
}

// signed holds a repository with the package lab-signed, the key that it is signed
// with, and another one. Its README tells how it was made.
//
//go:embed testdata/signed
var signed embed.FS

// signedRepository puts it on the host, as a directory and as texts of HCL.
func signedRepository(m *machine) (key, other string) {
	m.Helper()
	files, err := fs.Sub(signed, "testdata/signed")
	if err != nil {
		m.Fatal(err)
	}
	m.copy(files, "/srv/signed")
	text := func(name string) string {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			m.Fatal(err)
		}
		return strconv.Quote(string(data))
	}
	return text("signed-by.asc"), text("other.asc")
}

func TestLifecycleOfRepositories(t *testing.T) {
	t.Parallel()
	m := boot(t)
	key, other := signedRepository(m)
	const all = "uris = [\"file:/srv/signed\"]\nsuites = [\"./\"]\nsigned_by = "
	lifecycle{
		Type: "apt_repository", Label: "lab",
		Steps: []step{
			{Set: all + key, Verify: "apt-get -q update && apt-cache show lab-signed"},
			{Set: all + other, Verify: "! apt-get -q -o APT::Update::Error-Mode=any update"},
			{Set: all + key + "\nenabled = false", Verify: "apt-get -q update && ! apt-cache show lab-signed"},
			{Set: all + key + "\nenabled = true\narchitectures = [\"arm64\"]", Verify: "grep -qx 'Architectures: arm64' /etc/apt/sources.list.d/lab.sources"},
			{Set: all + key + "\narchitectures = []\ntypes = [\"deb\", \"deb-src\"]\ntrusted = true", Verify: "grep -qx 'Trusted: yes' /etc/apt/sources.list.d/lab.sources"},
			{Set: "uris = [\"file:/srv/other\"]\nsuites = [\"bookworm\"]\ncomponents = [\"main\"]\ntypes = [\"deb\"]\nsigned_by = \"/usr/share/keyrings/debian-archive-keyring.gpg\"",
				Verify: "test ! -e /etc/apt/keyrings/lab.asc"},
		},
		Gone: "test ! -e /etc/apt/sources.list.d/lab.sources && test ! -e /etc/apt/keyrings/lab.asc",
	}.run(m)
}

// A package after its source, in one run: the lists are fetched in between.
func TestPackageOfARepository(t *testing.T) {
	t.Parallel()
	m := boot(t)
	key, other := signedRepository(m)
	site := func(key string) {
		m.site(`
apt_repository "lab" {
  uris      = ["file:/srv/signed"]
  suites    = ["./"]
  signed_by = ` + key + `
}

package "lab-signed" {
  require = [apt_repository.lab]
}
`)
	}
	site(other)
	says(t, m.fails("package.lab-signed"), "file:/srv/signed", "NO_PUBKEY", "signed_by")
	site(key)
	for _, e := range m.tenet("plan").parts() {
		if e.Part == "package" && (e.Certain == nil || *e.Certain || !strings.Contains(e.Reason, "older than their sources")) {
			t.Errorf("the plan is certain about it: %+v", e)
		}
	}
	m.converges("apt_repository.lab", "package.lab-signed")
	m.shell("grep -qx 1.0 /usr/share/lab/lab-signed")
}
