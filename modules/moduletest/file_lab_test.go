//go:build lab

package moduletest_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/modules/file"
	"github.com/tenetcm/tenet/runtime/host"
)

// A program whose new content is refused comes back with the capabilities that it had.
func TestFileRefusedKeepsCapabilityByRoot(t *testing.T) {
	t.Parallel()
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const capability = "security.capability"
	name := filepath.Join(t.TempDir(), "program")
	netRaw, err := hex.DecodeString("0100000200200000000000000000000000000000") // cap_net_raw=ep
	if err = errors.Join(err, os.WriteFile(name, []byte("one"), 0o755), unix.Setxattr(name, capability, netRaw, 0)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		check, holds string
		size         int
	}{{"false", "one", len(netRaw)}, {"true", "two", -1}} {
		want, err := file.Module.Decode(map[string]any{"path": name, "content": "two", "validate": []any{c.check}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := file.Module.Read(t.Context(), h, want)
		if err != nil {
			t.Fatal(err)
		}
		err = file.Module.Write(t.Context(), h, have, file.Module.Fill(have, want))
		if (err == nil) != (c.check == "true") {
			t.Error(err)
		}
		text, err := os.ReadFile(name)
		n, xerr := unix.Getxattr(name, capability, make([]byte, 64))
		if err != nil || string(text) != c.holds || n != c.size {
			t.Errorf("%s: it holds %q, %v, with %d bytes of capabilities, %v", c.check, text, err, n, xerr)
		}
	}
}
