package packages

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// Installed implements manager. It reads dpkg's own record: a stanza for each
// package, fields as in deb822, with Status as WANT ERROR STATE.
func (apt) Installed(h host.Reader, name string) (installed, error) {
	f, err := h.Open("/var/lib/dpkg/status")
	if errors.Is(err, fs.ErrNotExist) {
		return installed{}, nil // a system without any package
	}
	if err != nil {
		return installed{}, err
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return installed{}, err
	}
	return findInstalled(string(data), name), nil
}

// findInstalled looks a package up in the text of dpkg's status file. Of
// several architectures of one name, an installed one is preferred.
func findInstalled(status, name string) installed {
	name, arch, _ := strings.Cut(name, ":")
	header := "Package: " + name + "\n"
	var found installed
	for rest := status; ; {
		at := strings.Index(rest, header)
		if at < 0 {
			return found
		}
		atStart := at == 0 || rest[at-1] == '\n'
		rest = rest[at+len(header):]
		if !atStart {
			continue
		}
		stanza, _, _ := strings.Cut(rest, "\n\n")
		if p, ok := parseStanza(stanza, arch); ok && (p.Version != "" || found == installed{}) {
			found = p
		}
		if found.Version != "" {
			return found
		}
	}
}

func parseStanza(stanza, arch string) (installed, bool) {
	var p installed
	version, state := "", ""
	for line := range strings.Lines(stanza) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok || key == "" || key[0] == ' ' {
			continue
		}
		switch key {
		case "Status":
			if words := strings.Fields(value); len(words) == 3 {
				p.Hold, state = words[0] == "hold", words[2]
			}
		case "Version":
			version = value
		case "Architecture":
			if arch != "" && arch != "native" && value != arch && value != "all" {
				return p, false
			}
		}
	}
	switch state {
	case "installed", "triggers-awaited", "triggers-pending":
		p.Version = version
	case "config-files":
		p.Leftover = true
	}
	return p, true
}
