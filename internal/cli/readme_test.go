package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/cli"
)

// The plan in README is what the program prints.
func TestReadmeShowsARealPlan(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	const command = "plan --var dir=/srv/app --target run.registered "
	var out, wrong bytes.Buffer
	args := append(strings.Fields(command), "--root", root, "../../examples/quickstart")
	if code := cli.Main(args, cli.Environment{In: strings.NewReader(""), Out: &out, Err: &wrong}); code != 0 {
		t.Fatalf("status %d: %s", code, &wrong)
	}
	block := "    $ tenet " + command + "examples/quickstart\n"
	for line := range strings.Lines(out.String()) {
		block += "    " + line
	}
	if !strings.Contains(string(readme), block) {
		t.Errorf("README.md does not hold this:\n%s", block)
	}
}
