package expr

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// sizes are of the functions whose results may be far larger than their
// arguments: they refuse that, before they begin.
func sizes() map[string]func(args []cty.Value) int {
	return map[string]func(args []cty.Value) int{
		"format":     formatSize,
		"formatlist": formatSize,
		"indent":     indentSize,
		"join":       joinSize,
		"pow":        powerSize,
		"replace":    replaceSize,
		"setproduct": productSize,
		"yamldecode": yamlSize,
	}
}

// limitResult is f for arguments from which it makes at most maxBytes.
func limitResult(f function.Function, size func([]cty.Value) int) function.Function {
	check := func(args []cty.Value) error {
		plain := make([]cty.Value, len(args))
		for i, a := range args {
			if plain[i], _ = a.UnmarkDeep(); !plain[i].IsWhollyKnown() || plain[i].IsNull() {
				return nil // f has its own words for it
			}
		}
		if size(plain) > maxBytes {
			return errors.New("the result would be too large")
		}
		return nil
	}
	params := f.Params()
	for i := range params {
		params[i].AllowMarked, params[i].AllowUnknown, params[i].AllowDynamicType, params[i].AllowNull = true, true, true, true
	}
	rest := f.VarParam()
	if rest != nil {
		rest = &function.Parameter{Name: rest.Name, Type: rest.Type, AllowMarked: true, AllowUnknown: true, AllowDynamicType: true, AllowNull: true}
	}
	return function.New(&function.Spec{
		Params: params, VarParam: rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// cappedProduct keeps products within an int.
func cappedProduct(factors ...int) int {
	product := 1
	for _, f := range factors {
		if f > 0 && product > 2*maxBytes/f {
			return 2 * maxBytes
		}
		product *= f
	}
	return product
}

var formatNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })

func formatSize(args []cty.Value) int {
	if len(args) == 0 || args[0].Type() != cty.String {
		return 0
	}
	size := 0
	for _, text := range formatNumbers().FindAllString(args[0].AsString(), -1) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 2 * maxBytes
		}
		size = min(size+n, 2*maxBytes)
	}
	elements := 1
	for _, a := range args[1:] {
		size = min(size+textSize(a), 2*maxBytes)
		if a.CanIterateElements() {
			elements = max(elements, a.LengthInt())
		}
	}
	return cappedProduct(size+len(args[0].AsString()), elements)
}

func indentSize(args []cty.Value) int {
	if args[0].Type() != cty.Number || args[1].Type() != cty.String {
		return 0
	}
	n, ok := intFrom(args[0])
	if !ok {
		return 0
	}
	return cappedProduct(n, 1+strings.Count(args[1].AsString(), "\n"))
}

func joinSize(args []cty.Value) int {
	if len(args) == 0 || args[0].Type() != cty.String {
		return 0
	}
	elements, size := 0, 0
	for _, a := range args[1:] {
		if a.CanIterateElements() {
			elements += a.LengthInt()
			size = min(size+textSize(a), 2*maxBytes)
		}
	}
	return cappedProduct(len(args[0].AsString()), elements) + size
}

// textSize is how many bytes of text a value holds, up to more than may be.
func textSize(v cty.Value) int {
	if v.Type() == cty.String && !v.IsNull() {
		return len(v.AsString())
	}
	size := 0
	if !v.IsNull() && v.CanIterateElements() {
		for _, e := range v.Elements() {
			if size += textSize(e); size > maxBytes {
				return 2 * maxBytes
			}
		}
	}
	return size
}

// MaxText is the most bytes that one text may have. What is larger goes to a host
// as the source of a file.
const MaxText = maxBytes

// CheckLength reports a text that is larger than may be: one made of such ones would
// take all memory at once.
func CheckLength(v cty.Value) error {
	v, _ = v.Unmark()
	if v.Type() != cty.String || !v.IsKnown() || v.IsNull() || len(v.AsString()) <= MaxText {
		return nil
	}
	return &diag.HintError{Message: fmt.Sprintf("the text is larger than %d MiB", MaxText>>20),
		Hint: "look for text that grows too large; the source of a file carries any size"}
}

// powerSize bounds the exponent: cty computes powers of whole numbers exactly.
func powerSize(args []cty.Value) int {
	if args[1].Type() != cty.Number {
		return 0
	}
	if exponent, _ := args[1].AsBigFloat().Float64(); exponent > 1<<16 || exponent < -(1<<16) {
		return 2 * maxBytes
	}
	return 0
}

func replaceSize(args []cty.Value) int {
	for _, a := range args {
		if a.Type() != cty.String {
			return 0
		}
	}
	text, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
	found := len(text) + 1
	if len(old) < 2 || old[0] != '/' || old[len(old)-1] != '/' {
		found = strings.Count(text, old)
	}
	return cappedProduct(found, len(with)) + len(text)
}

func productSize(args []cty.Value) int {
	factors := []int{32 * len(args)}
	for _, a := range args {
		if a.CanIterateElements() {
			factors = append(factors, a.LengthInt())
		}
	}
	return cappedProduct(factors...)
}

// yamlSize bounds what aliases of aliases may make: each anchor may hold all
// aliases of the one before.
func yamlSize(args []cty.Value) int {
	if args[0].Type() != cty.String {
		return 0
	}
	text := args[0].AsString()
	size, anchors := len(text), strings.Count(text, "&")
	for range min(anchors, 64) {
		size = cappedProduct(size, 1+strings.Count(text, "*")/anchors)
	}
	return size
}
