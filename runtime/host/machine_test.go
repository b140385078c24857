package host_test

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// What is unsupported is so for packages that know no host, too, and is said in few words.
func TestUnsupported(t *testing.T) {
	if !errors.Is(host.ErrUnsupported, errors.ErrUnsupported) || host.ErrUnsupported.Error() != "this host does not offer it" {
		t.Errorf("it is %q", host.ErrUnsupported)
	}
	kernel := links.NewMemory()
	kernel.Kinds = []string{"bridge"}
	if err := kernel.Add(t.Context(), links.Link{Name: "g", Kind: "gre"}); !errors.Is(err, host.ErrUnsupported) {
		t.Errorf("a kind that the kernel lacks: %v", err)
	}
}
