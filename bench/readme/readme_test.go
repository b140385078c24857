package readme

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWrite checks that only what stands between the two lines is replaced, and that a file without them stays as it is.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	const before = "a\n<!-- x: begin -->\n\nold\n<!-- x: end -->\nb\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if Write(file, "y", "new") == nil {
		t.Error("a table that has no place is written")
	}
	if text, _ := os.ReadFile(file); string(text) != before {
		t.Errorf("the file has changed: %q", text)
	}
	if err := Write(file, "x", "new"); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "a\n<!-- x: begin -->\n\nnew\n<!-- x: end -->\nb\n" {
		t.Errorf("the file has %q", text)
	}
}
