package runtime

import (
	"slices"
	"strings"
)

// maxNested is the length up to which forms within other forms are searched for: what is
// longer is a file, and its lines are.
const maxNested = 4096

// nestedForms gives a text as programs write it that put it into XML, HTML or a shell's
// quotes, and as it stands in JSON or base64 after that: a log in JSON of a body in JSON.
func nestedForms(s string) []string {
	if len(s) > maxNested {
		return append(xmlForms(s), shellForms(s)...)
	}
	once := append(append(xmlForms(s), shellForms(s)...), jsonForms(s)...)
	forms := once
	for _, form := range once {
		if form != s {
			forms = append(append(forms, jsonForms(form)...), base64Cores(form)...)
			forms = append(forms, xmlForms(form)...)
		}
	}
	return forms
}

// xmlEscapes gives what programs that write XML and HTML replace, each as a whole: a choice
// for every character of its own would be as many forms as there are combinations.
func xmlEscapes() []*strings.Replacer {
	return []*strings.Replacer{
		strings.NewReplacer("&", "&amp;", "<", "&lt;"),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"), // libxml's and Python's text
		strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;"),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;"),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#9;", "\r", "&#13;"),  // libxml's attributes
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#09;", "\r", "&#13;"), // ElementTree's
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),                                            // Python's html
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;"),              // Handlebars
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;"),                                            // PHP
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),                                              // Go's html
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;"),                                // Go's templates
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\n", "&#xA;", "\t", "&#x9;", "\r", "&#xD;"), // Go's xml
	}
}

// xmlForms gives a text as it stands in XML and HTML.
func xmlForms(s string) (forms []string) {
	for _, escape := range xmlEscapes() {
		if form := escape.Replace(s); form != s && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// shellForms gives a text as it stands in single and double quotes of a shell, with
// backslashes as "printf %q" writes them, and in quotes of programming languages.
func shellForms(s string) []string {
	if !strings.ContainsFunc(s, isSpecial) {
		return nil
	}
	var escaped strings.Builder
	for _, r := range s {
		if isSpecial(r) && r != '\n' {
			escaped.WriteByte('\\')
		}
		escaped.WriteRune(r)
	}
	ansi := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`)
	return []string{
		strings.ReplaceAll(s, `'`, `'\''`), strings.ReplaceAll(s, `'`, `'"'"'`), strings.ReplaceAll(s, `'`, `''`),
		strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s),
		escaped.String(), ansi.Replace(s), strings.ReplaceAll(s, `"`, `""`),
	}
}

// isSpecial reports whether a shell gives a character a meaning.
func isSpecial(r rune) bool { return strings.ContainsRune(" \t\n!\"#$&'()*,;<=>?[\\]^`{|}~", r) }
