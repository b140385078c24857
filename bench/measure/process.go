package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// program is one command line of a case.
type program struct {
	name     string
	argv     []string
	prepare  func() error // not timed: makes the state that is to be found
	check    func() error // not timed: checks that the work was done
	runsOnce bool         // for slow ones: run once, without warming up
}

// measure runs a program to its end and gives the time from its start to its
// end, and the most memory that it held, in bytes.
func measure(dir string, argv []string) (time.Duration, int64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // stdout goes to the null device
	begun := time.Now()
	err := cmd.Run()
	spent := time.Since(begun)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, tail(stderr.Bytes()))
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("the system does not tell the memory of %s", argv[0])
	}
	return spent, usage.Maxrss << 10, nil
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

func median(samples []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// spread asks ext4 to lay each directory below dir into another part of the
// disk. Without a journal it is several times slower at creating files where
// many were removed in the last minutes, whoever creates them. Other file
// systems do not know the flag, and do not need it.
func spread(dir string) { _ = exec.Command("chattr", "+T", dir).Run() }

// empty puts an empty directory in the place of one, and lets the disk come to
// rest. What was there is moved aside, not removed, for the same reason.
func empty(dir string) func() error {
	aside := 0
	return func() error {
		aside++
		if err := os.Rename(dir, fmt.Sprintf("%s.%d", dir, aside)); err != nil {
			return err
		}
		syscall.Sync()
		return os.Mkdir(dir, 0o755)
	}
}
