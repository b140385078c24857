package download

import (
	"strings"
	"testing"
)

// A list of checksums gives one that stands in it, or none.
func FuzzList(f *testing.F) {
	sum := strings.Repeat("0a", 32)
	for _, list := range []string{"", sum, sum + "  tool\n", sum + " *./tool\r\n", "SHA256 (tool) = " + sum, "SHA512 (a) = x) = " + sum, "# text\n\n(\n"} {
		f.Add(list, "tool")
	}
	f.Fuzz(func(t *testing.T, list, name string) {
		found, err := fromList(list, name)
		if err != nil {
			return
		}
		_, digits, ok := strings.Cut(found, ":")
		if !ok || checkSum(&found) != nil || !strings.Contains(strings.ToLower(list), digits) {
			t.Errorf("%q is found for %q in %q", found, name, list)
		}
	})
}
