package document

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxDigits is how long a number may be, and maxExponent how large: beyond it is a mistake, and costs those who compute with it.
const (
	maxDigits   = 400
	maxExponent = 400
)

// checkNumber refuses a number that is too long or too large to compute with.
func checkNumber(n *Node) error {
	number, ok := n.Value.(json.Number)
	if !ok {
		return nil
	}
	text := string(number)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return wrong(n.Range, "write it as a text: in quotes", "the number is out of range")
		}
	}
	if len(text) > maxDigits {
		return wrong(n.Range, "write it as a text: in quotes", "the number has more than %d digits", maxDigits)
	}
	return nil
}

// The core schema of YAML 1.2 (chapter 10.3.2), but for the notations of TOML 1.0 that are the same.
var (
	decimal  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?[0-9]+$`) })
	based    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`) })
	decimals = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	})
	infinite = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	})
)

// integer gives a whole number as JSON writes it, of the digits of a base that the prefix tells.
func integer(text string) json.Number {
	base := 10
	if based().MatchString(text) {
		base = map[byte]int{'o': 8, 'x': 16}[text[1]]
		text = text[2:]
	}
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), base)
	if !ok {
		return json.Number(text)
	}
	return json.Number(n.String())
}

// fraction gives a number with decimals or an exponent as JSON writes it.
func fraction(text string) json.Number {
	sign := ""
	switch text[0] {
	case '-':
		sign, text = "-", text[1:]
	case '+':
		text = text[1:]
	}
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], "e"+strings.TrimPrefix(text[i+1:], "+")
	}
	whole, decimals, _ := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if decimals != "" {
		decimals = "." + decimals
	}
	return json.Number(sign + whole + decimals + exponent)
}

// binary gives a whole number in base 2.
func binary(bits string) json.Number {
	n, ok := new(big.Int).SetString(bits, 2)
	if !ok {
		return json.Number(bits)
	}
	return json.Number(n.String())
}
