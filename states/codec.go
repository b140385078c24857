package states

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// codec turns canonical values into a T and back. All reflection on modules'
// structs is here.
type codec[T any] struct {
	attributes []Attribute
	fields     []int // of each attribute, its index in T
	defaults   T
}

func newCodec[T any](module string, defaults T) *codec[T] {
	c := &codec[T]{defaults: defaults}
	typ := reflect.TypeFor[T]()
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag, ok := field.Tag.Lookup("state")
		if !ok {
			continue
		}
		a, err := newAttribute(field, tag)
		if err != nil {
			panic(fmt.Sprintf("states: module %s: field %s: %v", module, field.Name, err))
		}
		a.Default = encodeField(a.Kind, reflect.ValueOf(defaults).Field(i))
		c.attributes = append(c.attributes, a)
		c.fields = append(c.fields, i)
	}
	return c
}

func newAttribute(field reflect.StructField, tag string) (Attribute, error) {
	name, flags, _ := strings.Cut(tag, ",")
	a := Attribute{Name: name, Doc: field.Tag.Get("doc")}
	if enum := field.Tag.Get("enum"); enum != "" {
		a.Enum = strings.Split(enum, ",")
	}
	a.Kind = kindOf(field.Type)
	if a.Kind == "" {
		return a, fmt.Errorf("no kind for %s", field.Type)
	}
	for flag := range strings.SplitSeq(flags, ",") {
		switch flag {
		case "":
		case "key":
			a.Key, a.Required = true, true
		case "optional":
			a.Required = false
		case "present":
			a.Present = true
		case "required":
			a.Required = true
		case "in":
			a.In = true
		case "widens":
			a.Widens = true
		case "kept":
			a.Kept = true
		case "out":
			a.Out = true
		case "path":
			a.Path = true
		case "within":
			a.Within = true
		case "below":
			a.Below = true
		case "device":
			a.Device = true
		case "on_device":
			a.OnDevice = true
		case "user":
			a.User = true
		case "group":
			a.Group = true
		case "of_user":
			a.OfUser = true
		case "of_group":
			a.OfGroup = true
		case "package":
			a.Package = true
		case "service":
			a.Service = true
		case "setting":
			a.Setting = true
		case "of_directory":
			a.OfDirectory = true
		case "sensitive":
			a.Sensitive = true
		case "public":
			a.Public = true
		case "set":
			a.Kind = KindSet
		default:
			return a, fmt.Errorf("unknown flag %q", flag)
		}
	}
	return a, nil
}

func kindOf(t reflect.Type) Kind {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[*string]():
		return KindString
	case reflect.TypeFor[*bool]():
		return KindBool
	case reflect.TypeFor[*int]():
		return KindInt
	case reflect.TypeFor[*float64]():
		return KindNumber
	case reflect.TypeFor[*fs.FileMode]():
		return KindMode
	case reflect.TypeFor[*time.Duration]():
		return KindDuration
	case reflect.TypeFor[[]string]():
		return KindList
	case reflect.TypeFor[map[string]string]():
		return KindMap
	case reflect.TypeFor[*host.Content]():
		return KindContent
	case reflect.TypeFor[*Source]():
		return KindSource
	case reflect.TypeFor[*Tree]():
		return KindTree
	case reflect.TypeFor[json.RawMessage]():
		return KindAny
	case reflect.TypeFor[*Condition]():
		return KindCondition
	}
	return ""
}

// decode makes a T of canonical values.
func (c *codec[T]) decode(values map[string]any, site fs.FS) (*T, error) {
	out := new(T)
	target := reflect.ValueOf(out).Elem()
	err := eachValue(c.attributes, values, func(i int, canonical any) error {
		return decodeField(c.attributes[i].Kind, canonical, target.Field(c.fields[i]), site)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// eachValue calls set with the canonical form of each value that is given, and
// the index of its attribute.
func eachValue(attributes []Attribute, values map[string]any, set func(i int, canonical any) error) error {
	known := 0
	for i, a := range attributes {
		v, given := values[a.Name]
		if !given {
			continue
		}
		known++
		if v == nil {
			continue
		}
		if a.Out {
			return InvalidAttribute(a.Name, "it is observed, and cannot be set", "")
		}
		canonical, err := a.Normalize(v)
		if err != nil {
			return err
		}
		if err := set(i, canonical); err != nil {
			return InvalidAttribute(a.Name, err.Error(), "")
		}
	}
	if known < len(values) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !slices.ContainsFunc(attributes, func(a Attribute) bool { return a.Name == name }) {
				return InvalidAttribute(name, "there is no such attribute", "")
			}
		}
	}
	return nil
}

func decodeField(kind Kind, v any, field reflect.Value, site fs.FS) error {
	var decoded any
	switch kind {
	case KindString:
		if field.Kind() == reflect.String {
			field.SetString(v.(string))
			return nil
		}
		decoded = new(v.(string))
	case KindBool:
		decoded = new(v.(bool))
	case KindInt:
		n, err := v.(json.Number).Int64()
		if err != nil {
			return err
		}
		decoded = new(int(n))
	case KindNumber:
		n, err := v.(json.Number).Float64()
		if err != nil {
			return err
		}
		decoded = new(n)
	case KindMode:
		mode, err := ParseMode(v.(string))
		if err != nil {
			return err
		}
		decoded = new(mode)
	case KindDuration:
		d, err := time.ParseDuration(v.(string))
		if err != nil {
			return err
		}
		decoded = new(d)
	case KindList, KindSet:
		list := make([]string, 0, len(v.([]any)))
		for _, e := range v.([]any) {
			list = append(list, e.(string))
		}
		decoded = list
	case KindMap:
		m := make(map[string]string, len(v.(map[string]any)))
		for k, e := range v.(map[string]any) {
			m[k] = e.(string)
		}
		decoded = m
	case KindContent:
		decoded = new(host.Text(v.(string)))
	case KindSource:
		source, err := decodeSource(v.(map[string]any), site)
		if err != nil {
			return err
		}
		decoded = source
	case KindTree:
		tree, err := decodeTree(v.(map[string]any), site)
		if err != nil {
			return err
		}
		decoded = tree
	case KindCondition:
		decoded = &Condition{}
	case KindAny:
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		decoded = json.RawMessage(data)
	}
	field.Set(reflect.ValueOf(decoded))
	return nil
}

func decodeSource(m map[string]any, site fs.FS) (*Source, error) {
	path, _ := m["path"].(string)
	sum, _ := m["sha256"].(string)
	number, _ := m["size"].(json.Number)
	size, err := number.Int64()
	if path == "" || len(sum) != 64 || err != nil {
		return nil, fmt.Errorf("a source needs path, sha256 and size")
	}
	return &Source{Path: path, SHA256: sum, Size: size, site: site}, nil
}

// encode gives the values of r's fields that are set.
func (c *codec[T]) encode(r *T) map[string]any {
	values := map[string]any{}
	source := reflect.ValueOf(r).Elem()
	for i, a := range c.attributes {
		if v := encodeField(a.Kind, source.Field(c.fields[i])); v != nil {
			values[a.Name] = v
		}
	}
	return values
}

// encodeField gives the canonical value, nil for a field that is not set.
// Content above host.InlineLimit is {"sha256", "size"}.
func encodeField(kind Kind, field reflect.Value) any {
	if isUnset(field) {
		return nil
	}
	switch v := field.Interface().(type) {
	case string:
		return v
	case *string:
		return *v
	case *bool:
		return *v
	case *int:
		return json.Number(fmt.Sprint(*v))
	case *float64:
		data, err := json.Marshal(*v)
		if err != nil {
			panic("states: a number that JSON cannot hold: " + err.Error())
		}
		return json.Number(data)
	case *fs.FileMode:
		return FormatMode(*v)
	case *time.Duration:
		return v.String()
	case []string:
		list := make([]any, 0, len(v))
		for _, s := range v {
			list = append(list, s)
		}
		if kind == KindSet {
			list = sortedUnique(list)
		}
		return list
	case map[string]string:
		m := make(map[string]any, len(v))
		for k, s := range v {
			m[k] = s
		}
		return m
	case *host.Content:
		return encodeContent(*v)
	case *Source:
		return encodeSource(v)
	case *Tree:
		return v.Value()
	case *Condition:
		return true
	case json.RawMessage:
		var decoded any
		d := json.NewDecoder(strings.NewReader(string(v)))
		d.UseNumber()
		if err := d.Decode(&decoded); err != nil {
			panic("states: a module's value is no JSON: " + err.Error())
		}
		return decoded
	}
	panic(fmt.Sprintf("states: no kind for %s", field.Type()))
}

func encodeContent(c host.Content) any {
	if text, ok := c.Inline(); ok {
		return text
	}
	out := map[string]any{"size": json.Number(fmt.Sprint(c.Size()))}
	if c.IsRead() {
		out["sha256"] = c.Sum()
	}
	return out
}

func encodeSource(s *Source) any {
	return map[string]any{"path": s.Path, "sha256": s.SHA256, "size": json.Number(fmt.Sprint(s.Size))}
}

func isUnset(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return field.IsNil()
	case reflect.String:
		return field.Len() == 0
	}
	return false
}
