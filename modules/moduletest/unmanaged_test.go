package moduletest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/internal/unmanaged"
	"github.com/tenetcm/tenet/runtime/host"
)

// What packages brought, and what programs make, is not what somebody set up.
func TestUnmanaged(t *testing.T) {
	t.Parallel()
	h := host.NewMemory()
	for name, text := range map[string]string{
		"/var/lib/dpkg/status":           "Package: web\nConffiles:\n /etc/web/web.conf 900150983cd24fb0d6963f7d28e17f72\n /etc/web/changed 900150983cd24fb0d6963f7d28e17f72\nDescription: a\n",
		"/var/lib/dpkg/info/web.list":    "/.\n/etc\n/etc/web\n/etc/web/link\n/usr/share/web\n",
		"/var/lib/dpkg/info/web.md5sums": "900150983cd24fb0d6963f7d28e17f72  lib/web/data\n",
		"/etc/web/web.conf":              "abc", "/etc/web/changed": "abcd", "/etc/web/new": "x", "/etc/web/new~": "x",
		"/etc/web/new.dpkg-old": "x", "/etc/web/sub/x": "x", "/usr/lib/web/data": "abc", "/etc/shadow": "x",
	} {
		if err := h.Add(name, text); err != nil {
			t.Fatal(err)
		}
	}
	fake.Link(t, h, "new", "/etc/web/link")
	fake.Link(t, h, "new", "/etc/web/other")
	for kind, want := range map[host.Kind]string{
		host.Regular:   "[/etc/web/changed /etc/web/new /etc/web/sub/x]",
		host.Directory: "[/etc/web/sub /usr/lib /usr/lib/web]",
		host.Symlink:   "[/etc/web/other]",
	} {
		names, err := unmanaged.Below(t.Context(), h, []string{"/etc", "/usr/lib", "/etc/web"}, kind)
		if err != nil || fmt.Sprint(names) != want {
			t.Errorf("%s: %v, %v; want %s", kind, names, err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if names, err := unmanaged.Below(ended, h, []string{"/etc"}, host.Regular); err == nil {
		t.Errorf("what was cut short is taken for the whole: %v", names)
	}
	if names, err := unmanaged.Below(t.Context(), h, []string{"/etc/web/sub/x", "/nowhere"}, host.Regular); err == nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}
