package expr

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// Vault gives out the secrets of one evaluation, and remembers what was given
// out or computed from sensitive values, so that a run can mask it wherever it
// turns up. All Files of the evaluation share it, and several goroutines may.
type Vault struct {
	mu       sync.Mutex // of all that follows
	open     func(name string) (string, error)
	withheld bool
	values   map[string]cty.Value // by name
	asked    map[string]bool
	texts    map[string]bool // what is sensitive, and what was computed of it
	ownTexts map[string]bool // those that are the values themselves
	names    map[string]bool // keys of sensitive maps and objects
}

// NewVault makes the vault for a target.
func NewVault(t Target) *Vault {
	return &Vault{open: t.Secrets, withheld: t.SecretsHidden, values: map[string]cty.Value{}, asked: map[string]bool{},
		texts: map[string]bool{}, ownTexts: map[string]bool{}, names: map[string]bool{}}
}

// Texts lists the texts and numbers that are not to be shown, sorted: the secrets, what
// is sensitive in the variables, and what was computed of either. The keys of sensitive
// maps are not among them, such as the names that passwords are for, unless one of the
// values is the same.
func (s *Vault) Texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(func(yield func(string) bool) {
		for text := range s.texts {
			if (!s.names[text] || s.ownTexts[text]) && !yield(text) {
				return
			}
		}
	})
}

// Take adds what is sensitive in the variables and other names of a directory.
func (s *Vault) Take(values map[string]cty.Value) {
	for name, v := range values {
		s.take(v, strings.HasPrefix(name, "var."))
	}
}

// take adds what is sensitive in a value; own says that it was not computed of others.
func (s *Vault) take(v cty.Value, own bool) {
	if !v.ContainsMarked() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	addSensitive(s.texts, v)
	addNames(s.names, v)
	if own {
		addSensitive(s.ownTexts, v)
	}
}

// UseCount counts the secrets that were asked for, and what was computed from sensitive
// values: where it stays the same, there were none.
func (s *Vault) UseCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked) + len(s.texts)
}

// UseVault says where secret() finds its values; without, it finds none. It is
// to be called before the functions are asked for.
func (f *Files) UseVault(v *Vault) { f.vault = v }

// secretFunction makes secret(NAME).
func (f *Files) secretFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.vault.get(args[0].AsString()) },
	})
}

func (s *Vault) get(name string) (cty.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[name]; ok {
		return v, nil
	}
	s.asked[name] = true
	if s.open == nil {
		return cty.UnknownVal(cty.String), &diag.HintError{Message: "secrets are not known here",
			Hint: "a program that evaluates the site gives them with Target.Secrets"}
	}
	text, err := s.open(name)
	if err != nil {
		return cty.UnknownVal(cty.String), secretError(name, err)
	}
	v := cty.UnknownVal(cty.String).WithMarks(cty.NewValueMarks(Sensitive, Withheld))
	if !s.withheld {
		// cty would normalise the text without a word.
		if err := checkText(text); err != nil {
			return cty.UnknownVal(cty.String), &diag.HintError{Message: "the secret " + err.Error(),
				Hint: "store it in base64, and decode it on the host"}
		}
		v = cty.StringVal(text).Mark(Sensitive)
	}
	s.values[name] = v
	return v, nil
}

// Check reports what is wrong with a secret that the site names at a place, and
// that nothing has asked for: what is left out is not evaluated.
func (s *Vault) Check(name string, at diag.Range) diag.List {
	s.mu.Lock()
	asked := s.asked[name]
	s.mu.Unlock()
	if asked {
		return nil
	}
	_, err := s.get(name)
	if err == nil {
		return nil
	}
	if source, ok := errors.AsType[*SourceError](err); ok {
		return addCallPlace(source.List, at)
	}
	d := diag.Diagnose(err, at)
	d.Summary = "secret(): " + d.Summary
	d.Hint = cmp.Or(d.Hint, "see the function's description: tenet doc secret")
	return diag.List{d}
}

// secretError says what is wrong with a secret, with the names there are beside
// one that there is not.
func secretError(name string, err error) error {
	if d, ok := errors.AsType[diag.Diagnostic](err); ok {
		return &SourceError{List: diag.List{d}}
	}
	if l, ok := errors.AsType[diag.List](err); ok && len(l) > 0 {
		return &SourceError{List: l}
	}
	missing, ok := errors.AsType[interface {
		error
		Names() []string
	}](err)
	if !ok {
		return err
	}
	hint := "tenet secret set " + name + " stores it"
	if near := diag.DidYouMean(name, missing.Names()); near != "" {
		hint = near
	}
	return &diag.HintError{Message: err.Error(), Hint: hint}
}

// SourceError is what is wrong within a file that a function looks at, with the
// positions there.
type SourceError struct{ List diag.List }

// Error gives the first mistake.
func (e *SourceError) Error() string { return e.List[0].Error() }

// recordResults makes a function remember what it gives out that is sensitive; own says that the
// function is what makes it so.
func (s *Vault) recordResults(fn function.Function, own bool) function.Function {
	params := slices.Clone(fn.Params())
	for i := range params {
		params[i] = relaxParameter(params[i])
	}
	variadic := fn.VarParam()
	if variadic != nil {
		p := relaxParameter(*variadic)
		variadic = &p
	}
	return function.New(&function.Spec{
		Params: params, VarParam: variadic,
		// The function itself looks at types, once.
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := fn.Call(args)
			if err != nil {
				return v, err
			}
			if !v.IsWhollyKnown() { // cty drops the marks of some unknown arguments
				for _, arg := range args {
					v = v.WithMarks(marksOf(arg))
				}
			}
			s.take(v, own)
			return v, nil
		},
	})
}

// relaxParameter makes a parameter take anything of its type.
func relaxParameter(p function.Parameter) function.Parameter {
	p.AllowNull, p.AllowUnknown, p.AllowMarked, p.AllowDynamicType = true, true, true, true
	return p
}
