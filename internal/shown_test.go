package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page that says what shows what names tests and scripts that there are.
func TestShownBy(t *testing.T) {
	page, err := os.ReadFile("../docs/kept-by-test.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".txtar"):
			there[name] = true
		case strings.HasSuffix(name, "_test.go"):
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(data, -1) {
				there[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test\\w+|[\\w-]+\\.txtar)`").FindAllSubmatch(page, -1)
	if len(names) < 50 {
		t.Errorf("the page names %d tests", len(names))
	}
	for _, m := range names {
		if !there[string(m[1])] {
			t.Errorf("there is no %s", m[1])
		}
	}
}
