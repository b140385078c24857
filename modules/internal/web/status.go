package web

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// Statuses checks the statuses that are expected: "204", or "2xx" for all that
// begin so.
func Statuses(attribute string, expect []string) error {
	for _, s := range expect {
		if len(s) != 3 || s[0] < '1' || s[0] > '5' || s[1:] != "xx" && strings.Trim(s[1:], "0123456789") != "" {
			return states.InvalidAttribute(attribute, fmt.Sprintf("%.20q is no status", s),
				`write "204", or "2xx" for all that begin so`)
		}
	}
	if expect != nil && len(expect) == 0 {
		return states.InvalidAttribute(attribute, "no status would be right", "leave it out for 2xx")
	}
	return nil
}

// Expected is an error where a status is none of the expected ones; nil: 2xx.
func Expected(expect []string, status int) error {
	if expect == nil {
		expect = []string{"2xx"}
	}
	code := strconv.Itoa(status)
	for _, s := range expect {
		if s == code || strings.HasSuffix(s, "xx") && s[0] == code[0] {
			return nil
		}
	}
	return fmt.Errorf("status %s, not %s", code, strings.Join(expect, " or "))
}
