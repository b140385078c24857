package fstab

import (
	"path"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// maxLinks bounds symbolic links that lead to each other.
const maxLinks = 40

// RealPath is a path without symbolic links, also as its last name.
func RealPath(h host.Reader, name string) string {
	for range maxLinks {
		name = host.Resolve(h, name)
		target, err := h.ReadLink(name)
		if err != nil {
			break
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
	}
	return name
}

// Device gives the path of what a table names by UUID=… or its like, as udev makes it;
// any other source as it is.
func Device(source string) string {
	if dir, tag, ok := parseTag(source); ok {
		return path.Join("/dev/disk", dir, udevName(tag))
	}
	return source
}

// parseTag takes UUID=… and its like apart: the directory of /dev/disk and the value.
func parseTag(source string) (dir, tag string, ok bool) {
	key, value, ok := strings.Cut(source, "=")
	switch key {
	case "UUID", "LABEL", "PARTUUID", "PARTLABEL":
		return "by-" + strings.ToLower(key), strings.Trim(value, `"`), ok
	}
	return "", "", false
}

// udevName is how udev names a link after a label: all but some characters as \xNN.
func udevName(label string) string {
	var b strings.Builder
	for i := range len(label) {
		c := label[i]
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("#+-.:=@_", c) >= 0 || c >= 0x80 {
			b.WriteByte(c)
		} else {
			b.WriteString(`\x` + strconv.FormatUint(uint64(c)+0x100, 16)[1:])
		}
	}
	return b.String()
}
