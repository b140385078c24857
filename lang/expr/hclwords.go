package expr

import (
	"regexp"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
)

// Summaries of the HCL library by which the parser of files decides what follows from what.
const (
	OpenHeredoc = "Unterminated template string"
	OpenText    = "the text has no closing quote in its line"
)

// wording is what is said in place of a summary of the HCL library, and of its detail, as far as
// that says more: $1 and so on are groups of the detail.
type wording struct {
	summary, detail string // patterns of what the library says, each of the whole
	says, because   string
}

var wordings = sync.OnceValue(func() []wording {
	article := `(?:a |an )?`
	return []wording{
		{`Missing newline after argument`, `.*`, "an attribute ends with its line", "What stands behind its value belongs to no expression."},
		{`Invalid block definition`, `.*equals sign.*`, "a block has no =", "It has a type, labels in quotes, and braces; only an attribute has = behind its name."},
		{`Not enough function arguments`, `Function "(.*)" expects .* argument\(s\)\. Missing value for "(.*)"\.`, `$1() lacks the argument "$2"`, ""},
		{`Too many function arguments`, `Function "(.*)" expects only (.*) argument\(s\)\.`, "$1() is given too many arguments: it takes $2", ""},
		{`Unclosed configuration block`, `.*`, "this block has no closing brace", "The file ends before it. A brace that is missing further down has the same effect."},
		{`Invalid operand`, `Unsuitable value for (left|right) operand: ` + article + `(\w+) is required\.`, "a $2 is required on the $1 of this operator", ""},
		{`Invalid operand`, `Unsuitable value for (left|right) operand: ` + article + `(\w+) required, but have (.+)\.`, "a $2 is required on the $1 of this operator, not a $3", ""},
		{`Invalid operand`, `Unsuitable value for unary operand: ` + article + `(\w+) (?:is )?required.*`, "a $1 is required behind this operator", ""},
		{`Invalid type specification`, `The keyword "(.*)" is not a valid type specification\.`, `there is no type "$1"`, ""},
		{`Invalid type specification`, `The (\w+) type constructor requires one argument specifying the (.*)\.`, "the type $1 needs the $2", ""},
		{`Invalid type specification`, `A type specification is .*`, "this is no type", ""},
		{`Invalid template interpolation value`, `The expression result is null\..*`, "null cannot stand in a text", ""},
		{`Invalid template interpolation value`, `Cannot include the given value in a string template: (?:a )?string (?:is )?required, but have (.+)\.`, "a value of type $1 cannot stand in a text", ""},
		{`Invalid single-argument block definition`, `.*`, "a block in one line has one attribute", ""},
		{`Argument definition required`, `A single-line block definition can contain only a single argument\. If you meant to define argument "(.*?)".*`, `a block in one line has one attribute, and no block such as $1 in it`, ""},
		{`Invalid multi-line string`, `.*`, OpenText, ""},
		{`Invalid string literal`, `Template sequences are not allowed in this string\..*`, "a label is literal text", `What is computed cannot stand in it; a "$" before a brace is written "$$$$".`},
		{`Trailing comma in (\w+)`, `.*`, "there is a comma behind the last element", "JSON has commas between elements alone."},
		{`Invalid function argument`, `Invalid value for "(\w+)" parameter: (.+) required, but have (.+)\.`, `the argument "$1" has the type $3, and $2 is required`, ""},
		{`Invalid function argument`, `Invalid value for "(\w+)" parameter: (.+)\.`, `the argument "$1" is wrong: $2`, ""},
		{`Unsupported attribute`, `This object does not have an attribute named "(.*)"\.`, `there is no attribute "$1"`, ""},
		{`Unsupported attribute`, `Can't access attributes on a primitive-typed value \((.*)\)\.`, "a $1 has no attributes", ""},
		{`Unsupported attribute`, `This value does not have any attributes\.`, "this value has no attributes", ""},
		{`Invalid index`, `The given key does not identify an element in this collection value(.*)\.`, "there is no such element$1", ""},
		{`Attempt to get attribute from null value`, `.*`, "null has no attributes", "The value in front of the dot is null."},
		{`Attempt to index null value`, `.*`, "null has no elements", "The value in front of the bracket is null."},
	}
})

// inWords says in the words of this project what the HCL library says in its own.
func inWords(d *diag.Diagnostic) {
	for _, w := range wordings() {
		summary, detail := regexp.MustCompile(`^(?s:`+w.summary+`)$`), regexp.MustCompile(`^(?s:`+w.detail+`)$`)
		m := detail.FindStringSubmatchIndex(d.Detail)
		if m == nil || !summary.MatchString(d.Summary) {
			continue
		}
		d.Summary = string(detail.ExpandString(nil, w.says, d.Detail, m))
		d.Detail = string(detail.ExpandString(nil, w.because, d.Detail, m))
		d.Summary = vowel().ReplaceAllString(d.Summary, "an $1")
		return
	}
}

// vowel finds an article that is to be "an".
var vowel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\ba (object|attribute)\b`) })
