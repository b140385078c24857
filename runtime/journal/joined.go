package journal

import (
	"errors"
	"strings"
	"syscall"
)

// joined is several errors as one. Its text is that of all, beside each other, and tells each
// cause of the system once: a full disk fails every file alike. The lines of one error stay as
// they are, so that a secret of several lines is found in them.
type joined []error

// Join gives the errors as one, or nil if there are none.
func Join(errs ...error) error {
	var all joined
	for _, err := range errs {
		if err != nil {
			all = append(all, parts(err)...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// parts gives the errors that Join or errors.Join made one of, and else the error itself.
func parts(err error) (list []error) {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var lines []string
	for _, e := range many.Unwrap() {
		list, lines = append(list, parts(e)...), append(lines, e.Error())
	}
	if _, ok = err.(joined); !ok && strings.Join(lines, "\n") != err.Error() {
		return []error{err} // it has words of its own
	}
	return list
}

func (j joined) Error() string {
	var texts []string
	causes := map[syscall.Errno]bool{}
	for _, err := range j {
		var cause syscall.Errno
		if errors.As(err, &cause) && causes[cause] {
			continue
		}
		causes[cause] = cause != 0
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives the errors.
func (j joined) Unwrap() []error { return j }

// Line makes one line of a text that is shown within others. Its secrets must be hidden by
// then: one of several lines would not be recognised.
func Line(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }
