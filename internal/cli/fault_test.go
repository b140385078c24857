package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

type faulty struct{}

func (faulty) Write([]byte) (int, error) { panic("no writer\nat all") }

// A fault of the program is one line, which names the file that has the stack.
func TestFaultIsOneLine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var said strings.Builder
	if exit := Main([]string{"version"}, Environment{Out: faulty{}, Err: &said}); exit != exitFailed {
		t.Errorf("exit status %d", exit)
	}
	m := regexp.MustCompile(`^tenet: this is a fault of tenet itself.*: a panic with a value of type string; please report it .*is in (\S+)\)\n$`).FindStringSubmatch(said.String())
	if m == nil {
		t.Fatalf("%q", said.String())
	}
	if stack, err := os.ReadFile(m[1]); err != nil || !strings.Contains(string(stack), "goroutine") {
		t.Errorf("%s %v", stack, err)
	}
}
