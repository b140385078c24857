package store

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxValue is how many bytes one value may have.
const MaxValue = 16 << 20

// Row is one row of an answer: nil, int64, string or []byte for each column.
type Row []any

// Scan puts the columns into *int64, *int, *bool, *string, *[]byte, *time.Time, or a pointer to a
// pointer to one of these, which NULL makes nil.
func (r Row) Scan(into ...any) error {
	if len(into) != len(r) {
		return fmt.Errorf("the row has %d columns, and %d are asked for", len(r), len(into))
	}
	for i, to := range into {
		if err := assign(reflect.ValueOf(to).Elem(), r[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func assign(to reflect.Value, v any) error {
	if to.Kind() == reflect.Pointer {
		if v == nil {
			to.SetZero()
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return assign(to.Elem(), v)
	}
	switch v := v.(type) {
	case int64:
		switch {
		case to.Type() == reflect.TypeFor[time.Time]():
			to.Set(reflect.ValueOf(time.UnixMicro(v).UTC()))
			return nil
		case to.CanInt() && !to.OverflowInt(v):
			to.SetInt(v)
			return nil
		case to.Kind() == reflect.Bool && (v == 0 || v == 1):
			to.SetBool(v == 1)
			return nil
		}
	case string:
		if to.Kind() == reflect.String {
			to.SetString(v)
			return nil
		}
	case []byte:
		if to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Uint8 {
			to.SetBytes(v)
			return nil
		}
	}
	return fmt.Errorf("a value of type %T does not fit into %s", v, to.Type())
}

// One puts the only row of an answer into places, as Row.Scan does. It reports whether there was
// one; two are an error.
func One(r Reader, sql string, args []any, into ...any) (found bool, err error) {
	err = r.Query(sql, args, func(row Row) error {
		if found {
			return fmt.Errorf("more than one row for %s", sql)
		}
		found = true
		return row.Scan(into...)
	})
	return found, err
}

// values makes arguments what engines take. It refuses what one of them would.
func values(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, arg := range args {
		v, err := value(arg)
		if err != nil {
			return nil, fmt.Errorf("argument $%d: %w", i+1, err)
		}
		out[i] = v
	}
	return out, nil
}

func value(arg any) (any, error) {
	if t, ok := arg.(time.Time); ok {
		return t.UnixMicro(), nil
	}
	v := reflect.ValueOf(arg)
	switch {
	case arg == nil:
		return nil, nil
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return value(v.Elem().Interface())
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), nil
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			return int64(1), nil
		}
		return int64(0), nil
	case v.Kind() == reflect.String:
		return text(v.String())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return data(v.Bytes())
	}
	return nil, fmt.Errorf("a store keeps no value of type %T", arg)
}

func text(s string) (any, error) {
	switch {
	case len(s) > MaxValue:
		return nil, fmt.Errorf("a text of %d bytes is too long: %d may be kept", len(s), MaxValue)
	case !utf8.ValidString(s), strings.ContainsRune(s, 0):
		return nil, ErrText
	}
	return s, nil
}

// data is nil only where NULL is meant: an empty slice stays empty.
func data(b []byte) (any, error) {
	switch {
	case len(b) > MaxValue:
		return nil, fmt.Errorf("a value of %d bytes is too long: %d may be kept", len(b), MaxValue)
	case b == nil:
		return nil, nil
	}
	return b, nil
}
