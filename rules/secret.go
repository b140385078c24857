package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Secret is a value in a document, of whatever type, that is never shown. Of one that is remembered there is the digest alone.
type Secret struct {
	Value  any
	Digest string
}

// The names of the only field of an object that stands for a secret in JSON: of its value, or of its digest.
const (
	SecretName = "tenet.sensitive/1"
	digestName = "tenet.digest/1"
)

// IsReserved reports whether an object would be taken for a secret once it is JSON.
func IsReserved(fields map[string]any) bool {
	_, isValue := fields[SecretName]
	_, isDigest := fields[digestName]
	return len(fields) == 1 && (isValue || isDigest)
}

// MarshalJSON gives the value or, where that is not known, its digest: see Open.
func (s Secret) MarshalJSON() ([]byte, error) {
	if s.Value == nil && s.Digest != "" {
		return json.Marshal(map[string]any{digestName: s.Digest})
	}
	return json.Marshal(map[string]any{SecretName: s.Value})
}

// Open gives plain data with its secrets, which JSON had as objects.
func Open(v any) any {
	return Rewrite(v, func(v any) (any, bool) {
		fields, ok := v.(map[string]any)
		if !ok || !IsReserved(fields) {
			return nil, false
		}
		if digest, ok := fields[digestName].(string); ok {
			return Secret{Digest: digest}, true
		}
		return Secret{Value: fields[SecretName]}, true
	})
}

// Opened gives the value of a secret; ok is false for all else.
func Opened(v any) (value any, ok bool) {
	s, ok := v.(Secret)
	return s.Value, ok
}

// Rewrite gives a copy of a value with what f gives in the places of values within it; where f gives false, it looks at what is within.
func Rewrite(v any, f func(any) (any, bool)) any {
	if out, ok := f(v); ok {
		return out
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = Rewrite(e, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Rewrite(e, f)
		}
		return out
	}
	return v
}

// EachSecret gives a value with what f gives in the places of its secrets.
func EachSecret(v any, f func(Secret) any) any {
	return Rewrite(v, func(v any) (any, bool) {
		if s, ok := v.(Secret); ok {
			return f(s), true
		}
		return nil, false
	})
}

// HasSecret reports whether a secret is in a value.
func HasSecret(v any) (has bool) {
	EachSecret(v, func(s Secret) any { has = true; return s })
	return has
}

// Digested gives a value whose secrets have digests, made with a key (HMAC with SHA-256 of the value in one form, however it is written).
// Secrets in which nothing is are nothing.
func Digested(v any, key []byte) any {
	return EachSecret(v, func(s Secret) any {
		switch {
		case s.Value == nil && s.Digest != "":
			return s
		case isHollow(s.Value):
			return nil
		}
		h := hmac.New(sha256.New, key)
		writeForm(h, s.Value)
		s.Digest = hex.EncodeToString(h.Sum(nil))
		return s
	})
}

// Remembered gives a value in which only the digests of its secrets are.
func Remembered(v any) any {
	return EachSecret(v, func(s Secret) any { return Secret{Digest: s.Digest} })
}

// writeForm writes a value so that those that are the same are written alike, and no others.
func writeForm(to interface{ Write([]byte) (int, error) }, v any) {
	write := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format, args...) } // a hash takes all
	switch v := v.(type) {
	case map[string]any:
		write("{")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !isHollow(v[name]) {
				write("%q:", name)
				writeForm(to, v[name])
			}
		}
		write("}")
	case []any:
		write("[")
		for _, e := range v {
			if isHollow(e) {
				write("-,")
				continue
			}
			writeForm(to, e)
			write(",")
		}
		write("]")
	case json.Number:
		write("#%s", number(v))
	case string:
		write("%q", v)
	default:
		write("%v", v)
	}
}

// same reports whether a secret is the same as another value. Where only a digest is known, another secret's digest tells, and of what is
// none nobody can.
func (s Secret) same(o any) bool {
	other, isSecret := o.(Secret)
	switch {
	case s.Value != nil && isSecret && other.Value != nil:
		return Same(s.Value, other.Value)
	case s.Value != nil && !isSecret:
		return Same(s.Value, o)
	}
	return isSecret && s.Digest != "" && s.Digest == other.Digest
}
