package runtime

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
)

// Of one secret, so many forms are looked for beside its own text and lines: maxForms and
// formsPerText for each of these, of maxFormBytes and formBytesPerByte for each of its own
// in all.
const (
	maxForms         = 1000
	formsPerText     = 8
	maxFormBytes     = 512 << 10
	formBytesPerByte = 20
)

// addSecret adds the forms in which the texts and numbers of a value may turn up.
func (f *forms) addSecret(v any) {
	switch v := v.(type) {
	case string:
		f.addText(v)
	case json.Number:
		f.addText(v.String())
	case []any:
		for _, e := range v {
			f.addSecret(e)
		}
	case map[string]any:
		for _, e := range v {
			f.addSecret(e)
		}
	}
}

// addText adds a text, its lines, and how programs write them: of all of them first what
// is most usual, as far as there may be more.
func (f *forms) addText(s string) {
	texts := textsOf(s)
	for _, text := range texts {
		f.add(text)
	}
	number, bytes := maxForms+formsPerText*len(texts), maxFormBytes+formBytesPerByte*len(s)
	for _, write := range writers() {
		for _, text := range texts {
			for _, form := range write(text) {
				if len(form) < minSecret || !f.add(form) {
					continue
				}
				number, bytes = number-1, bytes-len(form)
				if number <= 0 || bytes <= 0 {
					return
				}
			}
		}
	}
}

// textsOf gives a text and its lines as they may stand somewhere, the longest first.
func textsOf(s string) []string {
	texts := []string{s, strings.TrimSpace(s), diag.Safe(s)} // the last as process.Tail shows it
	for line := range strings.Lines(s) {                     // a program may indent them
		if line = strings.TrimSpace(line); len(line) >= minSecretLine {
			texts = append(texts, line, diag.Safe(line))
		}
	}
	texts = slices.DeleteFunc(texts, func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(texts)
}

// writers are ways in which programs write a text, the most usual first.
func writers() []func(string) []string {
	return []func(string) []string{jsonForms, base64Cores, urlForms, hexForms, quotedForms, xmlForms, shellForms,
		nestedForms(jsonForms), nestedForms(base64Cores), jsonWithin}
}

// shortTexts lists the texts within a value that are too short to be searched for
// anywhere.
func shortTexts(v any) (short []string) {
	switch v := v.(type) {
	case string:
		if v != "" && len(v) < minSecret {
			short = append(short, v)
		}
	case []any:
		for _, e := range v {
			short = append(short, shortTexts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			short = append(short, shortTexts(e)...)
		}
	}
	return short
}

// hexForms gives a text in hexadecimal, in either case.
func hexForms(s string) []string {
	lower := hex.EncodeToString([]byte(s))
	return []string{lower, strings.ToUpper(lower)}
}

// base64Cores gives what base64 makes of a secret within a longer text,
// wherever it begins there: the characters that do not depend on its neighbours.
func base64Cores(secret string) []string {
	var cores []string
	for offset := range 3 {
		text := append(make([]byte, offset), secret...)
		// The first characters hold bits of what is before, the last one may
		// hold bits of what follows.
		first, end := (offset*8+5)/6, len(text)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if core := encoding.EncodeToString(text)[first:end]; len(core) >= minSecret {
				cores = append(cores, core)
			}
		}
	}
	return cores
}

// jsonForms gives a text as it stands in JSON: with what HTML gives a meaning
// escaped, as Go does, or not, and with all that is not ASCII escaped.
func jsonForms(s string) []string {
	escaped, err := json.Marshal(s)
	if err != nil {
		panic("runtime: a string is no JSON: " + err.Error())
	}
	html := string(escaped[1 : len(escaped)-1])
	plain := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	return []string{html, plain, ascii(html), ascii(plain)}
}

// ascii escapes what is not ASCII, in UTF-16.
func ascii(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return out.String()
}

// urlForms gives a text as it stands in URLs: in a query, in a path, as
// JavaScript and Python escape it, with digits in either case.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	component := strings.ReplaceAll(query, "+", "%20")
	forms := []string{query, component, url.PathEscape(s), strings.ReplaceAll(component, "%2F", "/"),
		strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(component)}
	escape := regexp.MustCompile(`%[0-9A-F]{2}`)
	for _, form := range forms[:len(forms):len(forms)] {
		forms = append(forms, escape.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return forms
}

// minWrapped is the length of the lines that are taken for wrapped base64 or
// hexadecimal.
const minWrapped = 32

// maskWrapped masks blocks of base64 or hexadecimal that are wrapped into lines,
// where a secret may go on from one line to the next.
func maskWrapped(s string, f *forms) string {
	if strings.Count(s, "\n") == 0 {
		return s
	}
	var out []string
	var block []string
	end := func() {
		var joined strings.Builder
		for _, line := range block {
			joined.WriteString(strings.TrimSpace(line))
		}
		if len(block) > 1 && f.replace(joined.String(), journal.Masked) != joined.String() {
			block = []string{journal.Masked}
		}
		out, block = append(out, block...), nil
	}
	for line := range strings.SplitSeq(s, "\n") {
		text := strings.TrimSpace(line)
		encoded := text != "" && !strings.ContainsFunc(text, func(c rune) bool {
			letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
			return !letter && !strings.ContainsRune("+/=_-", c)
		})
		switch {
		case encoded && len(text) >= minWrapped:
			block = append(block, line)
		case encoded && len(block) > 0: // the last line is shorter
			block = append(block, line)
			end()
		default:
			end()
			out = append(out, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}
