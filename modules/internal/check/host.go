package check

import (
	"fmt"
	"io/fs"
)

// notThere says that a host lacks something that a part names.
type notThere struct{ what, name string }

func (e *notThere) Error() string { return fmt.Sprintf("this host has no %s named %s", e.what, e.name) }

// Is makes it an fs.ErrNotExist, without that error's words about files.
func (e *notThere) Is(target error) bool { return target == fs.ErrNotExist }

// NotOnHost is the error that the host has no user, group or unit of this name.
// It is an fs.ErrNotExist to errors.Is.
func NotOnHost(what, name string) error { return &notThere{what, name} }
