package become

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
)

// An error comes over with its advice, and is still what it was.
func TestAdviceComesOver(t *testing.T) {
	in := fmt.Errorf("x: %w", &diag.HintError{Code: "not_executable", Message: "its mode is 0644", Hint: "give it another", Err: syscall.EACCES})
	out := failureOf(in).error()
	if out.Error() != in.Error() || diag.HintOf(out) != "give it another" || diag.CodeOf(out) != "not_executable" || !errors.Is(out, fs.ErrPermission) {
		t.Errorf("%v comes over as %v, with the hint %q and the code %q", in, out, diag.HintOf(out), diag.CodeOf(out))
	}
}
