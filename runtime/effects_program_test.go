package runtime_test

import (
	"fmt"
	"testing"
)

// What a program answers is not certain after an act on libraries of the system, wherever these are; what
// else is below /usr/lib is nothing to it.
func TestLibrariesOfPrograms(t *testing.T) {
	for writes, want := range map[string]bool{
		"/usr/lib/x86_64-linux-gnu/libx.so.1": false, "/usr/lib/aarch64-linux-gnu": false, "/lib/libx.so": false, "/usr/lib64": false,
		"/usr/lib/systemd/system/x.service": true, "/usr/lib/locale": true, "/srv/lib/x.so": true,
	} {
		m := machine()
		write(t, m, "/same", "")
		got := plan(t, m, fmt.Sprintf(`
		command "changes" {
		  argv   = ["good"]
		  writes = [%q]
		}
		command "asks" {
		  argv    = ["good"]
		  plan    = true
		  reads   = ["/same"]
		  require = [command.changes]
		}
		`, writes))
		if row := got.parts["command.asks"]; row.Certain == nil || *row.Certain != want {
			t.Errorf("after an act on %s: %+v", writes, row)
		}
	}
}
