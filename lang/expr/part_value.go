package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// value turns an attribute's value into the canonical one.
func (p *Parts) value(in PartInput, a Attribute) (value any, sensitive bool, err error) {
	schema := in.Module.Attribute(a.Name)
	if schema.Out {
		return nil, false, errObserved()
	}
	v, sensitive := Split(a.Value)
	if sensitive && schema.Key {
		return nil, false, errSensitiveKey(schema)
	}
	if given, ok := sourceOf(v); ok && schema.Kind.FromSite() {
		files := p.Files.of(given)
		value, err = files.content(schema.Kind, ".", given.at)
	} else {
		var plain any
		if plain, err = Plain(v); err == nil {
			value, err = p.canonical(in, a, schema, plain)
		}
	}
	switch {
	case err != nil && sensitive && schema.Kind.FromSite():
		err = &diag.HintError{Message: "the sensitive value names no such file of the site; it and the reason are hidden",
			Hint: "the text of a secret is written with content = secret(\"NAME\")"}
	case err != nil && sensitive:
		err = errHidden()
	}
	return value, sensitive, err
}

// canonical is the canonical form of plain data for an attribute. Its errors may show it.
func (p *Parts) canonical(in PartInput, a Attribute, schema *states.Attribute, plain any) (any, error) {
	if schema.Kind.FromSite() {
		name, ok := plain.(string)
		if !ok {
			return nil, errors.New("a source is the path of a file or directory of the site, as a string, or source(PATH)")
		}
		return p.Files.content(schema.Kind, in.Dir, name)
	}
	if schema.Kind == states.KindMode {
		if n, ok := plain.(json.Number); ok {
			return nil, &diag.HintError{Message: fmt.Sprintf("a mode is a string, not the number %s", n),
				Hint: fmt.Sprintf("write its octal digits as a string, such as %s = \"0644\"", a.Name)}
		}
	}
	if schema.Path {
		expanded, err := ExpandHome(plain, p.Home)
		if err != nil {
			return nil, err
		}
		plain = expanded
	}
	value, err := schema.Normalize(plain)
	text, isText := plain.(string)
	if err != nil && isText && (schema.Kind == states.KindList || schema.Kind == states.KindSet) {
		message := strings.TrimPrefix(err.Error(), a.Name+": ")
		err = &diag.HintError{Message: message, Hint: fmt.Sprintf("write %s = %s", a.Name, listOf(text))}
	}
	return value, err
}

func errObserved() error {
	return &diag.HintError{Message: "it is observed on the host, and cannot be set", Hint: "leave it out"}
}

func errSensitiveKey(schema *states.Attribute) error {
	hint := "the key of a part is shown everywhere; use a value that may be"
	if !schema.Path { // such as the text of a line
		hint += ", or write the secret with a file, whose content template(PATH, VARS) makes"
	}
	return &diag.HintError{Message: "a sensitive value cannot name a resource", Hint: hint}
}

// listOf writes text as a list of its words, or of what stands between its
// commas.
func listOf(text string) string {
	words := strings.Fields(text)
	if strings.Contains(text, ",") {
		words = strings.Split(text, ",")
	}
	for i, w := range words {
		words[i] = fmt.Sprintf("%q", strings.TrimSpace(w))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// errHidden stands for errors that might show a sensitive value.
func errHidden() error {
	return &diag.HintError{Message: "the sensitive value is not allowed here; it and the reason are hidden",
		Hint: "look at the attribute's type and rules, and try a value that is not sensitive"}
}

// ExpandHome replaces a leading "~/" in a path, or in each path of a list, by
// the acting user's home directory.
func ExpandHome(v any, home func() (string, error)) (any, error) {
	switch v := v.(type) {
	case string:
		rest, ok := strings.CutPrefix(v, "~/")
		if !ok {
			return v, nil
		}
		dir, err := home()
		return path.Join(dir, rest), err
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = ExpandHome(e, home); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
