//go:build lab

package labtest

import "testing"

// refreshed fetches the package lists, so that a plan knows what they offer.
const refreshed = repository + "\napt-get -q update\n"

func TestLifecycleOfPackages(t *testing.T) {
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
