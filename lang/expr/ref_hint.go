package expr

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/states"
)

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][\w-]*(\.[A-Za-z][\w-]*|\[[^\]]*\])+$`) })

// RefAddress is the address that text most likely means which stands where a
// reference should: an address in quotes, the words of a handler's name
// ("restart nginx"), a path, or the name of a state.
func RefAddress(text string) string {
	first, rest, several := strings.Cut(strings.TrimSpace(text), " ")
	switch rest = strings.TrimSpace(rest); {
	case several && states.IsIdentifier(first) && rest != "":
		return states.LabelAddress(first, rest)
	case strings.HasPrefix(text, "/"):
		return states.LabelAddress("file", text)
	case states.IsIdentifier(text):
		return "state." + text
	}
	return text
}

// refHint says how a reference is written that was given as text: an address in
// quotes, the words of a handler's name ("restart nginx"), or a path.
func refHint(text string) string {
	first, rest, several := strings.Cut(strings.TrimSpace(text), " ")
	switch rest = strings.TrimSpace(rest); {
	case address().MatchString(text):
		return "write it without quotes: " + text
	case several && states.IsIdentifier(first) && rest != "":
		return fmt.Sprintf("write a reference, without quotes: %s, and declare that: %s %q {}", states.LabelAddress(first, rest), first, rest)
	case strings.HasPrefix(text, "/"):
		return fmt.Sprintf("write its type and its label: %s", states.LabelAddress("file", text))
	case states.IsIdentifier(text):
		return fmt.Sprintf("write a reference, without quotes: state.%s, or TYPE.%s for a part", text, text)
	}
	return "write a reference, without quotes: state.NAME, or TYPE.LABEL for a part"
}
