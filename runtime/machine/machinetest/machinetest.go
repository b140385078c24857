// Package machinetest is the suite that every implementation of machine.Machine passes,
// whatever way leads to the machine: it holds the contract that those who drive machines
// build on.
package machinetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
)

// Subject is a machine without records, which has the standard modules and a /bin/sh.
type Subject struct {
	machine.Machine
	// Another gives what leads to the same machine, with the same records, and can be called
	// beside Machine.
	Another func() machine.Machine
	Dir     string // an empty folder of the machine for the suite's files, as parts name it
	Files   Files  // what is in Dir
	// Outlives says that a run goes on when its caller lets go of it.
	Outlives bool
}

// Files are files of a machine as others than the Machine see and change them. They are
// named by absolute paths.
type Files interface {
	// Read gives the content; the error is fs.ErrNotExist where there is no such file.
	Read(name string) ([]byte, error)
	// Write replaces a file, or makes one.
	Write(name string, data []byte) error
}

// LocalFiles are the files of this machine.
type LocalFiles struct{}

// Read implements Files.
func (LocalFiles) Read(name string) ([]byte, error) { return os.ReadFile(name) }

// Write implements Files.
func (LocalFiles) Write(name string, data []byte) error { return os.WriteFile(name, data, 0o600) }

// limit is how long one of the tests may take before it fails instead of hanging.
const limit = 3 * time.Minute

// suite is one test of a machine.
type suite struct {
	*testing.T
	Subject
	ctx context.Context // of its calls
}

// Run tests machines: newSubject gives a fresh one each time.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	t.Helper()
	for _, test := range slices.Concat(runTests(), cancelTests(), lockTests(), recordTests(), controlTests(), importTests()) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			test.run(&suite{T: t, Subject: newSubject(t), ctx: ctx})
		})
	}
}

// test is what one subtest checks.
type test struct {
	name string
	run  func(*suite)
}

// path gives the absolute path of a file in the machine's folder.
func (s *suite) path(name string) string { return path.Join(s.Dir, name) }

// write writes a file in the machine's folder.
func (s *suite) write(name, text string) {
	s.Helper()
	if err := s.Files.Write(s.path(name), []byte(text)); err != nil {
		s.Fatal(err)
	}
}

// holds wants a file in the machine's folder to have a content.
func (s *suite) holds(name, want string) {
	s.Helper()
	data, err := s.Files.Read(s.path(name))
	if err != nil || string(data) != want {
		s.Errorf("%s holds %q, not %q: %v", name, data, want, err)
	}
}

// lacks wants no such file in the machine's folder.
func (s *suite) lacks(names ...string) {
	s.Helper()
	for _, name := range names {
		if data, err := s.Files.Read(s.path(name)); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("%s is there: %q, %v", name, data, err)
		}
	}
}

// refused wants a machine's own error with a code, and gives it.
func (s *suite) refused(err error, code string) *machine.Error {
	s.Helper()
	e, ok := errors.AsType[*machine.Error](err)
	if !ok {
		s.Fatalf("%T is not the machine's error %q: %v", err, code, err)
	}
	if e.Code != code || e.Error() == "" {
		s.Errorf("the code is %q, not %q: %v", e.Code, code, err)
	}
	return e
}

// must gives what makes an error the end of the test.
func must[T any](s *suite) func(v T, err error) T {
	return func(v T, err error) T {
		s.Helper()
		if err != nil {
			s.Fatalf("%T: %v", err, err)
		}
		return v
	}
}

// history lists the runs that are recorded.
func (s *suite) history() []machine.PastRun {
	s.Helper()
	return must[[]machine.PastRun](s)(s.History(s.ctx))
}
