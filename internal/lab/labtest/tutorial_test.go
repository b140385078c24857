//go:build lab

package labtest

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/internal/tutorial"
)

// times are what differs in a page from time to time.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d| in [0-9.]+m?s|  [0-9.]+s$`)

// The tutorial for one host is followed to its end, with what takes root, on a bare Debian: it prints
// what the page says, but for how long that takes.
func TestTutorial(t *testing.T) {
	t.Parallel()
	const name = "../../../docs/tutorial.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := tutorial.Parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	m := stocked(t, "nginx*")
	dir, status := "/root/start", 0
	m.shell("mkdir " + dir)
	for i := range steps {
		s := &steps[i]
		switch {
		case s.File == "":
			script := fmt.Sprintf("cd %s\n(exit %d)\n{ %s\n} 2>&1; status=$?; pwd >/root/dir; exit $status", dir, status, s.Command)
			var stdout string
			printed := func() bool {
				r, err := m.host.Exec(t.Context(), "sh", "-c", script)
				if err != nil {
					t.Fatal(err)
				}
				stdout, status, dir = string(r.Stdout), r.ExitCode, m.shell("cat /root/dir")
				return times.ReplaceAllString(stdout, "") == times.ReplaceAllString(s.Output, "")
			}
			ok := printed()
			// nginx serves by its former configuration for a moment after a reload, for less than it
			// takes to type the next command.
			for end := time.Now().Add(10 * time.Second); !ok && strings.HasPrefix(s.Command, "curl ") && time.Now().Before(end); ok = printed() {
				time.Sleep(100 * time.Millisecond)
			}
			if !ok {
				t.Errorf("line %d: %s\nprints\n%s\nnot\n%s", s.Line, s.Command, stdout, s.Output)
			}
		default:
			text := s.Text
			if s.Append {
				text = m.shell("cat " + dir + "/" + s.File + "; echo .")
				text = strings.TrimSuffix(text, ".") + s.Text
			}
			m.copy(fstest.MapFS{path.Base(s.File): {Data: []byte(text), Mode: 0o644}}, path.Dir(dir+"/"+s.File))
		}
	}
}
