package expr

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// rawHeredoc is text that stands between <<'END' or <<-'END' and END: nothing in it is a
// template. HCL has no such thing, so the library gets a usual heredoc of the same size, in
// which another sign stands in place of the braces that would begin a template.
type rawHeredoc struct {
	start  int // of <<
	text   int // where its text starts
	end    int // where the line with the marker starts, or the source ends
	marker string
}

// rawHeredocs finds those of a source.
func rawHeredocs(src []byte) []rawHeredoc {
	if !bytes.Contains(src, []byte("<<'")) && !bytes.Contains(src, []byte("<<-'")) {
		return nil
	}
	n := nesting{src: src, limit: math.MaxInt}
	for n.at < len(src) {
		n.step()
	}
	return n.raw
}

// ParseConfig is the library's, for sources that may hold raw heredocs.
func ParseConfig(src []byte, name string, start hcl.Pos) (*hcl.File, hcl.Diagnostics) {
	found := rawHeredocs(src)
	sign, ok := unusedSign(src)
	if len(found) == 0 || !ok {
		return hclsyntax.ParseConfig(src, name, start)
	}
	hidden := slices.Clone(src)
	starts := map[int]bool{}
	for _, h := range found {
		opening := hidden[h.start:h.text]
		head, line, _ := bytes.Cut(opening, []byte("'"))
		copy(opening, "  "+string(head)+h.marker+string(line[len(h.marker)+1:])) // the quotes go before it
		for i := h.text + 1; i < h.end; i++ {
			if c := hidden[i-1]; hidden[i] == '{' && (c == '$' || c == '%') {
				hidden[i] = sign
			}
		}
		starts[start.Byte+h.start+2] = true
	}
	file, diags := hclsyntax.ParseConfig(hidden, name, start)
	if file != nil {
		file.Bytes = src
		restoreRaw(file.Body.(*hclsyntax.Body), starts, string(sign))
	}
	return file, diags
}

// unusedSign gives a character that a source does not have.
func unusedSign(src []byte) (byte, bool) {
	for c := byte(1); c < '\t'; c++ {
		if bytes.IndexByte(src, c) < 0 {
			return c, true
		}
	}
	return 0, false
}

// restoreRaw puts the braces back, and the begin of each heredoc, in what the library made of it.
func restoreRaw(body *hclsyntax.Body, starts map[int]bool, sign string) {
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics { // it gives what this gives: nothing
		t, ok := n.(*hclsyntax.TemplateExpr)
		if !ok || !starts[t.SrcRange.Start.Byte] {
			return nil
		}
		t.SrcRange.Start.Byte -= 2
		t.SrcRange.Start.Column -= 2
		for _, part := range t.Parts {
			if text, ok := part.(*hclsyntax.LiteralValueExpr); ok && text.Val.Type() == cty.String {
				text.Val = cty.StringVal(strings.ReplaceAll(text.Val.AsString(), sign, "{"))
			}
		}
		return nil
	})
}

var hiddenHeredoc = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<<-?raw_heredoc_(\d+)\r?\n[ \t]*raw_heredoc_\d+`)
})

// LayOut rewrites a source by a function that knows no raw heredocs; they stay as they are.
func LayOut(src []byte, by func([]byte) []byte) []byte {
	found := rawHeredocs(src)
	if len(found) == 0 || !bytes.Contains(src[found[len(found)-1].end:], []byte(found[len(found)-1].marker)) {
		return by(src) // there are none, or the last has no end
	}
	var hidden bytes.Buffer
	var texts [][]byte
	at := 0
	for i, h := range found {
		end := h.end + bytes.Index(src[h.end:], []byte(h.marker)) + len(h.marker)
		fmt.Fprintf(&hidden, "%s<<-raw_heredoc_%d\nraw_heredoc_%[2]d", src[at:h.start], i)
		texts, at = append(texts, src[h.start:end]), end
	}
	hidden.Write(src[at:])
	return hiddenHeredoc().ReplaceAllFunc(by(hidden.Bytes()), func(m []byte) []byte {
		i, err := strconv.Atoi(string(hiddenHeredoc().FindSubmatch(m)[1]))
		if err != nil || i >= len(texts) {
			return m // it is the source's own
		}
		return texts[i]
	})
}
