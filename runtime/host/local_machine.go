package host

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Tune is Machine.Tune. The value is written at once, as the kernel wants it.
func (l *Local) Tune(path, value string) error {
	clean, err := checkPath("write", path)
	if err != nil {
		return err
	}
	fd, err := l.openAt(clean, unix.O_WRONLY|unix.O_TRUNC|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return pathError("write", path, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errSpecial
	}
	if err == nil {
		_, err = unix.Write(fd, []byte(value))
	}
	return pathError("write", path, errors.Join(err, unix.Close(fd)))
}

// Links is Machine.Links. A tree below a root has none: devices are the kernel's.
func (l *Local) Links(context.Context) (links.Devices, error) {
	if l.root != nil {
		return nil, lackError("network devices below a root")
	}
	return links.Local{}, nil
}
