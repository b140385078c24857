package modules_test

import (
	"slices"
	"testing"

	"github.com/tenetcm/tenet/modules"
)

// Modules that edit a file which others may edit hold that file's lock, which a part
// that names the file, such as line, holds as well: so no change is lost.
func TestSharedFilesAreLocked(t *testing.T) {
	registry := modules.Standard()
	for typ, files := range map[string][]string{
		"mount": {"/etc/fstab"}, "swap": {"/etc/fstab"}, "hosts_entry": {"/etc/hosts"},
		"known_host": {"/etc/ssh/ssh_known_hosts"}, "locale": {"/etc/locale.gen", "/etc/default/locale"},
	} {
		m := registry.Lookup(typ)
		for _, file := range files {
			if !slices.Contains(m.Locks, file) {
				t.Errorf("%s edits %s without its lock: it has %q", typ, file, m.Locks)
			}
		}
	}
}
