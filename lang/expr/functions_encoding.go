package expr

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// textEncoding finds a character encoding by its IANA name.
func textEncoding(name string) (encoding.Encoding, error) {
	switch strings.ToUpper(name) {
	case "UTF-8":
		return unicode.UTF8, nil
	case "UTF-16LE":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case "UTF-16BE":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nil
	case "ISO-8859-1":
		return charmap.ISO8859_1, nil
	case "ISO-8859-15":
		return charmap.ISO8859_15, nil
	case "WINDOWS-1252":
		return charmap.Windows1252, nil
	}
	return nil, fmt.Errorf("the encoding is UTF-8, UTF-16LE, UTF-16BE, ISO-8859-1, ISO-8859-15 or windows-1252, not %q", name)
}

// encodingFunction makes a function of a text and the name of an encoding.
func encodingFunction(param string, f func(text string, e encoding.Encoding) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: param, Type: cty.String}, {Name: "encoding", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			e, err := textEncoding(args[1].AsString())
			if err != nil {
				return cty.UnknownVal(cty.String), function.NewArgError(1, err)
			}
			text, err := f(args[0].AsString(), e)
			if err == nil {
				err = checkText(text)
			}
			if err != nil {
				return cty.UnknownVal(cty.String), function.NewArgError(0, err)
			}
			return cty.StringVal(text), nil
		},
	})
}

func encodeText(text string, e encoding.Encoding) (string, error) {
	data, err := e.NewEncoder().String(text)
	if err != nil {
		return "", fmt.Errorf("the text has characters that the encoding has not")
	}
	return base64.StdEncoding.EncodeToString([]byte(data)), nil
}

func decodeText(source string, e encoding.Encoding) (string, error) {
	data, err := base64.StdEncoding.DecodeString(source)
	if err != nil {
		return "", err
	}
	text, err := e.NewDecoder().String(string(data))
	if err != nil {
		return "", err
	}
	// The decoder puts U+FFFD in the place of what it cannot read.
	if back, err := e.NewEncoder().String(text); err != nil || back != string(data) {
		return "", fmt.Errorf("the bytes are no text in this encoding")
	}
	return text, nil
}
