package states

import (
	"fmt"
	"strings"
)

// readable shortens what mistakes in attributes repeat of a value: nobody reads a
// megabyte.
func readable(err error) error {
	switch e := err.(type) {
	case *AttributeError:
		e.Message, e.Hint = shorten(e.Message), shorten(e.Hint)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			_ = readable(inner)
		}
	case interface{ Unwrap() error }:
		_ = readable(e.Unwrap())
	}
	return err
}

// shorten keeps the beginning and the end of a long text.
func shorten(s string) string {
	const most, first, last = 2000, 300, 200
	if len(s) <= most {
		return s
	}
	left := len(s) - first - last
	return strings.ToValidUTF8(s[:first], "") + fmt.Sprintf(" … (%d bytes more) … ", left) + strings.ToValidUTF8(s[len(s)-last:], "")
}
