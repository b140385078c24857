package internal_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Every module that the project names itself has its line in the list, and the
// list names no other.
func TestDependenciesAreListed(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		direct := len(fields) == 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".")
		if direct {
			wanted = append(wanted, fields[0])
		}
		if len(fields) == 2 && fields[0] == "tool" {
			module, _, _ := strings.Cut(fields[1], "/cmd/")
			wanted = append(wanted, module)
		}
	}
	if len(wanted) < 5 {
		t.Fatalf("go.mod names only %v", wanted)
	}
	text, err = os.ReadFile("../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.Contains(cells[1], ".") {
			listed = append(listed, strings.TrimSpace(cells[1]))
		}
	}
	for _, name := range wanted {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/dependencies.md has no line for %s", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(wanted, name) {
			t.Errorf("docs/dependencies.md names %s, which go.mod does not require", name)
		}
	}
}
