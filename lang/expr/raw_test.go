package expr

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// A raw heredoc is the text that stands there, whatever that is; what stands around it is where
// it would be beside a usual one.
func TestRawHeredocs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.RuneFrom([]rune("${}%\"'<>#\\/*a é\x01\x02[(!?")), 0, 12, -1)
		lines := rapid.SliceOfN(line, 0, 5).Draw(t, "lines")
		dash := rapid.SampledFrom([]string{"", "-"}).Draw(t, "dash")
		raw := "a = 1 # <<'A'\nb = \"<<'B'\"\nx = <<" + dash + "'END'\n"
		want := ""
		for _, l := range lines {
			if strings.TrimSpace(l) == "END" || strings.HasPrefix(l, " ") && dash != "" {
				t.Skip("it is indented, or the end")
			}
			raw += l + "\n"
			want += l + "\n"
		}
		if !strings.Contains(want, "a") && dash != "" && strings.TrimSpace(want) == "" {
			t.Skip("nothing to indent")
		}
		raw += "END\ny = \"${z}\"\n"
		file, diags := ParseConfig([]byte(raw), "site.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%s\n%v", raw, diags)
		}
		attributes := file.Body.(*hclsyntax.Body).Attributes
		got, diags := attributes["x"].Expr.Value(nil)
		if diags.HasErrors() || got != cty.StringVal(want) && got.AsString() != want {
			t.Fatalf("%q gives %#v, %v", raw, got, diags)
		}
		if at := attributes["x"].Expr.Range().Start; raw[at.Byte:at.Byte+2] != "<<" || at.Line != 3 || at.Column != 5 {
			t.Fatalf("it begins at %v", at)
		}
		if at := attributes["y"].Expr.Range().Start; !strings.HasPrefix(raw[at.Byte:], "\"${z}") || at.Line != 5+len(lines) {
			t.Fatalf("%q: what comes after it begins at %v", raw, at)
		}
		if laid := LayOut([]byte(raw), func(src []byte) []byte { return src }); string(laid) != raw {
			t.Fatalf("%q is laid out as %q", raw, laid)
		}
	})
}
