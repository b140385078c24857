package git

import (
	"strings"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
)

// checkGitName refuses what git would take for its own.
func checkGitName(name string) error {
	for element := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(element, ".git") {
			return &diag.HintError{Message: sitefiles.QuoteName(name) + " has a part that is Git's own", Hint: "rename it"}
		}
	}
	return nil
}
