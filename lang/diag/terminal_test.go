package diag_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/tenetcm/tenet/lang/diag"
)

// Every control and every change of direction is unsafe, and nothing that people write is.
func TestClean(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		control := r < 0x20 || r >= 0x7f && r < 0xa0
		direction := r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		if diag.Unsafe(r) != (control || direction) {
			t.Errorf("%U: %v", r, diag.Unsafe(r))
		}
		if control || direction {
			all.WriteRune(r)
		}
	}
	if got := diag.Clean(all.String(), "", -1); got != "" {
		t.Errorf("%q is left", got)
	}
	if got := diag.Clean("a\tü\r\n\x1b[2J\u202e\u009b"+"z", "\n", '·'); got != "a·ü·\n·[2J··z" {
		t.Errorf("%q", got)
	}
	if got := diag.Safe(all.String()); got != "\t\n" {
		t.Errorf("%q is safe", got)
	}
}
