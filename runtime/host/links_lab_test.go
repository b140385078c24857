//go:build lab

package host_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/tenetcm/tenet/runtime/host/hosttest"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// The kernel itself passes the suite, in a network namespace of its own: the test
// starts itself there.
func TestLocalLinks(t *testing.T) {
	const inside = "TENET_TEST_LINKS"
	if os.Getenv(inside) == "" {
		cmd := exec.Command("unshare", "--net", os.Args[0], "-test.run=^TestLocalLinks$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	hosttest.RunLinks(t, false, func(t *testing.T) (links.Devices, string) {
		devices := linksOf(t, local(t, ""))
		list, err := devices.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := links.Find(list, "port0"); err != nil {
			if err := devices.Add(t.Context(), links.Link{Name: "port0", Kind: "veth"}); err != nil {
				t.Fatal(err)
			}
		}
		return devices, "port0"
	})
}
