// Command limit does for a directory of generated files what any tool must do
// at the very least, and nothing else. It is what tenet is measured against.
//
//	limit check DIR N    lstat, open, read and compare N files
//	limit write DIR N    create, write, set the mode of and rename N files
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tenetcm/tenet/bench"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "limit:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: limit check|write DIR N")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	do, ok := map[string]func(path, want string) error{"check": check, "write": write}[args[0]]
	if !ok {
		return fmt.Errorf("%q is neither check nor write", args[0])
	}
	for i := range n {
		name := bench.Name(i)
		if err := do(filepath.Join(args[1], name), bench.Content(name)); err != nil {
			return err
		}
	}
	return nil
}

func check(path, want string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if string(have) != want || info.Mode() != bench.Mode {
		return fmt.Errorf("%s differs", path)
	}
	return nil
}

func write(path, want string) error {
	temporary := path + ".new"
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(want); err != nil {
		return err
	}
	if err := f.Chmod(bench.Mode); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
