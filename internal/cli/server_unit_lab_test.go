//go:build lab

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemd knows each setting of the unit, and finds nothing to say against it.
func TestServerUnit(t *testing.T) {
	for name, listen := range map[string]string{"tenet-server.service": ":8443", "tenet-web.service": ":443"} {
		f := serverFlags{Dir: "/var/lib/a dir", Listen: listen, Agents: ":8444", Name: []string{"tenet.example.com"}}
		args, err := f.arguments()
		if err != nil {
			t.Fatal(err)
		}
		command := []string{"/bin/true", "server"}
		for _, a := range args {
			command = append(command, unitWord(a))
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(serverUnitText("root", command, f.writable(), listen == ":443")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), name) {
			t.Errorf("%v: %s", err, out)
		}
	}
}
