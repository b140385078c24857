package inventory

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal gives the value of a text in an INI file: that of a literal of Python, if it
// is one, and else the text itself, as Ansible has it.
func literal(text string) any {
	p := &python{text: strings.TrimLeft(text, " \t")}
	v, ok := p.tuple()
	if p.space(); !ok || p.at < len(p.text) {
		return text
	}
	return v
}

// python reads literals.
type python struct {
	text  string
	at    int
	depth int
}

// space passes over white space, and a comment.
func (p *python) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\f', '\r':
			p.at++
		case '#':
			p.at = len(p.text)
		default:
			return
		}
	}
}

func (p *python) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// tuple reads one value, or several with commas between them.
func (p *python) tuple() (any, bool) {
	v, ok := p.value()
	if !ok || !p.take(',') {
		return v, ok
	}
	list := []any{v}
	for p.space(); p.at < len(p.text); p.space() {
		if v, ok = p.value(); !ok {
			return nil, false
		}
		list = append(list, v)
		if !p.take(',') {
			break
		}
	}
	return list, true
}

func (p *python) value() (any, bool) {
	if p.depth++; p.depth > maxDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	p.space()
	if p.at == len(p.text) {
		return nil, false
	}
	switch c := p.text[p.at]; {
	case c == '[':
		p.at++
		return p.elements(']')
	case c == '(':
		p.at++
		return p.parentheses()
	case c == '{':
		p.at++
		return p.dict()
	case c == '\'' || c == '"':
		return p.texts()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.name()
}

// elements reads values up to a bracket.
func (p *python) elements(end byte) (any, bool) {
	list := []any{}
	for !p.take(end) {
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if !p.take(',') {
			return list, p.take(end)
		}
	}
	return list, true
}

// parentheses reads a tuple, or a value in parentheses.
func (p *python) parentheses() (any, bool) {
	start := p.at
	v, ok := p.value()
	if ok && p.take(')') {
		return v, true
	}
	p.at = start
	return p.elements(')')
}

func (p *python) dict() (any, bool) {
	out := map[string]any{}
	for !p.take('}') {
		key, ok := p.value()
		if !ok || !p.take(':') {
			return nil, false
		}
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		name, ok := keyText(key)
		if !ok {
			return nil, false
		}
		out[name] = v
		if !p.take(',') {
			return out, p.take('}')
		}
	}
	return out, true
}

// keyText is a key of an object, as JSON writes it.
func keyText(key any) (string, bool) {
	switch k := key.(type) {
	case string:
		return k, true
	case json.Number:
		return k.String(), true
	case bool:
		return strconv.FormatBool(k), true
	case nil:
		return "null", true
	}
	return "", false
}

func (p *python) name() (any, bool) {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] == '_' || p.text[p.at] >= '0' && p.text[p.at] <= '9' ||
		p.text[p.at] >= 'A' && p.text[p.at] <= 'Z' || p.text[p.at] >= 'a' && p.text[p.at] <= 'z') {
		p.at++
	}
	switch p.text[start:p.at] {
	case "True":
		return true, true
	case "False":
		return false, true
	case "None":
		return nil, true
	}
	return nil, false
}

func (p *python) number() (any, bool) {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] == '-' || p.text[p.at] == '+') {
		p.at++
	}
	if p.at-start > 1 {
		return nil, false
	}
	sign := strings.TrimPrefix(p.text[start:p.at], "+")
	digits := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		exponent := (c == '-' || c == '+') && (p.text[p.at-1] == 'e' || p.text[p.at-1] == 'E') && !isHex(p.text[digits:p.at])
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !exponent {
			break
		}
		p.at++
	}
	return numberOf(sign, p.text[digits:p.at])
}

func isHex(text string) bool { return len(text) > 1 && (text[1] == 'x' || text[1] == 'X') }

// numberOf gives a number that Python writes so.
func numberOf(sign, text string) (any, bool) {
	plain := strings.ReplaceAll(text, "_", "")
	if plain == "" || strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") {
		return nil, false
	}
	based := len(plain) > 1 && plain[0] == '0' && strings.ContainsRune("xXoObB", rune(plain[1]))
	if based {
		n, err := strconv.ParseUint(plain, 0, 63)
		return json.Number(sign + strconv.FormatUint(n, 10)), err == nil
	}
	if strings.Trim(plain, "0123456789") == "" {
		if len(plain) > 1 && plain[0] == '0' && strings.Trim(plain, "0") != "" {
			return nil, false // Python refuses 0644
		}
		plain = strings.TrimLeft(plain, "0")
		if plain == "" {
			return json.Number("0"), true
		}
		return json.Number(sign + plain), true
	}
	if strings.Trim(plain, "0123456789.eE+-") != "" {
		return nil, false
	}
	return floatOf(sign + plain)
}

// floatOf gives a number with a point or an exponent.
func floatOf(text string) (any, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, false
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
}

// texts reads one text, or several beside each other, which are one.
func (p *python) texts() (any, bool) {
	var out strings.Builder
	for {
		text, ok := p.quotedText()
		if !ok {
			return nil, false
		}
		out.WriteString(text)
		p.space()
		if p.at == len(p.text) || p.text[p.at] != '\'' && p.text[p.at] != '"' {
			return out.String(), true
		}
	}
}

func (p *python) quotedText() (string, bool) {
	quote := p.text[p.at : p.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.text[p.at:], triple) {
		quote = triple
	}
	p.at += len(quote)
	var out strings.Builder
	for p.at < len(p.text) {
		if strings.HasPrefix(p.text[p.at:], quote) {
			p.at += len(quote)
			return out.String(), true
		}
		if p.text[p.at] != '\\' {
			out.WriteByte(p.text[p.at])
			p.at++
			continue
		}
		if !p.escape(&out) {
			return "", false
		}
	}
	return "", false
}

// escape reads what a backslash begins.
func (p *python) escape(out *strings.Builder) bool {
	if p.at+1 == len(p.text) {
		return false
	}
	c := p.text[p.at+1]
	p.at += 2
	if i := strings.IndexByte("abfnrtv\\'\"", c); i >= 0 {
		out.WriteByte("\a\b\f\n\r\t\v\\'\""[i])
		return true
	}
	digits, base := 0, 16
	switch {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		p.at--
		base = 8
		for digits < 3 && p.at+digits < len(p.text) && p.text[p.at+digits] >= '0' && p.text[p.at+digits] <= '7' {
			digits++
		}
	case c == 'N':
		return false // a character by its name
	default: // Python keeps the backslash
		out.WriteByte('\\')
		out.WriteByte(c)
		return true
	}
	if p.at+digits > len(p.text) {
		return false
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+digits], base, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return false
	}
	p.at += digits
	out.WriteRune(rune(n))
	return true
}
