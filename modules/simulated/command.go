package simulated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// Command is a program with a fixed answer, and what it does to the machine.
type Command struct {
	// Name is the program: "issue-cert" or its path.
	Name string
	// Argv is the call that is answered, program and arguments. AnyOne stands
	// for one argument of any text, AnyRest as the last for any others. Nil:
	// the program with any arguments.
	Argv []string
	// In paths "{1}" stands for argument 1 of the call, and so on.
	// Exists and Missing are paths: where one is given, the answer counts only
	// while something, or nothing, is there.
	Exists, Missing string
	// Package is the package that has the program: it is not there while that
	// is not installed.
	Package string

	Stdout, Stderr string
	ExitCode       int
	Creates        map[string]string // files, with their content
	Removes        []string          // paths, directories with all below
}

// What stands in Argv for texts that are not known.
const (
	AnyOne  = "*"
	AnyRest = "..."
)

// addCommands adds the programs: one handler each, which looks for the answer
// that fits.
func addCommands(h *host.Memory, commands []Command) error {
	byName := map[string][]Command{}
	for _, c := range commands {
		name := path.Base(c.Name)
		if c.Name == "" || len(c.Argv) > 0 && path.Base(c.Argv[0]) != name {
			return &DescriptionError{Kind: "command", Name: c.Name,
				Err: fmt.Errorf("argv %q does not begin with the program", c.Argv)}
		}
		byName[name] = append(byName[name], c)
	}
	for name, answers := range byName {
		s := &suite{h: h}
		h.Handle(name, func(ctx context.Context, c host.Command) (host.Result, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return answer(ctx, h, answers, c)
		})
	}
	return nil
}

func answer(ctx context.Context, h *host.Memory, answers []Command, c host.Command) (host.Result, error) {
	there := false
	for _, a := range answers {
		if a.Package != "" {
			if version, _ := InstalledVersion(h, a.Package); version == "" {
				continue
			}
		}
		there = true
		if a.fits(h, c.Argv) {
			err := a.act(ctx, h, c.Argv)
			return host.Result{ExitCode: a.ExitCode, Stdout: []byte(a.Stdout), Stderr: []byte(a.Stderr)}, err
		}
	}
	if !there {
		return host.Result{}, &notInstalled{c.Argv[0], answers[0].Package}
	}
	return host.Result{}, &NoAnswerError{Argv: c.Argv}
}

// fits reports whether the answer is for the call.
func (c Command) fits(h host.Reader, argv []string) bool {
	exists, missing := filled(c.Exists, argv), filled(c.Missing, argv)
	if exists != "" && !Exists(h, exists) || missing != "" && Exists(h, missing) {
		return false
	}
	if c.Argv == nil {
		return true
	}
	for i, want := range c.Argv {
		switch {
		case want == AnyRest && i == len(c.Argv)-1:
			return true
		case i >= len(argv):
			return false
		case i == 0: // the name fits already
		case want != AnyOne && want != argv[i]:
			return false
		}
	}
	return len(argv) == len(c.Argv)
}

// act does to the machine what the program does.
func (c Command) act(ctx context.Context, h *host.Memory, argv []string) error {
	var errs []error
	for name, content := range c.Creates {
		errs = append(errs, WriteFile(ctx, h, filled(name, argv), content, host.Meta{}))
	}
	for _, name := range c.Removes {
		errs = append(errs, removeAll(h, filled(name, argv)))
	}
	return errors.Join(errs...)
}

// filled puts the arguments of a call into a path that names them.
func filled(path string, argv []string) string {
	if !strings.Contains(path, "{") {
		return path
	}
	var pairs []string
	for i, arg := range argv {
		pairs = append(pairs, fmt.Sprintf("{%d}", i), arg)
	}
	return strings.NewReplacer(pairs...).Replace(path)
}

// removeAll removes what is at the path with all below it.
func removeAll(h host.Host, name string) error {
	info, err := h.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Kind == host.Directory {
		var entries []host.Entry
		entries, err = h.ReadDir(name)
		for _, e := range entries {
			err = errors.Join(err, removeAll(h, path.Join(name, e.Name)))
		}
	}
	return errors.Join(err, h.Remove(name))
}

// NoAnswerError says that a program is on the machine, and that nobody
// described what it does when it is called so.
type NoAnswerError struct{ Argv []string }

// Error shows the call.
func (e *NoAnswerError) Error() string {
	words := slices.Clone(e.Argv)
	for i, w := range words {
		words[i] = fmt.Sprintf("%q", w)
	}
	return "the simulated machine has no answer for [" + strings.Join(words, ", ") + "]"
}

// notInstalled says that a program is missing, since its package is.
type notInstalled struct{ name, pkg string }

func (e *notInstalled) Error() string {
	return fmt.Sprintf("there is no program %q: the package %s is not installed", e.name, e.pkg)
}

// Is makes it an fs.ErrNotExist.
func (e *notInstalled) Is(target error) bool { return target == fs.ErrNotExist }
