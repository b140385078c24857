// Package check holds the checks of values that several modules share. Each
// returns a *states.AttributeError, or nil.
package check

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/states"
)

// Path checks that p can name one thing on a host: an absolute path in its
// shortest form, so that no two spellings name the same resource.
func Path(attribute, p string) error {
	e := &states.AttributeError{Attribute: attribute}
	switch {
	case p == "":
		e.Message, e.Hint = "a path is required", "write it from the root, such as /etc/motd"
	case strings.Contains(p, "\x00"):
		e.Message = "a path cannot contain a NUL byte"
	case len(p) > maxPath:
		e.Message = fmt.Sprintf("it has %d bytes, and a path at most %d", len(p), maxPath)
	case !strings.HasPrefix(p, "/"):
		e.Message = fmt.Sprintf("%q is no absolute path", p)
		e.Hint = "write it from the root: " + path.Join("/", p)
	case path.Clean(p) != p:
		e.Message = fmt.Sprintf("%q is not the shortest form of this path", p)
		e.Hint = "write " + path.Clean(p)
	default:
		return nil
	}
	return e
}

// Paths checks each of several paths.
func Paths(attribute string, paths []string) error {
	for _, p := range paths {
		if err := Path(attribute, p); err != nil {
			return err
		}
	}
	return nil
}

// OptionalPath checks a path that need not be given.
func OptionalPath(attribute string, p *string) error {
	if p == nil {
		return nil
	}
	return Path(attribute, *p)
}

// maxPattern bounds regular expressions, which take much more memory than their
// text does.
const maxPattern = 4096

// Pattern checks a regular expression that need not be given.
func Pattern(attribute string, pattern *string) error {
	if pattern == nil {
		return nil
	}
	if len(*pattern) > maxPattern {
		return states.InvalidAttribute(attribute, fmt.Sprintf("a pattern of %d bytes is too long; %d are allowed", len(*pattern), maxPattern), "")
	}
	if _, err := regexp.Compile(*pattern); err != nil {
		return states.InvalidAttribute(attribute, err.Error(),
			"the syntax is RE2: https://github.com/google/re2/wiki/Syntax")
	}
	return nil
}

// Account checks the name or the number of a user or group that need not be
// given.
func Account(attribute string, name *string) error {
	if name == nil {
		return nil
	}
	return Name(attribute, *name, "._-$@\\+")
}

// maxPath is PATH_MAX of the kernel, without the NUL byte at its end.
const maxPath = 4095

// maxName is the most that a file's name may have, and more than any program that deals
// with accounts takes.
const maxName = 255

// Name checks a name that is handed to programs: letters, digits and the extra
// characters, and not one that looks like an option.
func Name(attribute, name, extra string) error {
	e := states.InvalidAttribute(attribute, "", "it consists of letters and digits"+beside(extra))
	switch {
	case name == "":
		e.Message = "a name is required"
	case name == "." || name == "..":
		e.Message = fmt.Sprintf("%q is a directory, and no name", name)
	case len(name) > maxName:
		e.Message = fmt.Sprintf("it has %d bytes, and a name at most %d", len(name), maxName)
	case strings.HasPrefix(name, "-"):
		e.Message = fmt.Sprintf("%q looks like an option, and is no name", name)
	default:
		for _, r := range name {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			if !letter && !strings.ContainsRune(extra, r) {
				e.Message = fmt.Sprintf("the name %q cannot contain %q", name, r)
				return e
			}
		}
		return nil
	}
	return e
}

// beside names the characters that a name may have besides.
func beside(extra string) string {
	if extra == "" {
		return ""
	}
	return " and the characters " + strings.Join(strings.Split(extra, ""), " ")
}

// Line checks a text that becomes one field of a line of a file: no line break,
// no NUL, and none of the characters in separators.
func Line(attribute string, text *string, separators string) error {
	if text == nil {
		return nil
	}
	if i := strings.IndexAny(*text, "\n\r\x00"+separators); i >= 0 {
		return states.InvalidAttribute(
			attribute,
			fmt.Sprintf("it cannot contain %q", (*text)[i:i+1]),
			"it becomes one field of a line in a file: take that character out",
		)
	}
	return nil
}

// Text checks a text that becomes one line of a file which people read: no control
// characters but tabs, and valid UTF-8.
func Text(attribute string, text *string) error {
	if text == nil {
		return nil
	}
	e := &states.AttributeError{Attribute: attribute}
	if !utf8.ValidString(*text) {
		e.Message = "it is no valid UTF-8"
		return e
	}
	for _, r := range *text {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			e.Message, e.Hint = fmt.Sprintf("it cannot contain %q", r), "it becomes one line of a file: take that character out"
			return e
		}
	}
	return nil
}

// HostName checks the name of a machine, with or without its domain: words of
// letters, digits, - and _ with dots between them, of up to 63 characters each and
// 253 in all.
func HostName(attribute, name string) error {
	e := &states.AttributeError{Attribute: attribute}
	if len(name) > 253 {
		e.Message = fmt.Sprintf("a name of %d characters is too long for a machine", len(name))
		return e
	}
	if err := Name(attribute, name, "._-"); err != nil {
		return err
	}
	for word := range strings.SplitSeq(name, ".") {
		if word == "" || len(word) > 63 || word[0] == '-' || word[len(word)-1] == '-' {
			e.Message, e.Hint = fmt.Sprintf("%q is no name of a machine", name), "write words of letters, digits and hyphens with dots between them, such as web1.example.test"
			return e
		}
	}
	return nil
}

// True reports whether something is given, and true.
func True(b *bool) bool { return b != nil && *b }

// False reports whether something is given, and false.
func False(b *bool) bool { return b != nil && !*b }
