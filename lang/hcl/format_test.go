package hcl_test

import (
	"bytes"
	"testing"

	"github.com/tenetcm/tenet/lang/hcl"
)

// FuzzFormat looks for files whose layout does not settle, or that do not parse
// once they are laid out.
func FuzzFormat(f *testing.F) {
	f.Add("file \"/a\" {\ncontent=\"x\" # c\n}\n")
	f.Add("a = <<-EOT\n  x\n EOT\nb={c=1,\nd=[1,2]}\n")
	f.Add("locals{\n  a   = var.b ? 1:2 // c\n/* d */\n}\n")
	f.Fuzz(func(t *testing.T, src string) {
		out, list := hcl.Format("a.hcl", []byte(src))
		if list.HasErrors() {
			if string(out) != src {
				t.Errorf("%q is refused, and becomes %q", src, out)
			}
			return
		}
		again, list := hcl.Format("a.hcl", out)
		if list.HasErrors() || !bytes.Equal(again, out) {
			t.Errorf("%q becomes %q, and then %q (%v)", src, out, again, list)
		}
	})
}
