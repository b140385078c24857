package host

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Restored is Flow of a file that comes back to the place where it was opened. It brings all
// its attributes along, as far as the acting user may give them: also file capabilities, which
// are bound to its content and go to no copy of it. Who writes it closes the file.
func Restored(file io.ReadCloser) Content {
	c := Flow(func() (io.ReadCloser, error) { return file, nil })
	c.restored = true
	return c
}

// attributesOf gives the attributes of an open file, by name. It is asked for them when the
// content has been read: the kernel takes capabilities away before anybody else can write.
func attributesOf(r io.Reader) (map[string][]byte, error) {
	f, ok := r.(*file)
	if !ok {
		return nil, nil
	}
	name := procPath(int(f.fd.Load()))
	names, err := attributeNames(name)
	if err != nil {
		return nil, err
	}
	attributes := map[string][]byte{}
	for _, attribute := range names {
		value, err := attributeOf(func(buf []byte) (int, error) { return unix.Getxattr(name, attribute, buf) })
		switch err {
		case nil:
			attributes[attribute] = value
		case unix.ENODATA: // it has gone
		default:
			return nil, err
		}
	}
	return attributes, nil
}

// setAttributes gives a new file attributes, those apart that are refused: what comes back
// without them is better than what does not come back.
func setAttributes(fd int, attributes map[string][]byte) error {
	for attribute, value := range attributes {
		if err := unix.Fsetxattr(fd, attribute, value, 0); err != nil && !isRefused(err) {
			return fmt.Errorf("its attribute %s could not be put back: %w", attribute, err)
		}
	}
	return nil
}
