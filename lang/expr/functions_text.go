package expr

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tenetcm/tenet/lang/diag"
)

func compareStrings(a, b string) int { return strings.Compare(a, b) }

// stringFunctions are those of Terraform's group of that name.
func stringFunctions() []Function {
	list := []Function{
		{"chomp", "", "text without newlines at its end", stdlib.ChompFunc},
		{"endswith", "", "whether a text ends with another", textPredicate(strings.HasSuffix, "suffix")},
		{"format", "", "text made by a format such as \"%s-%03d\"", stdlib.FormatFunc},
		{"formatlist", "", "a list of texts made by one format", stdlib.FormatListFunc},
		{"indent", "", "text with all lines but the first indented by a number of spaces", indentFunction()},
		{"join", "", "the elements of lists joined by a separator", stdlib.JoinFunc},
		{"lower", "", "text in lower case", stdlib.LowerFunc},
		{"regex", "", "the first match of a regular expression (RE2); its groups, if it has any", stdlib.RegexFunc},
		{"regexall", "", "all matches of a regular expression", stdlib.RegexAllFunc},
		{"replace", "", "text with each occurrence replaced; a pattern between slashes is a regular expression", replaceFunction()},
		{"split", "", "the list of pieces between separators", stdlib.SplitFunc},
		{"startswith", "", "whether a text starts with another", textPredicate(strings.HasPrefix, "prefix")},
		{"strcontains", "", "whether a text contains another", textPredicate(strings.Contains, "substr")},
		{"strlen", "", "the length of a text in characters", stdlib.StrlenFunc},
		{"strrev", "", "text backwards, by characters", stdlib.ReverseFunc},
		{"substr", "", "a piece of a text, by offset and length in characters", stdlib.SubstrFunc},
		{"title", "", "text with the first letter of each word in upper case", stdlib.TitleFunc},
		{"trim", "", "text without the given characters at both ends", stdlib.TrimFunc},
		{"trimprefix", "", "text without a prefix", stdlib.TrimPrefixFunc},
		{"trimspace", "", "text without white space at both ends", stdlib.TrimSpaceFunc},
		{"trimsuffix", "", "text without a suffix", stdlib.TrimSuffixFunc},
		{"upper", "", "text in upper case", stdlib.UpperFunc},
	}
	return withGroup("strings", list)
}

func withGroup(group string, list []Function) []Function {
	for i := range list {
		list[i].Group = group
	}
	return list
}

func textPredicate(test func(s, sub string) bool, sub string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: sub, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(test(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// textFunction makes a function from one text to another.
func textFunction(param string, f func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: param, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := f(args[0].AsString())
			if err != nil {
				return cty.UnknownVal(cty.String), err
			}
			if err := checkText(text); err != nil {
				return cty.UnknownVal(cty.String), &diag.HintError{
					Message: fmt.Sprintf("the result %v", err), Hint: sourceHint}
			}
			return cty.StringVal(text), nil
		},
	})
}

// replaceFunction is Terraform's: "/…/" is a regular expression.
func replaceFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String},
		},
		Type: function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
			if len(old) < 2 || old[0] != '/' || old[len(old)-1] != '/' {
				return cty.StringVal(strings.ReplaceAll(text, old, with)), nil
			}
			pattern, err := regexp.Compile(old[1 : len(old)-1])
			if err != nil {
				return cty.UnknownVal(cty.String), function.NewArgError(1, err)
			}
			return cty.StringVal(pattern.ReplaceAllString(text, with)), nil
		},
	})
}
