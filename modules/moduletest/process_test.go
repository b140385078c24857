package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

func TestProcessExitError(t *testing.T) {
	t.Parallel()
	long := "unrecognized option\n" + strings.Repeat("usage\n", 20) + "last\n"
	for _, c := range []struct{ stdout, stderr, want string }{
		{"", "", "p ended with exit status 2"},
		{"out\n", "", "p ended with exit status 2: out"},
		{"out\n", "err\x1b[31m\r\n", "p ended with exit status 2: err[31m"},
		{"", "a\u009b31m\u202eb\tc\n", "p ended with exit status 2: a31mb\tc"},
		{"", "a\n\xff\n", "p ended with exit status 2:\na\n?"},
		{"", long, "p ended with exit status 2:\nunrecognized option\n…\n" + strings.Repeat("usage\n", 9) + "last"},
	} {
		e := &process.ExitError{Program: "/bin/p", Result: host.Result{ExitCode: 2, Stdout: []byte(c.stdout), Stderr: []byte(c.stderr)}}
		if is := e.Error(); is != c.want {
			t.Errorf("%q, want %q", is, c.want)
		}
	}
}

// Of an output that was cut the last line is not shown, since half of a secret may stand
// there; a line that is as long as what is kept is left to whoever hides secrets.
func TestProcessExitErrorOfCutOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 20_000)
	for _, c := range []struct {
		said  string
		cut   bool
		shown bool
	}{
		{long + "last", true, false},
		{long + "last", false, true},
		{"a\nlast", true, true}, // the other stream was cut
		{long + strings.Repeat("x", 1<<17) + "last", true, true},
	} {
		e := &process.ExitError{Program: "/bin/p", Result: host.Result{ExitCode: 2, Stderr: []byte(c.said), Truncated: c.cut}}
		if is := strings.HasSuffix(e.Error(), "last"); is != c.shown {
			t.Errorf("%d bytes, cut: %v: it is shown: %v", len(c.said), c.cut, is)
		}
	}
}
