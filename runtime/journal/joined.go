package journal

import (
	"errors"
	"strings"
	"syscall"
)

// joined is several errors as one. Its text is one line, since it is shown within others,
// and tells each cause of the system once: a full disk fails every file alike.
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
		texts = append(texts, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives the errors.
func (j joined) Unwrap() []error { return j }
