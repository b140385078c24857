package enroll

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// Codes of errors of this package. Those that it shares with package access have the same names.
const (
	CodeInvalid   = "invalid"
	CodeNotFound  = "not_found"
	CodeState     = "state"         // a host in this state cannot become another one so
	CodeNameTaken = "name_taken"    // another host has the name
	CodeToken     = "token_unknown" // nobody has made this token, or it was revoked
	CodeExpired   = "token_expired"
	CodeUsed      = "token_used"
	CodeClaim     = "token_claim" // the token does not let a host claim this
	CodeTooMany   = "too_many"
	CodeProof     = "proof"  // who asks has not shown who it is
	CodeTicket    = "ticket" // it is none, or not for this
	CodeBusy      = "busy"
)

func invalid(format string, args ...any) error {
	return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf(format, args...), Hint: "names have letters, digits, '.', '_' and '-'; labels are NAME=VALUE, of which values are short texts in one line"}
}

// Limits of what hosts and people say.
const (
	maxName   = 200
	maxLabels = 64
	maxValue  = 200
	maxReason = 1000
)

// checkName refuses what is no name of a host. A name is shown on terminals, stands in selectors and in names of files.
func checkName(name string) error {
	if name == "" || len(name) > maxName || !isWord(name) || strings.Trim(name[:1], ".-") == "" {
		return invalid("%.80q cannot be the name of a host", name)
	}
	return nil
}

// isWord tells whether a text has nothing but what names have.
func isWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

func checkLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return invalid("a host has at most %d labels", maxLabels)
	}
	for name, value := range labels {
		switch {
		case name == "" || len(name) > maxName || !isWord(strings.ReplaceAll(name, "/", "")):
			return invalid("%.80q cannot be the name of a label", name)
		case len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, diag.Unsafe) || strings.ContainsAny(value, ",\n\t"):
			return invalid("%.80q cannot be the value of the label %s", value, name)
		}
	}
	return nil
}

// fitsGlob tells whether a text is what a pattern says, in which "*" stands for "/", too.
func fitsGlob(pattern, text string) bool {
	const other = "\x01"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", other), strings.ReplaceAll(text, "/", other))
	return err == nil && ok
}

func cleanReason(reason string) string {
	reason = diag.Safe(strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", ""), "?"))
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return reason
}
