package states

import (
	"strings"

	"github.com/tenetcm/tenet/internal/plainjson"
)

// IsIdentifier reports whether a label may stand in an address without quotes:
// letters, digits, "_" and "-", not starting with a digit or "-".
func IsIdentifier(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-')) {
			return false
		}
	}
	return s != ""
}

// LabelAddress joins a type and a label: file.motd, or file["/etc/motd"] where
// the label is no identifier.
func LabelAddress(typ, label string) string {
	if IsIdentifier(label) {
		return typ + "." + label
	}
	return typ + "[" + plainjson.Quote(label) + "]"
}

// InstanceAddress appends an instance key: state.site["a"].
func InstanceAddress(base, key string) string { return base + "[" + plainjson.Quote(key) + "]" }

// InEach reports whether an address that gives no key to some components means
// full, which is in one of their instances: component.shop.state.vhost means
// component.shop["a"].state.vhost.
func InEach(address, full string) bool {
	for len(address) < len(full) && strings.HasPrefix(full, "component.") {
		name := unquotedIndex(full[len("component."):], '.') + len("component.")
		if name < len("component.") {
			return false // a component itself: its keys are those of the address
		}
		whole := full[:name]
		if bracket := unquotedIndex(whole, '['); bracket >= 0 && strings.HasPrefix(address, whole[:bracket]+".") {
			whole = whole[:bracket]
		}
		rest, ok := strings.CutPrefix(address, whole+".")
		if !ok {
			return false
		}
		address, full = rest, full[name+1:]
	}
	return address == full
}

// WithoutWave cuts the "#wave" off an invocation's or a part's address.
func WithoutWave(address string) string {
	hash := unquotedIndex(address, '#')
	if hash < 0 {
		return address
	}
	end := hash + 1
	for end < len(address) && address[end] >= '0' && address[end] <= '9' {
		end++
	}
	return address[:hash] + address[end:]
}

// unquotedIndex is the first place of c outside of quotes, or -1.
func unquotedIndex(s string, c byte) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == c:
			return i
		}
	}
	return -1
}

// BaseAddress cuts off the key of the instance that an address names, if it names one: of
// state.s["a"].file.x["b"] the "b". A label that is no identifier stays: file["/etc/motd"].
func BaseAddress(address string) string {
	rest, end := address, 0 // end is where the last declaration's own name ends
	for rest != "" {
		word := 0
		for word < len(rest) && rest[word] != '.' && rest[word] != '[' {
			word++
		}
		label := word + afterBracket(rest[word:])
		if label == word && word < len(rest) { // a label that is an identifier
			for label++; label < len(rest) && rest[label] != '.' && rest[label] != '['; {
				label++
			}
		}
		end = len(address) - len(rest) + label
		rest = rest[label:]
		rest = rest[afterBracket(rest):]
		if rest == "" || rest[0] != '.' {
			break
		}
		rest = rest[1:]
	}
	return address[:end]
}

// afterBracket is where the quoted text in brackets ends with which s begins; 0: it does
// not.
func afterBracket(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	if end := unquotedIndex(s, ']'); end > 0 {
		return end + 1
	}
	return len(s)
}
