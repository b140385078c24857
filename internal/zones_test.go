package internal_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Whatever reads windows has the time zones with it: a host need not have any.
func TestProgramsHaveTimeZones(t *testing.T) {
	for _, program := range []string{"tenet", "tenet-agent", "tenet-runner"} {
		out, err := exec.Command("go", "list", "-deps", "../cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
			t.Errorf("cmd/%s has no time zones", program)
		}
	}
}
