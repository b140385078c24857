package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
)

// rightVersion checks a site's requires_version: constraints such as
// ">= 0.2, < 1.0". A program that was not released satisfies all of them.
func rightVersion(loaded *lang.Site, program string) diag.List {
	text, place := loaded.RequiresVersion()
	if text == "" {
		return nil
	}
	for constraint := range strings.SplitSeq(text, ",") {
		operator, number := splitConstraint(strings.TrimSpace(constraint))
		wanted, ok := parseVersion(number)
		if !ok {
			return diag.List{{Severity: diag.Error, Summary: fmt.Sprintf("%q is no constraint on a version", constraint),
				Hint: `write one such as ">= 0.2, < 1.0"`, Range: place}}
		}
		have, released := parseVersion(program)
		if released && !satisfies(have, operator, wanted) {
			return diag.List{{Severity: diag.Error, Summary: fmt.Sprintf("this site needs another version of tenet: %s", text),
				Detail: fmt.Sprintf("This is %s.", program), Hint: "use a version that fits", Range: place}}
		}
	}
	return nil
}

// splitConstraint gives the comparison, "=" if none is written, and the version.
func splitConstraint(s string) (operator, version string) {
	for _, operator := range []string{">=", "<=", "!=", "~>", ">", "<", "="} {
		if version, ok := strings.CutPrefix(s, operator); ok {
			return operator, strings.TrimSpace(version)
		}
	}
	return "=", s
}

// parseVersion reads "1.2.3" or "v1.2.3", whose last numbers may be left out.
// What was not released, such as "v0.0.0-2026…", is no version.
func parseVersion(s string) ([]int, bool) {
	var numbers []int
	for word := range strings.SplitSeq(strings.TrimPrefix(s, "v"), ".") {
		n, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, int(n))
	}
	return numbers, len(numbers) <= 3
}

// satisfies compares versions. "~>" lets only the last number given grow.
func satisfies(have []int, operator string, want []int) bool {
	c := slices.Compare(padVersion(have), padVersion(want))
	switch operator {
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case "<":
		return c < 0
	case "!=":
		return c != 0
	case "~>":
		fixed := max(len(want)-1, 1)
		return c >= 0 && slices.Equal(padVersion(have)[:fixed], want[:fixed])
	}
	return c == 0
}

// padVersion gives all three numbers of a version.
func padVersion(v []int) []int { return append(slices.Clone(v), 0, 0, 0)[:3] }
