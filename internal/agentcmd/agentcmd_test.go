package agentcmd_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/agentcmd"
)

// Who asks how it is used is told so; who asks for something that there is not is refused.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args             []string
		status           int
		printed, refused string
	}{
		{[]string{"--help"}, 0, "usage: tenet-agent join", ""},
		{[]string{"help"}, 0, "usage: tenet-agent join", ""},
		{[]string{"jion"}, 64, "", "there is no command \"jion\""},
		{[]string{"run", "--pol", "1m"}, 64, "", "usage: tenet-agent"},
		{nil, 64, "", "no command"},
	} {
		var out, errs strings.Builder
		status := agentcmd.Main(c.args, strings.NewReader(""), &out, &errs)
		if status != c.status || !strings.Contains(out.String(), c.printed) || !strings.Contains(errs.String(), c.refused) || (c.printed == "") != (out.Len() == 0) {
			t.Errorf("%q: status %d, printed %q, told %q", c.args, status, out.String(), errs.String())
		}
	}
}
