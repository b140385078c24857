//go:build lab

package git

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/git/gittest"
)

// A certificate that nobody has told of is no matter of the network: it is said what to do.
func TestUnknownCertificate(t *testing.T) {
	repository := gittest.New(t)
	repository.Commit(gittest.Commit{Files: map[string]string{"a": "a"}})
	c := client(t)
	_, err := open(t, c, repository.Serve(true).Address()).Resolve(t.Context(), "main")
	if err == nil || diag.CodeOf(err) != CodeUnreachable || !strings.Contains(err.Error(), "is not trusted") || !strings.Contains(diag.HintOf(err), "--ca-file") {
		t.Errorf("%v; hint: %s", err, diag.HintOf(err))
	}
}
