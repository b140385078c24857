package diag_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
)

// The nearest cause that has a hint or a code tells it.
func TestHintOf(t *testing.T) {
	inner := &diag.HintError{Code: "disk", Message: "it is full", Hint: "make room", Err: fs.ErrInvalid}
	for _, c := range []struct {
		err              error
		text, hint, code string
	}{
		{nil, "", "", ""},
		{errors.New("a"), "a", "", ""},
		{inner, "it is full", "make room", "disk"},
		{fmt.Errorf("writing: %w", inner), "writing: it is full", "make room", "disk"},
		{&diag.HintError{Hint: "wait", Err: inner}, "it is full", "wait", "disk"},
		{&diag.HintError{Code: "late", Err: fmt.Errorf("b: %w", inner)}, "b: it is full", "make room", "late"},
		{errors.Join(errors.New("a"), inner), "a\nit is full", "make room", "disk"},
		{diag.Diagnostic{Summary: "a", Hint: "b"}, "a (b)", "", ""},
	} {
		if hint, code := diag.HintOf(c.err), diag.CodeOf(c.err); hint != c.hint || code != c.code {
			t.Errorf("%v: hint %q, code %q", c.err, hint, code)
		}
		if c.err != nil && c.err.Error() != c.text {
			t.Errorf("%q, want %q", c.err, c.text)
		}
	}
	if !errors.Is(inner, fs.ErrInvalid) {
		t.Error("the cause is lost")
	}
}

// What one of several joined errors lacks, another may have.
func TestHintOfJoined(t *testing.T) {
	coded, hinted := &diag.HintError{Code: "x", Message: "a"}, &diag.HintError{Message: "b", Hint: "do b"}
	for _, err := range []error{errors.Join(coded, hinted), errors.Join(hinted, coded), fmt.Errorf("%w: %w", coded, hinted)} {
		if diag.HintOf(err) != "do b" || diag.CodeOf(err) != "x" {
			t.Errorf("%v: %q, %q", err, diag.HintOf(err), diag.CodeOf(err))
		}
	}
}
