package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What replaces a file keeps what the file has beside content, owner and mode: its access
// control list, the attributes that users and the system have given it, its label. With
// an access control list the mode's bits for the group are the list's mask, as for chmod;
// what the owning group may do stands in the list.

// isBoundToContent tells attributes that hold for the content that they were given for.
func isBoundToContent(attribute string) bool {
	return attribute == "security.capability" || attribute == "security.ima" || attribute == "security.evm"
}

// canStay tells attributes without which a file is better written than not: only an access
// control list and capabilities decide about what may be done.
func canStay(attribute string) bool {
	return attribute != accessList && attribute != "security.capability"
}

// isRefused tells what is said of an attribute that one may not, or cannot, give: a label of
// another policy, or one of a file system that is reached through a network or a program.
func isRefused(err error) bool {
	return isUnsupportedCall(err) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EINVAL)
}

// keepAttributes gives a new file the attributes of the one that it replaces, as far as this
// process may give them.
func keepAttributes(ctx context.Context, dir int, name string, fd int, c Content) error {
	from, err := openAttributes(dir, name)
	if err != nil {
		return err
	}
	defer from.Close()
	names, err := attributeNames(from.name)
	if err != nil {
		return err
	}
	if names, err = from.withoutForeignList(names, fd); err != nil {
		return err
	}
	if !slices.Contains(names, accessList) { // the directory may have given it one
		if err := unix.Fremovexattr(fd, accessList); err != nil && err != unix.ENODATA && !isUnsupportedCall(err) {
			return fmt.Errorf("the access control list that the directory gives could not be taken away: %w", err)
		}
	}
	for _, attribute := range names {
		if isBoundToContent(attribute) {
			if same, err := from.holds(ctx, c); err != nil || !same {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := copyAttribute(from.name, fd, attribute); err != nil && !(isRefused(err) && canStay(attribute)) {
			return fmt.Errorf("its attribute %s could not be kept: %w", attribute, err)
		}
	}
	return nil
}

// takeAccess gives a new file the access control list of another one in its directory, and
// the attributes that users have given that.
func takeAccess(dir int, name string, fd int) error {
	from, err := openAttributes(dir, name)
	if err != nil {
		return err
	}
	defer from.Close()
	names, err := attributeNames(from.name)
	if err == nil {
		names, err = from.withoutForeignList(names, fd)
	}
	for _, attribute := range names {
		if err == nil && (attribute == accessList || strings.HasPrefix(attribute, "user.")) {
			if err = copyAttribute(from.name, fd, attribute); isRefused(err) && canStay(attribute) {
				err = nil
			}
		}
	}
	return err
}

// attributeFile is a file whose attributes are read, whoever may read its content.
type attributeFile struct {
	fd   int
	name string // by which it is found as long as it is open
}

func openAttributes(dir int, name string) (*attributeFile, error) {
	fd, err := retryInterrupted(func() (int, error) {
		return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return &attributeFile{fd: fd, name: procPath(fd)}, nil
}

func (a *attributeFile) Close() error { return unix.Close(a.fd) }

// withoutForeignList leaves the access control list out of the names of attributes that a new
// file is to get, where the new file takes the former one over and that names others.
func (a *attributeFile) withoutForeignList(names []string, fd int) ([]string, error) {
	var is, now unix.Stat_t
	if err := cmp.Or(unix.Fstat(a.fd, &is), unix.Fstat(fd, &now)); err != nil {
		return nil, err
	}
	if !(Meta{UID: new(int(now.Uid))}).TakesOver(infoOf(&is)) {
		return names, nil
	}
	l, err := readList(a.name, accessList)
	if len(l.names("")) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return name == accessList })
	}
	return names, err
}

// holds reports whether the file has a content.
func (a *attributeFile) holds(ctx context.Context, c Content) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(a.fd, &st); err != nil || st.Size != c.Size() {
		return false, err
	}
	f, err := os.Open(a.name)
	if err != nil {
		return false, err
	}
	digest := sha256.New()
	_, err = io.Copy(digest, ReaderWithin(ctx, f))
	return hex.EncodeToString(digest.Sum(nil)) == c.Sum(), errors.Join(err, f.Close())
}

// attributeNames lists the attributes of a file; one on a file system without any has none.
func attributeNames(name string) ([]string, error) {
	for {
		size, err := unix.Listxattr(name, nil)
		if err != nil || size == 0 {
			return nil, ignoreUnsupported(err)
		}
		buf := make([]byte, size)
		size, err = unix.Listxattr(name, buf)
		if err == unix.ERANGE { // there are more by now
			continue
		}
		if err != nil {
			return nil, ignoreUnsupported(err)
		}
		// An overlay counts attributes of its own in the size, and lists none of them.
		return strings.FieldsFunc(string(buf[:size]), func(r rune) bool { return r == 0 }), nil
	}
}

// ignoreUnsupported takes it for none that a file system has no attributes, or that /proc is not there
// to ask it by.
func ignoreUnsupported(err error) error {
	if isUnsupportedCall(err) || err == unix.ENOENT || err == unix.ENODATA {
		return nil
	}
	return err
}

// copyAttribute sets an attribute, unless the new file has that already, as the label
// that the system gives.
func copyAttribute(from string, fd int, attribute string) error {
	value, err := attributeOf(func(buf []byte) (int, error) { return unix.Getxattr(from, attribute, buf) })
	if err == unix.ENODATA { // it has gone, or this user may not see it
		return nil
	}
	if err != nil {
		return err
	}
	have, err := attributeOf(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, attribute, buf) })
	if err == nil && bytes.Equal(have, value) {
		return nil
	}
	return unix.Fsetxattr(fd, attribute, value, 0)
}

func attributeOf(get func([]byte) (int, error)) ([]byte, error) {
	for {
		size, err := get(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		buf := make([]byte, size)
		if size, err = get(buf); err != unix.ERANGE {
			return buf[:max(size, 0)], err
		}
	}
}
