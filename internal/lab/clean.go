package lab

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Clean ends what dead runs have left: hosts, networks, control groups and folders. It
// returns the names of those runs. Runs that are alive are not touched.
func Clean() ([]string, error) {
	all, err := lockRuns()
	if err != nil {
		return nil, err
	}
	defer all.Close()
	entries, err := os.ReadDir(RunDir)
	if err != nil {
		return nil, err
	}
	var cleaned []string
	var errs []error
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(RunDir, entry.Name())
		lock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // it is alive, or was closed meanwhile
		}
		if err == nil {
			err = errors.Join(endHosts(entry.Name()), removeNetwork(entry.Name()), os.RemoveAll(dir), lock.Close())
		}
		cleaned = append(cleaned, entry.Name())
		errs = append(errs, err)
	}
	for _, run := range strays() {
		if _, err := os.Lstat(filepath.Join(RunDir, run)); errors.Is(err, fs.ErrNotExist) {
			cleaned = append(cleaned, run)
			errs = append(errs, endHosts(run), removeNetwork(run))
		}
	}
	return cleaned, errors.Join(errs...)
}

// endHosts kills the hosts of a run whose own process is gone.
func endHosts(run string) error {
	var errs []error
	all := commandLines()
	for pid, argv := range all {
		// What is about to become systemd-nspawn has the machine's name already.
		machine := slices.IndexFunc(argv, func(arg string) bool { return strings.HasPrefix(arg, run+"-") })
		if machine < 0 {
			continue
		}
		if leader := initOf(pid); filepath.Base(argv[0]) == "systemd-nspawn" && leader != 0 {
			pid = leader // nspawn tidies up and ends when its PID 1 does
			// Which it cannot while a program that was run there is waited for.
			for other, argv := range all {
				if argv[0] == "nsenter" && len(argv) > 2 && argv[2] == strconv.Itoa(leader) {
					_ = syscall.Kill(other, syscall.SIGKILL) // gone already is fine
				}
			}
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("lab: end %s: %w", argv[machine], err))
		}
	}
	return errors.Join(append(errs, removeGroups(run+"-*"))...)
}

// strays are the runs that have hosts, whether or not there is a folder of theirs.
func strays() (runs []string) {
	for _, argv := range commandLines() {
		machine := slices.Index(argv, "-M")
		if filepath.Base(argv[0]) != "systemd-nspawn" || machine < 0 || machine+1 == len(argv) {
			continue
		}
		name, ok := strings.CutPrefix(argv[machine+1], runPrefix)
		if number, _, found := strings.Cut(name, "-"); ok && found && !slices.Contains(runs, runPrefix+number) {
			runs = append(runs, runPrefix+number)
		}
	}
	return runs
}

// commandLines gives the arguments of all processes.
func commandLines() map[int][]string {
	out := map[int][]string{}
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && len(data) > 0 {
			out[pid] = strings.Split(string(data), "\x00")
		}
	}
	return out
}

// removeGroups removes the control groups whose names match. What was killed
// leaves them a moment later.
func removeGroups(pattern string) error {
	var err error
	for deadline := time.Now().Add(endLimit); ; time.Sleep(20 * time.Millisecond) {
		err = nil
		for _, tree := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
			groups, _ := filepath.Glob(filepath.Join(tree, pattern))
			for _, group := range groups {
				err = errors.Join(err, removeGroup(group))
			}
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// removeGroup removes a control group and those below it. Their files cannot
// be removed, and go with the directory.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroup(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}

// tarOf packs a file system.
func tarOf(fsys fs.FS) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(fsys); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
