package host

import "golang.org/x/sys/unix"

// MayWrite is Permissions.MayWrite: it asks the kernel, with the rights of the
// effective user.
func (l *Local) MayWrite(path string) bool {
	clean, err := checkWritable("access", path, nil)
	if err != nil {
		return true // not for want of rights
	}
	dir, _, err := l.openParent(clean)
	if err != nil {
		return err != unix.EACCES
	}
	defer unix.Close(dir)
	err = unix.Faccessat(unix.AT_FDCWD, procPath(dir), unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	return err != unix.EACCES && err != unix.EROFS
}
