package runtime_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	htmltemplate "html/template"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// escapes are ways in which programs write a text.
var escapes = map[string]func(string) string{
	"plain": func(s string) string { return s },
	"JSON": func(s string) string {
		data, _ := json.Marshal(s)
		return string(data)
	},
	"JSON but for HTML": func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return b.String()
	},
	"XML": func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s))
		return b.String()
	},
	"HTML":     html.EscapeString,
	"template": htmltemplate.HTMLEscapeString,
	"text":     func(s string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s) },
	"attribute": func(s string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
	},
	"single": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	"shlex":  func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" },
	"double": func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
	},
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"query":  url.QueryEscape,
	"Go":     strconv.Quote,
}

// A program that prints a secret as it stands in XML, JSON, JSON within JSON, a URL, a
// shell's quotes or base64 shows nothing of it.
func TestSecretsInEscapesStayHidden(t *testing.T) {
	names := []string{"plain", "JSON", "JSON but for HTML", "XML", "HTML", "template", "text", "attribute", "single", "shlex", "double", "base64", "query", "Go"}
	outer := []string{"plain", "JSON", "base64"}
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"&", "<", ">", `"`, "'", "\\", "$", "`", " ", "=", "+", "/", "é", "hunter", "#", "\u009b", "\u202e"}), 1, 8).Draw(rt, "pieces")
		secret := "q7" + strings.Join(pieces, "") + "z8"
		inner := rapid.SampledFrom(names).Draw(rt, "inner")
		around := rapid.SampledFrom(outer).Draw(rt, "outer")
		if long := rapid.SampledFrom([]int{1, 1, 1, 100}).Draw(rt, "long"); long > 1 { // the usual ones are found of long secrets, too
			secret = strings.Repeat(secret, 2700/len(secret))
			inner = rapid.SampledFrom([]string{"plain", "JSON", "JSON but for HTML", "XML", "single", "base64", "query", "Go"}).Draw(rt, "inner of a long one")
			around = rapid.SampledFrom([]string{"plain", "JSON"}).Draw(rt, "outer of a long one")
		}
		if around == "base64" && (inner == "base64" || inner == "query" || inner == "Go") {
			around = "plain"
		}
		said := "said " + escapes[around](`{"a": `+escapes[inner](secret)+"}")
		m := machine()
		m.Handle("tell", func(context.Context, host.Command) (host.Result, error) {
			return host.Result{ExitCode: 1, Stderr: []byte(said)}, nil
		})
		run := compile(t, modules.Standard(), "variable \"p\" {\n sensitive = true\n default = "+hclQuoted(secret)+"\n}\ncommand \"tell\" {\n argv = [\"tell\", var.p]\n}\n")
		applied := carry(t, runtime.Apply, run.Run, runtime.Options{Host: m, Registry: modules.Standard()})
		message := applied.parts["command.tell"].Error.Message
		if !strings.Contains(message, journal.Masked) || strings.Contains(message, "q7") || strings.Contains(message, strings.TrimSpace(said)) {
			rt.Fatalf("%q as %s in %s: %s", secret, inner, around, message)
		}
	})
}

// hclQuoted writes a text as HCL does.
func hclQuoted(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '"' || r == '\\':
			out.WriteString(strings.Trim(strconv.Quote(string(r)), `"`))
			if r == '"' {
				out.WriteString(`"`)
			}
		case unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return `"` + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(out.String()) + `"`
}
