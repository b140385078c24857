package states

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what an attribute holds.
type Kind string

// The kinds, and their canonical values.
const (
	KindString   Kind = "string"   // string
	KindBool     Kind = "bool"     // bool
	KindInt      Kind = "int"      // json.Number, an integer
	KindNumber   Kind = "number"   // json.Number
	KindMode     Kind = "mode"     // string of four octal digits
	KindDuration Kind = "duration" // string, as time.Duration prints it
	KindList     Kind = "list"     // []any of string
	KindSet      Kind = "set"      // []any of string, sorted and unique
	KindMap      Kind = "map"      // map[string]any of string
	KindContent  Kind = "content"  // string, any bytes
	KindSource   Kind = "source"   // map with path, sha256, size
	KindAny      Kind = "any"      // any canonical value
	// KindTree is a directory of the site: a map with path, sha256, size, files.
	KindTree Kind = "tree"
	// KindCondition is an expression over the result of the part's own act,
	// which the engine decides after it; there is no value of it.
	KindCondition Kind = "condition"
)

// FromSite reports whether values of the kind name files of the site.
func (k Kind) FromSite() bool { return k == KindSource || k == KindTree }

// Kinds lists the kinds that any module may use.
func Kinds() []Kind {
	return []Kind{
		KindString, KindBool, KindInt, KindNumber, KindMode, KindDuration,
		KindList, KindSet, KindMap, KindContent, KindSource, KindAny,
	}
}

// Attribute is one attribute of a module.
type Attribute struct {
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	Doc      string `json:"doc"`
	Key      bool   `json:"key,omitempty"`
	Required bool   `json:"required,omitempty"`
	Present  bool   `json:"required_if_present,omitempty"`
	In       bool   `json:"in,omitempty"`
	Out      bool   `json:"out,omitempty"`
	Path     bool   `json:"path,omitempty"`
	// Device and OnDevice mark names of network devices: of one that the part sets
	// up, or of one that it needs.
	Device   bool `json:"device,omitempty"`
	OnDevice bool `json:"on_device,omitempty"`
	// User and Group mark names of accounts that the part sets up, OfUser and OfGroup
	// those that have to be there for it.
	User      bool `json:"user,omitempty"`
	Group     bool `json:"group,omitempty"`
	OfUser    bool `json:"of_user,omitempty"`
	OfGroup   bool `json:"of_group,omitempty"`
	Sensitive bool `json:"sensitive,omitempty"`
	// Public marks what stands on the host in a file that every account can read, whatever
	// the site says.
	Public bool `json:"-"`
	// Package, Setting and Service mark the name of a package that the part sets up, of a
	// parameter of the kernel, and of a service: in the host's records of these it looks for
	// that one only.
	Package bool `json:"-"`
	Setting bool `json:"-"`
	Service bool `json:"-"`
	// OfDirectory marks a mode that is one of directories, where setuid and setgid
	// make no program act with the rights of others.
	OfDirectory bool `json:"-"`
	// Within marks a directory that the part works in, which another one may set up
	// or remove; nothing in it is the part's.
	Within bool `json:"within,omitempty"`
	// Below marks a path that the part makes in a directory, or on a file system, which
	// another one may set up or remove; other parts may set up what is at the path itself.
	Below bool `json:"below,omitempty"`
	// Widens marks how-to attributes that extend the part to what it has not made
	// itself. They count only while it is declared: what is removed since it is
	// not any more is removed without them.
	Widens bool `json:"widens,omitempty"`
	// Kept marks what has to be known of a resource that is not declared any more, so
	// that it can be removed.
	Kept    bool     `json:"-"`
	Enum    []string `json:"enum,omitempty"`
	Default any      `json:"default,omitempty"` // of a new resource
}

// Attribute gives the attribute of a name, or nil.
func (s *Schema) Attribute(name string) *Attribute {
	for i := range s.Attributes {
		if s.Attributes[i].Name == name {
			return &s.Attributes[i]
		}
	}
	return nil
}

// Keys lists the names of the key attributes in their order.
func (s *Schema) Keys() []string {
	var keys []string
	for _, a := range s.Attributes {
		if a.Key {
			keys = append(keys, a.Name)
		}
	}
	return keys
}

// Key gives what names the resource among those of its type: the value of its
// key attribute, or of several as a JSON array, without optional ones at the end
// that are not given. A type without key has "".
func (s *Schema) Key(values map[string]any) string {
	var parts []any
	given := 0
	for _, a := range s.Attributes {
		if a.Key {
			parts = append(parts, values[a.Name])
			if a.Required || values[a.Name] != nil {
				given = len(parts)
			}
		}
	}
	parts = parts[:given]
	switch len(parts) {
	case 0:
		return ""
	case 1:
		text, _ := parts[0].(string)
		return text
	}
	data, err := json.Marshal(parts)
	if err != nil {
		panic("states: key values are no JSON: " + err.Error())
	}
	return string(data)
}

// Remembered gives those of the values by which a resource is found again, and
// removed, once nobody declares it any more: keys, how-to attributes without
// those that widen, what is marked as kept, and nothing sensitive. What is not sensitive but must be given
// is among them.
func (s *Schema) Remembered(values map[string]any) map[string]any {
	found := map[string]any{}
	for i := range s.Attributes {
		a := &s.Attributes[i]
		how := a.In && !a.Widens && !a.Kind.FromSite() && a.Kind != KindCondition
		if v := values[a.Name]; v != nil && !a.Sensitive && (a.Key || a.Required || a.Kept || how) {
			found[a.Name] = v
		}
	}
	return found
}

// Normalize turns a plain value (nil, bool, string, json.Number, []any,
// map[string]any) into the canonical one of the attribute's kind. Nil stays
// nil: not given. The error is an *AttributeError. Sources are made by the
// front-end and pass unchanged.
func (a *Attribute) Normalize(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	out, err := normalize(a.Kind, v)
	if err != nil {
		hint := ""
		if _, number := v.(json.Number); number && a.Kind == KindMode {
			hint = `write the mode as a string: "0644"`
		}
		return nil, InvalidAttribute(a.Name, err.Error(), hint)
	}
	if s, ok := out.(string); ok && len(a.Enum) > 0 && !slices.Contains(a.Enum, s) {
		return nil, InvalidAttribute(
			a.Name,
			fmt.Sprintf("%q is none of %s", s, strings.Join(a.Enum, ", ")), "",
		)
	}
	return out, nil
}

func normalize(kind Kind, v any) (any, error) {
	switch kind {
	case KindString, KindContent:
		return toText(v)
	case KindBool, KindCondition:
		return toBool(v)
	case KindInt, KindNumber:
		return toNumber(kind, v)
	case KindMode:
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("a mode is a string of octal digits, not a %s", plainKind(v))
		}
		mode, err := ParseMode(s)
		return FormatMode(mode), err
	case KindDuration:
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf(`a duration is a string such as "30s", not a %s`, plainKind(v))
		}
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return nil, fmt.Errorf(`%q is no duration; write "30s", "5m" or "1h30m"`, s)
		}
		return d.String(), nil
	case KindList, KindSet:
		return toList(kind, v)
	case KindMap:
		return toMap(v)
	case KindSource:
		if m, ok := v.(map[string]any); ok {
			return m, nil
		}
		return nil, fmt.Errorf("a source is a path in the site, not a %s", plainKind(v))
	case KindTree:
		if m, ok := v.(map[string]any); ok {
			return m, nil
		}
		return nil, fmt.Errorf("a source is the path of a directory in the site, not a %s", plainKind(v))
	case KindAny:
		return v, nil
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}

func plainKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	return fmt.Sprintf("%T", v)
}

func toText(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return nil, fmt.Errorf("a string is required, not a %s", plainKind(v))
}

func toBool(v any) (any, error) {
	switch v {
	case true, "true":
		return true, nil
	case false, "false":
		return false, nil
	}
	return nil, fmt.Errorf("true or false is required, not a %s", plainKind(v))
}

func toNumber(kind Kind, v any) (any, error) {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return nil, fmt.Errorf("a number is required, not a %s", plainKind(v))
	}
	n, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", text)
	}
	if kind == KindInt {
		if i, accuracy := n.Int64(); accuracy == big.Exact {
			return json.Number(strconv.FormatInt(i, 10)), nil
		}
		return nil, fmt.Errorf("a whole number is required, not %s", text)
	}
	return json.Number(text), nil
}

func toList(kind Kind, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("a list of strings is required, not a %s", plainKind(v))
	}
	out := make([]any, len(list))
	for i, e := range list {
		text, err := toText(e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = text
	}
	if kind == KindSet {
		out = sortedUnique(out)
	}
	return out, nil
}

// sortedUnique gives a list of strings the form of a set.
func sortedUnique(list []any) []any {
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return slices.Compact(list)
}

func toMap(v any) (any, error) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a map of strings is required, not a %s", plainKind(v))
	}
	out := make(map[string]any, len(in))
	for _, k := range slices.Sorted(maps.Keys(in)) {
		text, err := toText(in[k])
		if err != nil {
			return nil, fmt.Errorf("[%q]: %w", k, err)
		}
		out[k] = text
	}
	return out, nil
}

// ParseMode reads permission bits of one to four octal digits: 0644, 4755.
func ParseMode(s string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) > 4 || len(s) < 3 {
		return 0, fmt.Errorf(`%q is no mode; write three or four octal digits, such as "0644"`, s)
	}
	mode := fs.FileMode(n & 0o777)
	for bit, flag := range map[uint64]fs.FileMode{
		0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky,
	} {
		if n&bit != 0 {
			mode |= flag
		}
	}
	return mode, nil
}

// FormatMode writes permission bits as four octal digits.
func FormatMode(m fs.FileMode) string {
	n := uint64(m.Perm())
	if m&fs.ModeSetuid != 0 {
		n |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		n |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		n |= 0o1000
	}
	return fmt.Sprintf("%04o", n)
}
