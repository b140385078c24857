package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/foreign"
	"github.com/tenetcm/tenet/states"
)

// Place says where an option may stand; places are joined with |.
type Place int

// The places.
const (
	OnPart Place = 1 << iota
	OnState
	OnRun
	OnBlock
	OnComponent
	anyPlace = OnPart | OnState | OnRun | OnBlock | OnComponent
)

// Option is an option of the language.
type Option struct {
	Name string
	On   Place
	// Refs says that its value is references, which syntaxes without an own
	// form for them write as text.
	Refs bool
	// Block says that it is written as a block: only_if, unless.
	Block bool
	set   func(o *states.Options, v cty.Value) error
	refs  func(o *states.Options) *[]states.Ref
}

// Options lists the options of the language. for_each, lazy, defer and
// parallel have no setter: they are about the declaration, not in its Options.
func Options() []Option {
	return []Option{
		{Name: "require", On: anyPlace, Refs: true, refs: func(o *states.Options) *[]states.Ref { return &o.Require }},
		{Name: "follows", On: anyPlace, Refs: true, refs: func(o *states.Options) *[]states.Ref { return &o.Follows }},
		{Name: "notify", On: anyPlace, Refs: true, refs: func(o *states.Options) *[]states.Ref { return &o.Notify }},
		{Name: "notify_failure", On: anyPlace, Refs: true, refs: func(o *states.Options) *[]states.Ref { return &o.NotifyFailure }},
		{Name: "listen", On: anyPlace, Refs: true, refs: func(o *states.Options) *[]states.Ref { return &o.Listen }},
		{Name: "listen_failure", On: anyPlace, Refs: true, refs: func(o *states.Options) *[]states.Ref { return &o.ListenFailure }},
		{Name: "when", On: anyPlace, set: setWhen},
		{Name: "only_if", On: anyPlace, Block: true},
		{Name: "unless", On: anyPlace, Block: true},
		{Name: "for_each", On: OnPart | OnState | OnRun | OnComponent},
		{Name: "ensure", On: anyPlace, set: setEnsure},
		{Name: "retry", On: anyPlace, set: setRetry},
		{Name: "become", On: anyPlace, set: setBecome},
		{Name: "timeout", On: anyPlace, set: setTimeout},
		{Name: "ignore_failure", On: anyPlace, set: func(o *states.Options, v cty.Value) error { return setBool(&o.IgnoreFailure, v) }},
		{Name: "lock", On: anyPlace, set: func(o *states.Options, v cty.Value) error { return setNames(&o.Locks, v) }},
		{Name: "sensitive", On: OnPart, set: func(o *states.Options, v cty.Value) error { return setBool(&o.Sensitive, v) }},
		{Name: "retain", On: OnPart, set: setRetain},
		{Name: "tags", On: anyPlace, set: func(o *states.Options, v cty.Value) error { return setNames(&o.Tags, v) }},
		{Name: "description", On: anyPlace, set: func(o *states.Options, v cty.Value) error { return setText(&o.Description, v) }},
		{Name: "confirm", On: OnBlock | OnComponent, set: setConfirm},
		{Name: "lazy", On: OnState},
		{Name: "defer", On: OnState},
		{Name: "parallel", On: OnState},
	}
}

// Set puts an evaluated option into o. The value is known, and not null; its
// marks are looked at here: an option is shown everywhere, so that a sensitive
// value is an error. Errors.Join makes one of several mistakes.
func (option *Option) Set(o *states.Options, v cty.Value) error {
	v, sensitive := Split(v)
	if sensitive {
		return &diag.HintError{Message: fmt.Sprintf("the option %s cannot depend on a sensitive value", option.Name),
			Hint: "options are shown in plans and reports; use a value that may be, or nonsensitive()"}
	}
	return option.set(o, v)
}

// AddRefs puts references into o, sorted and without repeats.
func (option *Option) AddRefs(o *states.Options, refs []states.Ref) {
	list := option.refs(o)
	*list = SortRefs(append(*list, refs...))
}

// SortRefs brings references into canonical order, without repeats.
func SortRefs(refs []states.Ref) []states.Ref {
	slices.SortStableFunc(refs, func(a, b states.Ref) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Part, b.Part))
	})
	return slices.CompactFunc(refs, func(a, b states.Ref) bool {
		return a.Address == b.Address && a.Part == b.Part && a.Self == b.Self
	})
}

// Kind says what a value is, for messages: "a number", "null".
func Kind(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	return Article(v.Type().FriendlyName())
}

// Article puts "a" or "an" before a word.
func Article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) && !strings.HasPrefix(word, "user") {
		return "an " + word
	}
	return "a " + word
}

// Bool gives a value as a bool; text that says so is taken too.
func Bool(v cty.Value) (bool, error) {
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() || !b.IsKnown() {
		return false, &diag.HintError{Message: fmt.Sprintf("true or false is required, not %s", Kind(v)), Hint: boolHint(v)}
	}
	return b.True(), nil
}

func setBool(to *bool, v cty.Value) (err error) {
	*to, err = Bool(v)
	return err
}

// setRetain takes true, a number, and text that says either.
func setRetain(o *states.Options, v cty.Value) error {
	hint := "write true, or how many are to stay: retain = 3"
	if n, err := convert.Convert(v, cty.Number); err == nil && v.Type() != cty.Bool && !n.IsNull() {
		count, ok := intFrom(n)
		if !ok || count < 1 {
			return &diag.HintError{Message: "a whole number of at least 1 is required", Hint: hint}
		}
		o.Retain = states.Retention(count)
		return nil
	}
	b, err := Bool(v)
	if err != nil {
		return &diag.HintError{Message: fmt.Sprintf("true or a whole number is required, not %s", Kind(v)), Hint: hint}
	}
	if o.Retain = 0; b {
		o.Retain = states.RetainAll
	}
	return nil
}

func setWhen(o *states.Options, v cty.Value) error {
	b, err := Bool(v)
	o.LeftOut = err == nil && !b
	return err
}

// Text gives a value that is text.
func Text(v cty.Value) (string, error) {
	if v.IsNull() || v.Type() != cty.String {
		return "", fmt.Errorf("a string is required, not %s", Kind(v))
	}
	return v.AsString(), nil
}

func setText(to *string, v cty.Value) (err error) {
	*to, err = Text(v)
	return err
}

func setEnsure(o *states.Options, v cty.Value) error {
	text, err := Text(v)
	if err == nil && text != string(states.Present) && text != string(states.Absent) {
		other, _ := foreign.Ensure(text)
		err = &diag.HintError{Message: fmt.Sprintf("it cannot be %q", text), Hint: cmp.Or(other.Hint, `write "present" or "absent"`)}
	}
	o.Ensure = states.Ensure(text)
	if v.Type() == cty.Bool {
		err = &diag.HintError{Message: err.Error(), Hint: `write "present" in place of true, "absent" in place of false`}
	}
	return err
}

func setBecome(o *states.Options, v cty.Value) (err error) {
	o.Become, err = BecomeUser(v)
	return err
}

// BecomeUser reads the value of become: the user's name, empty for nobody.
func BecomeUser(v cty.Value) (string, error) {
	v, _ = Split(v)
	if v.Type() == cty.Bool {
		if v.True() {
			return "root", nil
		}
		return "", nil
	}
	text, err := Text(v)
	hint := `write true for root, or a user's name: become = "deploy"`
	switch {
	case err != nil:
	case text == "":
		err = errors.New("the user's name is empty")
	case strings.Contains(text, "{{"):
		err, hint = fmt.Errorf("%.80q is no user's name: Jinja's braces have no meaning here", text), `name a value without quotes, such as become = var.user; in Starlark, the name of a variable`
	case strings.TrimSpace(text) != text, strings.ContainsAny(text, ":/"), strings.ContainsFunc(text, unicode.IsControl):
		err = fmt.Errorf("%.80q is no user's name", text) // of no machine: the file of accounts cannot hold it
	}
	if err != nil {
		return "", &diag.HintError{Message: err.Error(), Hint: hint}
	}
	return text, nil
}

// Duration reads a positive duration such as "1m30s".
func Duration(v cty.Value) (time.Duration, error) {
	hint := `write it with a unit, as a string: "30s", "5m" or "1h30m"`
	text, err := Text(v)
	if err != nil {
		return 0, &diag.HintError{Message: fmt.Sprintf("a duration is a string, not %s", Kind(v)), Hint: hint}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, &diag.HintError{Message: fmt.Sprintf("%q is no duration above zero", text), Hint: hint}
	}
	return d, nil
}

func setTimeout(o *states.Options, v cty.Value) (err error) {
	o.Timeout, err = Duration(v)
	return err
}

// Names reads a list or set of texts, sorted and without repeats.
func setNames(to *[]string, v cty.Value) error {
	list, err := Texts(v)
	if err != nil {
		return err
	}
	slices.Sort(list)
	*to = slices.Compact(list)
	return nil
}

// Texts reads a list or set of texts that are not empty.
func Texts(v cty.Value) ([]string, error) {
	v, _ = Split(v)
	if !isSequence(v.Type()) {
		return nil, &diag.HintError{Message: fmt.Sprintf("a list of strings is required, not %s", Kind(v)),
			Hint: `put it in brackets: ["…"]`}
	}
	list := []string{}
	for _, e := range v.Elements() {
		text, err := Text(e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(list), err)
		}
		if text == "" {
			return nil, fmt.Errorf("element %d is empty", len(list))
		}
		list = append(list, text)
	}
	return list, nil
}

// RetryNames lists the attributes of retry.
func RetryNames() []string { return []string{"attempts", "backoff", "delay", "max_delay"} }

func setRetry(o *states.Options, v cty.Value) error {
	example := `write retry = { attempts = 3, delay = "2s", backoff = 2, max_delay = "30s" }`
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		return &diag.HintError{Message: fmt.Sprintf("an object is required, not %s", Kind(v)), Hint: example}
	}
	retry, given := &states.Retry{Attempts: 1}, v.AsValueMap()
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name].IsNull() {
			continue
		}
		if err := setRetryField(retry, name, given[name]); err != nil {
			wrong = append(wrong, &diag.HintError{Message: fmt.Sprintf("%s: %v", name, err), Hint: cmp.Or(diag.HintOf(err), example)})
		}
	}
	o.Retry = retry
	return errors.Join(wrong...)
}

func setRetryField(r *states.Retry, name string, v cty.Value) (err error) {
	switch name {
	case "attempts":
		n, ok := intFrom(v)
		if !ok || n < 1 {
			return errors.New("a whole number of at least 1 is required")
		}
		r.Attempts = n
	case "backoff":
		if v.Type() != cty.Number {
			return errors.New("a number is required")
		}
		f, _ := v.AsBigFloat().Float64()
		if f < 1 || math.IsInf(f, 0) {
			return errors.New("the factor must be at least 1")
		}
		r.Backoff = f
	case "delay":
		r.Delay, err = Duration(v)
	case "max_delay":
		r.MaxDelay, err = Duration(v)
	default:
		return &diag.HintError{Message: "there is no such attribute",
			Hint: cmp.Or(diag.DidYouMean(name, RetryNames()), "retry has attempts, delay, backoff and max_delay")}
	}
	return err
}

// boolHint says what to write for a bool; a condition in quotes is text.
func boolHint(v cty.Value) string {
	v, sensitive := Split(v)
	if sensitive || v.IsNull() || !v.IsKnown() || v.Type() != cty.String || !conditionText().MatchString(v.AsString()) {
		return "write true or false"
	}
	return "write the condition without quotes around it; text within it stands in double quotes"
}

var conditionText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^!?(var|local|fact|each|param|host)\.|[=!]=|&&|\|\|`)
})
