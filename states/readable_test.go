package states

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Mistakes in several attributes are shortened each, wherever they stand.
func TestReadable(t *testing.T) {
	long := strings.Repeat("ü", 1<<19)
	err := readable(fmt.Errorf("x: %w", errors.Join(
		InvalidAttribute("a", long, ""), errors.New("other"), InvalidAttribute("b", "short", long))))
	joined := errors.Unwrap(err).Error()
	if len(joined) > 1000 || !strings.Contains(joined, "bytes more") || !strings.Contains(joined, "b: short") || strings.Contains(joined, "\uFFFD") {
		t.Errorf("%d bytes: %.300s", len(joined), joined)
	}
	var b *AttributeError
	if all := errors.Unwrap(err).(interface{ Unwrap() []error }).Unwrap(); !errors.As(all[2], &b) || len(b.Hint) > 1000 {
		t.Errorf("the hint has %d bytes", len(b.Hint))
	}
	if readable(nil) != nil {
		t.Error("no error became one")
	}
}
