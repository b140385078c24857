package setting

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// errElse says that a change would touch more than the value.
var errElse = errors.New("the value cannot be changed without touching anything else")

// decodeJSON gives plain data: nil, bool, string, json.Number, []any,
// map[string]any.
func decodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// checkName refuses names that a format has no way to write.
func checkName(format, name string) error {
	bad := "\x00"
	switch {
	case format == "ini":
		bad = "\x00\n\r"
	case format == "properties" && name == "":
		return errors.New("a name is required")
	}
	if i := strings.IndexAny(name, bad); i >= 0 {
		return fmt.Errorf("the name %.50q cannot contain %q", name, name[i:i+1])
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("the name %.50q is no UTF-8", name)
	}
	return nil
}

// checkValue refuses what a format cannot hold.
func checkValue(format string, value any) error {
	switch v := value.(type) {
	case nil:
		if format == "toml" || format == "ini" || format == "properties" {
			return errors.New("null cannot be written there; ensure = \"absent\" removes the setting")
		}
	case string:
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return errors.New("it is no text: it holds a NUL character, or is no UTF-8")
		}
		if format == "ini" {
			return checkINIText(v)
		}
	case []any, map[string]any:
		if format == "ini" || format == "properties" {
			return errors.New("a list or a map cannot be written there")
		}
		return checkBelow(format, v)
	}
	return nil
}

// checkINIText refuses what would not be read again as it was written.
func checkINIText(text string) error {
	list := strings.Split(text, "\n")
	for i, line := range list {
		switch {
		case strings.TrimSpace(line) != line || strings.Contains(line, "\r"):
			return errors.New("a line of a value in an INI file begins and ends with no space")
		case i > 0 && line != "" && isComment(line):
			return errors.New("a line of a value in an INI file cannot begin with # or ;, as a comment does")
		}
	}
	last := list[len(list)-1]
	if goesOn(last) || len(list) > 1 && last == "" {
		return errors.New("a value in an INI file does not end with a newline or a backslash")
	}
	return nil
}

func checkBelow(format string, value any) error {
	var list []any
	switch v := value.(type) {
	case []any:
		list = v
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := checkName(format, name); err != nil {
				return err
			}
		}
		list = slices.Collect(maps.Values(v))
	}
	for _, e := range list {
		if err := checkValue(format, e); err != nil {
			return err
		}
	}
	return nil
}

// scalar is a value as the text of a file that knows nothing but texts.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	return fmt.Sprint(value)
}

// textOnly is a value of a file that knows nothing but texts.
type textOnly string

// MarshalJSON makes it a text.
func (t textOnly) MarshalJSON() ([]byte, error) { return json.Marshal(string(t)) }

// isSame reports whether two values mean the same.
func isSame(a, b any) bool {
	if t, ok := a.(textOnly); ok {
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return string(t) == scalar(b)
	}
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, isSame)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, isSame)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, _, err := big.ParseFloat(a, 10, 200, big.ToNearestEven)
	y, _, yerr := big.ParseFloat(b, 10, 200, big.ToNearestEven)
	return err == nil && yerr == nil && x.Cmp(y) == 0
}

// lookup finds a value in plain data.
func lookup(v any, names []string) (any, bool) {
	for _, name := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// replaceAt gives plain data with another value at the names; without gives it less that
// value. Nothing of v is changed.
func replaceAt(v any, names []string, value any) (any, error) {
	if len(names) == 0 {
		return value, nil
	}
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		return nil, fmt.Errorf("there is no map in which %q could be", names[0])
	}
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	below, err := replaceAt(m[names[0]], names[1:], value)
	m[names[0]] = below
	return m, err
}

func removeAt(v any, names []string) any {
	m := maps.Clone(v.(map[string]any))
	if len(names) == 1 {
		delete(m, names[0])
	} else {
		m[names[0]] = removeAt(m[names[0]], names[1:])
	}
	return m
}

// prune gives data without empty maps, where a format cannot tell them from
// nothing.
func prune(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, e := range m {
		if e = prune(e); e != nil {
			out[name] = e
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
