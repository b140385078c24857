package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// What another account has made may have an access control list by which that account, and
// whomever it trusts, could read and write it when it is not theirs any more. So where the
// owner changes, who is named in the list goes, and so does a directory's default list, which
// would give the same to all that is made there. See Meta.TakesOver.

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// listEntry is an entry of an access control list, as the kernel writes it; see acl(5).
type listEntry struct {
	Tag, Rights uint16
	ID          uint32
}

const (
	tagOwner = 1 << iota
	tagUser
	tagOwningGroup
	tagGroup
	tagMask
	tagOthers
)

// list is an access control list.
type list []listEntry

const listVersion, listHead, listStep = 2, 4, 8

// parseList reads the kernel's form. None is what is empty.
func parseList(data []byte) (list, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if len(data) < listHead || (len(data)-listHead)%listStep != 0 || binary.LittleEndian.Uint32(data) != listVersion {
		return nil, errors.New("it has an access control list of an unknown form")
	}
	l := make(list, (len(data)-listHead)/listStep)
	_, err := binary.Decode(data[listHead:], binary.LittleEndian, l)
	return l, err
}

func (l list) bytes() ([]byte, error) {
	return binary.Append(binary.LittleEndian.AppendUint32(nil, listVersion), binary.LittleEndian, l)
}

// rights gives those of the first entry with a tag, or all.
func (l list) rights(tag uint16) uint16 {
	for _, e := range l {
		if e.Tag == tag {
			return e.Rights
		}
	}
	return 7
}

// names gives the entries that name users and groups in the form of getfacl -n.
func (l list) names(prefix string) []string {
	var texts []string
	for _, e := range l {
		of, named := map[uint16]string{tagUser: "user", tagGroup: "group"}[e.Tag]
		if !named {
			continue
		}
		rights := []byte("rwx")
		for i := range rights {
			if e.Rights&(4>>i) == 0 {
				rights[i] = '-'
			}
		}
		texts = append(texts, fmt.Sprintf("%s%s:%d:%s", prefix, of, e.ID, rights))
	}
	return texts
}

// withoutNames gives what a list says of the owner, the owning group and others.
func (l list) withoutNames() list {
	var own list
	for _, e := range l {
		switch e.Tag {
		case tagOwningGroup:
			e.Rights &= l.rights(tagMask)
		case tagOwner, tagOthers:
		default:
			continue
		}
		own = append(own, e)
	}
	return own
}

// readList reads a list of what is found by a name; what has none has an empty one.
func readList(name, attribute string) (list, error) {
	data, err := attributeOf(func(buf []byte) (int, error) { return unix.Getxattr(name, attribute, buf) })
	if err == unix.ENODATA || isUnsupportedCall(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseList(data)
}

// namesIn tells for people whom the lists name of what is found by a name.
func namesIn(name string, isDir bool) string {
	named, _ := readList(name, accessList) // what cannot be read, the act tells
	texts := named.names("")
	if isDir {
		handed, _ := readList(name, defaultList)
		texts = append(texts, handed.names("default:")...)
	}
	return strings.Join(texts, ", ")
}

// dropNames takes those who are named off the list of what is found by a name, so that the
// mode says all, and drops the default list of a directory.
func dropNames(name string, isDir bool) error {
	l, err := readList(name, accessList)
	if err == nil && len(l.names("")) > 0 {
		var own []byte
		if own, err = l.withoutNames().bytes(); err == nil { // which the kernel makes the mode
			err = unix.Setxattr(name, accessList, own, 0)
		}
	}
	if err == nil && isDir {
		if err = unix.Removexattr(name, defaultList); err == unix.ENODATA || isUnsupportedCall(err) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("the access control list of its former owner could not be taken away: %w", err)
	}
	return nil
}

// TakesOver reports whether what another account than root has made becomes somebody else's.
func (m Meta) TakesOver(is Info) bool { return m.UID != nil && *m.UID != is.UID && is.UID != 0 }

// modeWithoutList is the mode that a file keeps whose list goes: the bits of the group were the mask.
func modeWithoutList(dir int, name string, mode fs.FileMode) (fs.FileMode, error) {
	from, err := openAttributes(dir, name)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	l, err := readList(from.name, accessList)
	if len(l.names("")) > 0 {
		mode &^= 0o070 &^ (fs.FileMode(l.rights(tagOwningGroup)) << 3)
	}
	return mode, err
}
