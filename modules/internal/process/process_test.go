package process

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

func TestExitError(t *testing.T) {
	long := "unrecognized option\n" + strings.Repeat("usage\n", 20) + "last\n"
	for _, c := range []struct{ stdout, stderr, want string }{
		{"", "", "p ended with exit status 2"},
		{"out\n", "", "p ended with exit status 2: out"},
		{"out\n", "err\x1b[31m\r\n", "p ended with exit status 2: err[31m"},
		{"", "a\u009b31m\u202eb\tc\n", "p ended with exit status 2: a31mb\tc"},
		{"", "a\n\xff\n", "p ended with exit status 2:\na\n?"},
		{"", long, "p ended with exit status 2:\nunrecognized option\n…\n" + strings.Repeat("usage\n", 9) + "last"},
	} {
		e := &ExitError{"/bin/p", host.Result{ExitCode: 2, Stdout: []byte(c.stdout), Stderr: []byte(c.stderr)}}
		if is := e.Error(); is != c.want {
			t.Errorf("%q, want %q", is, c.want)
		}
	}
}
