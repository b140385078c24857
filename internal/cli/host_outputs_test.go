package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a host gives in the apply that follows a plan is no difference to what that plan has shown, though the
// reader comes first by its name.
func TestOutputsThatArriveAreAsShown(t *testing.T) {
	dir := t.TempDir()
	text := fmt.Sprintf(`
host "a" { executor = "local" }
host "b" { executor = "local" }
command "token" {
  argv = ["echo", "token-1"]
  when = host.name == "b"
}
output "token" {
  value = try(trimspace(command.token.stdout), null)
}
file "f" {
  path    = "%s/${host.name}"
  content = host.name == "a" ? hosts("b")[0].outputs.token : "b"
}
`, dir)
	if err := os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	asked := func() string {
		if !strings.Contains(out.String(), "content = (known after apply)") {
			t.Errorf("the plan does not tell that the content is not known:\n%s", out)
		}
		return "y\n"
	}
	s := &client{console: console{Environment{In: &answers{asked}, Out: out, Err: out}, &Globals{StateDir: t.TempDir()}}, lockTimeout: time.Minute}
	s.globals.Forks = 1
	v, err := s.siteRun(t.Context(), dir)
	if err == nil {
		err = v.applyAll(t.Context(), false, false, nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	holds(t, filepath.Join(dir, "a"), "token-1")
}
