package control

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// CheckVersions says why the program of an agent and that of a server do not work together: their minor versions are more than one apart. What was
// built from no release is taken for what suits, and so is who does not say its version.
func CheckVersions(agent, server string) error {
	if !isReleased(agent) || !isReleased(server) {
		return nil
	}
	distance := minor(agent) - minor(server)
	if semver.Major(agent) == semver.Major(server) && distance >= -1 && distance <= 1 {
		return nil
	}
	return fmt.Errorf("the agent is of version %s and the server of version %s: they work together where at most one minor version is between them", agent, server)
}

// checkSpoken says why two sides do not speak a version of the protocol: they have spoken a later one, so that somebody may have put himself between them
// who would have them speak one with a weakness that the later one has not.
func checkSpoken(version, spoken int) error {
	if version >= spoken {
		return nil
	}
	return fmt.Errorf("version %d of the protocol is not spoken any more between this host and its server, which have spoken version %d: put the later program back", version, spoken)
}

// isReleased tells whether a version is of a release, and not one that Go has made up from a commit: https://go.dev/ref/mod#pseudo-versions.
func isReleased(version string) bool {
	return semver.IsValid(version) && !strings.HasPrefix(version, "v0.0.0-")
}

// minor is the second number of a valid version.
func minor(version string) int {
	_, text, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(text)
	if err != nil { // it is too large to be one
		return -1 << 30
	}
	return n
}
