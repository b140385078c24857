// Package fault deals with panics, which are mistakes in tenet itself. Who uses tenet never
// meets a stack: a panic becomes an error (Catch, Do), is handed to who waits (Group), or ends
// the program (Go). Each way it is one line, which names the file that has the stack.
package fault

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/lang/diag"
)

// Error is a panic.
type Error struct{ what, kind, where string }

const message = "this is a fault of tenet itself, not of what it was given: "

// Error says in one line what kind of panic it was. The value that it was called with is not in
// it, since who shows an error does not always know what is secret.
func (e *Error) Error() string { return message + e.kind + "; " + e.Hint() }

// Message says what happened: all that the panic was called with, which may be secret, and of
// several lines.
func (e *Error) Message() string { return message + e.what }

// Hint says what can be done about it.
func (e *Error) Hint() string {
	return "please report it to the maintainers of tenet (" + e.where + ")"
}

// Of makes an error of what recover has given, and keeps the stack of its caller in a file. Nil
// stays nil, and what is one already is handed on.
func Of(value any) *Error {
	if value == nil {
		return nil
	}
	if e, ok := value.(*Error); ok {
		return e
	}
	e := &Error{what: fmt.Sprint(value), kind: kindOf(value)}
	// The value is not repeated there: nobody hides what of it is secret.
	name, err := write(fmt.Sprintf("tenet %s: %T\n\n%s", version.String(), value, debug.Stack()))
	if err != nil {
		e.where = "its stack could not be written: " + line(err.Error())
	} else {
		e.where = "where it happened is in " + name
	}
	return e
}

// kindOf describes the value of a panic without its text, unless that is Go's own: there are only
// types, lengths and addresses in it.
func kindOf(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return line(err.Error())
	}
	return fmt.Sprintf("a panic with a value of type %T", value)
}

// In gives the panic among the causes of an error; nil: there is none.
func In(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// Catch, which is deferred, makes a panic the error of the function that defers it.
func Catch(err *error) {
	if e := Of(recover()); e != nil {
		*err = e
	}
}

// Do calls a function, and makes a panic its error.
func Do(f func() error) (err error) {
	defer Catch(&err)
	return f()
}

// line is the begin of a text's first line, without what a terminal would take for something else.
func line(text string) string {
	const enough = 300
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "") + "…"
	}
	return diag.Clean(text, "", '�')
}

// write keeps a text in a file of its own, for the user alone.
func write(text string) (name string, err error) {
	file, err := os.CreateTemp("", "tenet-fault-*.txt")
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(file, text)
	return file.Name(), errors.Join(err, file.Close())
}
