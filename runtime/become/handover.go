package become

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openExecutable gives a path by which a process that has given up the rights of root can
// start a program, and a file that has to stay open until then, as descriptor 3: nil,
// if the program is this one and everybody may run it, wherever it lies. Else it is a copy
// in memory.
func openExecutable(program string) (path string, file *os.File, err error) {
	const itself = "/proc/self/exe" // whoever it is by then
	in, err := os.Open(program)
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	there, err := in.Stat()
	if err != nil {
		return "", nil, err
	}
	if this, err := os.Stat(itself); err == nil && os.SameFile(this, there) && there.Mode()&1 != 0 {
		return itself, nil, nil
	}
	fd, err := unix.MemfdCreate("tenet", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return "", nil, err
	}
	file = os.NewFile(uintptr(fd), "tenet")
	_, err = io.Copy(file, in)
	if err == nil { // nobody changes it while it is started
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		err = file.Chmod(0o755)
	}
	if err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	return "/proc/self/fd/3", file, nil
}

// copyForAccount copies a program to where another account can start it, which is not
// root: sudo and doas close what is open. The copy lies in a folder of ours with a name
// that nobody can guess, and clear removes it.
func copyForAccount(program string) (path string, clear func() error, err error) {
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) != nil || fs.Flags&unix.ST_NOEXEC != 0 {
			continue
		}
		folder, err := os.MkdirTemp(dir, ".tenet-")
		if err != nil {
			continue
		}
		clear := func() error { return os.RemoveAll(folder) }
		path := filepath.Join(folder, "tenet")
		err = copyTo(program, path)
		if err == nil {
			err = os.Chmod(folder, 0o711)
		}
		if err != nil {
			return "", nil, errors.Join(err, clear())
		}
		return path, clear, nil
	}
	return "", nil, errNoexec
}

func copyTo(program, path string) error {
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o755)
	}
	return errors.Join(err, out.Close())
}
