package diag

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest gives the candidate that is most like the name, or "" when none is
// near enough to be meant. Of equally near ones the first wins.
func Nearest(name string, candidates []string) string {
	limit := 1 // edits that a short name may differ by
	if len(name) > 3 {
		limit = max(len(name)/3, 2)
	}
	best, nearest := "", limit+1
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < nearest && d < len(c) && d < len(name) {
			best, nearest = c, d
		}
	}
	return best
}

// Choices lists candidates for a hint: all of a few, else none.
func Choices(candidates []string) string {
	if len(candidates) == 0 || len(candidates) > 8 {
		return ""
	}
	return "there is " + strings.Join(candidates, ", ")
}

// DidYouMean is the hint that names the nearest candidate, or "".
func DidYouMean(name string, candidates []string) string {
	if c := Nearest(name, candidates); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	return ""
}
