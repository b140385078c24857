package eval

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// Nearest gives the candidate that is most like the name, or "" when none is
// near enough to be meant. Of equally near ones the first wins.
func Nearest(name string, candidates []string) string {
	best, nearest := "", max(len(name)/3, 1)+1
	for _, c := range candidates {
		d := levenshtein.Distance(name, c, nil)
		if d < nearest && d < len(c) {
			best, nearest = c, d
		}
	}
	return best
}

// DidYouMean is the hint that names the nearest candidate, or "".
func DidYouMean(name string, candidates []string) string {
	if c := Nearest(name, candidates); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	return ""
}

// HintError is an error with advice on what to do about it.
type HintError struct {
	Message string
	Hint    string
}

// Error gives the message without the hint.
func (e *HintError) Error() string { return e.Message }
