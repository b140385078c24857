package hcl

import (
	"strings"
	"testing"
)

// The formatter leaves what stands in a raw heredoc as it is, and lays out what stands around it.
func TestFormatRawHeredoc(t *testing.T) {
	src := "file \"/a\" {\n content=<<-'END'\n  ${files[@]}  =  %{http_code}\n    cat <<'EOF'\n    EOF\n  END\n   mode =   \"0755\"\n}\n"
	want := "file \"/a\" {\n  content = <<-'END'\n  ${files[@]}  =  %{http_code}\n    cat <<'EOF'\n    EOF\n  END\n  mode    = \"0755\"\n}\n"
	got, list := Format("site.hcl", []byte(src))
	if len(list) > 0 || string(got) != want {
		t.Errorf("%v\n%s", list, got)
	}
	for _, wrong := range []string{"x = <<-'END'\n  ${\n", "x = <<-'END'", "x = <<-'END'\n", "x = <<'A B'\nA B\n", "x = <<-''\n\n"} {
		got, list := Format("site.hcl", []byte(wrong))
		if !list.HasErrors() || string(got) != wrong {
			t.Errorf("%q is laid out as %q", wrong, got)
		}
	}
	large := strings.Repeat(src, 500) // several pieces
	if got, list := Format("site.hcl", []byte(large)); len(list) > 0 || string(got) != strings.Repeat(want, 500) {
		t.Errorf("%v", list)
	}
}
