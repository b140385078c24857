package packages

import (
	"bytes"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// libraries gives those of a host that other packages need.
func libraries(h host.Reader) (map[string]bool, error) {
	data, err := host.ReadFile(h, dpkgStatus, 0)
	return neededLibraries(data), err
}

// neededLibraries reads dpkg's status, and gives the libraries that other packages need.
// Nobody asks for these by themselves, though apt believes it of all that came with the
// base system.
func neededLibraries(status []byte) map[string]bool {
	libraries, needed := map[string]bool{}, map[string]bool{}
	name := ""
	for line := range bytes.Lines(status) {
		field, value, _ := strings.Cut(string(bytes.TrimSpace(line)), ": ")
		switch field {
		case "Package":
			name = value
		case "Section":
			if value == "libs" || value == "oldlibs" {
				libraries[name] = true
			}
		case "Depends", "Pre-Depends":
			for part := range strings.SplitSeq(value, ",") {
				for choice := range strings.SplitSeq(part, "|") {
					other, _, _ := strings.Cut(strings.TrimSpace(choice), " ")
					other, _, _ = strings.Cut(other, ":") // libc6:any
					needed[other] = needed[other] || other != name
				}
			}
		}
	}
	for name := range libraries {
		if !needed[name] {
			delete(libraries, name)
		}
	}
	return libraries
}
