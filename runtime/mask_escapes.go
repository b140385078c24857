package runtime

import (
	"slices"
	"strconv"
	"strings"
)

// maxNested is the length up to which forms within other forms are searched for: what is
// longer is a file, and its lines are.
const maxNested = 4096

// nestedForms gives a text as it stands in JSON, XML, a shell's or a program's quotes, and as
// that is written by what logs it: JSON in JSON, a script in base64.
func nestedForms(write func(string) []string) func(string) []string {
	return func(s string) (forms []string) {
		if len(s) > maxNested {
			return nil
		}
		once := slices.Concat(jsonForms(s), quotedForms(s), xmlForms(s), shellForms(s))
		for i, form := range once { // the most usual first
			if form != s && !slices.Contains(once[:i], form) {
				forms = append(forms, write(form)...)
			}
		}
		return forms
	}
}

// jsonWithin gives a text as it stands in JSON that stands in XML, HTML or a URL.
func jsonWithin(s string) (forms []string) {
	if len(s) > maxNested {
		return nil
	}
	for _, form := range jsonForms(s) {
		if form != s {
			forms = append(append(forms, xmlForms(form)...), urlForms(form)...)
		}
	}
	return forms
}

// quotedForms gives a text as it stands in quotes of Go and of languages like it.
func quotedForms(s string) []string {
	quoted, ascii := strconv.Quote(s), strconv.QuoteToASCII(s)
	return []string{quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1]}
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
