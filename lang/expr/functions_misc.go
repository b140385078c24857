package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"net/url"
	"path"
	"time"

	"github.com/google/uuid"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func numberFunctions() []Function {
	return withGroup("numbers", []Function{
		{"abs", "", "a number without its sign", stdlib.AbsoluteFunc},
		{"ceil", "", "the next whole number above", stdlib.CeilFunc},
		{"floor", "", "the next whole number below", stdlib.FloorFunc},
		{"log", "", "the logarithm of a number to a base", logFunction()},
		{"max", "", "the greatest number", stdlib.MaxFunc},
		{"min", "", "the least number", stdlib.MinFunc},
		{"parseint", "", "the whole number that a text writes in a base", limitNumbers(stdlib.ParseIntFunc)},
		{"pow", "", "a number raised to a power", powFunction()},
		{"signum", "", "-1, 0 or 1 by the sign of a number", stdlib.SignumFunc},
	})
}

func encodingFunctions() []Function {
	encoding := base64.StdEncoding
	return withGroup("encoding", []Function{
		{"base64decode", "", "the text that a Base64 text holds", textFunction("str", func(s string) (string, error) {
			data, err := encoding.DecodeString(s)
			return string(data), err
		})},
		{"base64encode", "", "text in Base64", textFunction("str", func(s string) (string, error) {
			return encoding.EncodeToString([]byte(s)), nil
		})},
		{"csvdecode", "", "the lines of a CSV text as objects, by the names in its first line", stdlib.CSVDecodeFunc},
		{"jsondecode", "", "the value that a JSON text holds", limitDepth(limitNumbers(stdlib.JSONDecodeFunc), JSONDepth)},
		{"jsonencode", "", "a value as JSON in one line", encoder(stdlib.JSONEncodeFunc)},
		{"textdecodebase64", "", "the text that a Base64 text holds in an encoding such as \"UTF-16LE\"", encodingFunction("source", decodeText)},
		{"textencodebase64", "", "text in an encoding such as \"UTF-16LE\", in Base64", encodingFunction("str", encodeText)},
		{"urldecode", "", "the text that a part of a URL's query holds", textFunction("str", url.QueryUnescape)},
		{"urlencode", "", "text as a part of a URL's query", textFunction("str", func(s string) (string, error) {
			return url.QueryEscape(s), nil
		})},
		{"yamldecode", "", "the value that a YAML text holds", limitDepth(limitNumbers(yaml.YAMLDecodeFunc), yamlDepth)},
		{"yamlencode", "", "a value as YAML", encoder(yaml.YAMLEncodeFunc)},
	})
}

func hashFunctions() []Function {
	return withGroup("hashes", []Function{
		{"base64sha256", "", "the SHA-256 of a text in Base64", digest(sha256.New, base64.StdEncoding.EncodeToString)},
		{"base64sha512", "", "the SHA-512 of a text in Base64", digest(sha512.New, base64.StdEncoding.EncodeToString)},
		{"md5", "", "the MD5 of a text in hexadecimal; for old formats, not for security", digest(md5.New, hex.EncodeToString)},
		{"sha1", "", "the SHA-1 of a text in hexadecimal; for old formats, not for security", digest(sha1.New, hex.EncodeToString)},
		{"sha256", "", "the SHA-256 of a text in hexadecimal", digest(sha256.New, hex.EncodeToString)},
		{"sha512", "", "the SHA-512 of a text in hexadecimal", digest(sha512.New, hex.EncodeToString)},
		{"uuidv5", "", "the UUID of a name within a namespace: dns, url, oid, x500 or a UUID", uuidFunction()},
	})
}

func digest(algorithm func() hash.Hash, encode func([]byte) string) function.Function {
	return textFunction("str", func(s string) (string, error) {
		h := algorithm()
		h.Write([]byte(s))
		return encode(h.Sum(nil)), nil
	})
}

func uuidFunction() function.Function {
	spaces := map[string]uuid.UUID{
		"dns": uuid.NameSpaceDNS, "url": uuid.NameSpaceURL, "oid": uuid.NameSpaceOID, "x500": uuid.NameSpaceX500}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "namespace", Type: cty.String}, {Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			space, ok := spaces[args[0].AsString()]
			if !ok {
				var err error
				if space, err = uuid.Parse(args[0].AsString()); err != nil {
					return cty.UnknownVal(cty.String), function.NewArgErrorf(0, "the namespace is dns, url, oid, x500 or a UUID")
				}
			}
			return cty.StringVal(uuid.NewSHA1(space, []byte(args[1].AsString())).String()), nil
		},
	})
}

func dateFunctions() []Function {
	return withGroup("dates", []Function{
		{"formatdate", "", "an RFC 3339 time in a format such as \"YYYY-MM-DD hh:mm\"", stdlib.FormatDateFunc},
		{"timeadd", "", "an RFC 3339 time moved by a duration such as \"1h\"", stdlib.TimeAddFunc},
		{"timecmp", "", "-1, 0 or 1 as the first time is before, at or after the second", timeCompare()},
	})
}

func timeCompare() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "a", Type: cty.String}, {Name: "b", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			var times [2]time.Time
			for i := range times {
				var err error
				if times[i], err = time.Parse(time.RFC3339, args[i].AsString()); err != nil {
					return cty.UnknownVal(cty.Number), function.NewArgErrorf(i, "%q is no RFC 3339 time", args[i].AsString())
				}
			}
			return cty.NumberIntVal(int64(times[0].Compare(times[1]))), nil
		},
	})
}

// fileFunctions are those that look at the site, for files in dir. chain holds
// the templates that are being rendered.
func (f *Files) fileFunctions(dir string, chain []string) []Function {
	ofFile := func(result cty.Type, look func(files *Files, dir, name string) (cty.Value, error)) function.Function {
		return function.New(&function.Spec{
			Params: []function.Parameter{fileParameter()},
			Type:   func(args []cty.Value) (cty.Type, error) { return result, checkFile(args[0].Type()) },
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				files, in, name, err := f.file(dir, args[0])
				if err != nil {
					return cty.UnknownVal(result), err
				}
				return look(files, in, name)
			},
		})
	}
	read := ofFile(cty.String, func(files *Files, dir, name string) (cty.Value, error) {
		text, _, err := files.Text(dir, name)
		return cty.StringVal(text), err
	})
	exists := ofFile(cty.Bool, func(files *Files, dir, name string) (cty.Value, error) {
		ok, err := files.Exists(dir, name)
		return cty.BoolVal(ok), err
	})
	pure := func(fn func(string) string) function.Function {
		return textFunction("path", func(s string) (string, error) {
			if s == "" {
				return "", errors.New("the path is empty")
			}
			return fn(s), nil
		})
	}
	return withGroup("files", []Function{
		{"basename", "", "the last element of a path", pure(path.Base)},
		{"dirname", "", "a path without its last element", pure(path.Dir)},
		{"exists", "", "whether the site has a file or directory of that path", exists},
		{"read", "", "the text of a file of the site", read},
		{"source", "", "a file or directory of the site, for components that may read no other file of their caller", f.sourceFunction(dir)},
		{"secret", "", "the value of a secret of the site, sensitive: \"db\" is in secrets.age, \"prod/db\" in secrets/prod.age", f.secretFunction()},
		{"template", "", "a template file of the site, filled in with the variables", f.templateFunction(dir, chain)},
	})
}
