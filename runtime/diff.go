package runtime

import (
	"fmt"

	"github.com/tenetcm/tenet/internal/linediff"
	"github.com/tenetcm/tenet/runtime/host"
)

// summary describes content in a few words; nil for none.
func summary(v any) any {
	c, ok := v.(host.Content)
	if !ok {
		return nil
	}
	if c.Size() == 0 {
		return "empty"
	}
	if !c.IsRead() {
		return fmt.Sprintf("%d bytes", c.Size())
	}
	return fmt.Sprintf("%d bytes, sha256:%.12s", c.Size(), c.Sum())
}

// contentDiff is a unified diff of two texts; empty where one is binary or
// too large, or both are the same.
func contentDiff(from, to host.Content) string {
	if !from.IsText() || !to.IsText() {
		return ""
	}
	a, _ := from.Inline()
	b, _ := to.Inline()
	return Diff(a, b)
}

// Diff compares two texts in the unified format of diff -u, without file names.
// A line without a newline at its end is followed by the usual remark.
func Diff(a, b string) string { return linediff.Diff(a, b, 0) }
