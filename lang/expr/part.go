package expr

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Attribute is an evaluated attribute of a part.
type Attribute struct {
	Name  string
	Value cty.Value  // may be unknown: then nothing is said about it
	Range diag.Range // of the value
}

// PartInput is everything that makes a part.
type PartInput struct {
	Module     *states.Module
	Label      string
	Key        *string // the for_each key; nil: none
	Range      diag.Range
	Attributes []Attribute
	Dir        string // the directory of the declaring file
	Sensitive  bool   // the option of that name: all values are
	// Doubtful says that more was given, which is wrong: then nothing is
	// reported as missing.
	Doubtful bool
}

// Parts makes part declarations of evaluated attributes.
type Parts struct {
	Files *Files
	Site  fs.FS
	// Home gives the acting user's home directory, for paths that start with
	// "~/".
	Home func() (string, error)
	// Review is that of a Target.
	Review bool
}

// Part makes a declaration: values in canonical form, key, paths, and the
// module's own checks. Options are the caller's business. Where the list holds
// an error, or a value is not known, the declaration is not usable, and whole
// is false.
func (p *Parts) Part(in PartInput) (part states.PartDeclaration, whole bool, l diag.List) {
	part = header(in)
	whole = true
	given, withheld := map[string]bool{}, false
	for _, a := range in.Attributes {
		if a.Value.IsKnown() && a.Value.IsNull() {
			continue
		}
		given[a.Name] = true
		if IsWithheld(a.Value) {
			l.Add(p.withhold(&part, in, a)...)
			withheld = true
			part.Unknown = append(part.Unknown, a.Name)
			continue
		}
		if schema := in.Module.Attribute(a.Name); IsDeferred(a.Value) || schema.Kind == states.KindCondition && a.Value.IsKnown() {
			if err := p.deferAttribute(&part, in, a); err != nil {
				l.Add(in.valueDiagnostic(a.Name, err, a.Range))
				part.Unknown = append(part.Unknown, a.Name)
			}
			continue
		}
		if !a.Value.IsWhollyKnown() {
			part.Unknown = append(part.Unknown, a.Name)
			whole = false
			continue
		}
		value, sensitive, err := p.value(in, a)
		if err != nil {
			l.Add(in.valueDiagnostic(a.Name, err, a.Range))
			part.Unknown = append(part.Unknown, a.Name)
			continue
		}
		part.Values[a.Name] = value
		if sensitive || in.Module.Attribute(a.Name).Sensitive {
			part.Sensitive = append(part.Sensitive, a.Name)
		}
	}
	slices.Sort(part.Sensitive)
	restrictMode(&part, in, given)
	if p.Review {
		l.Add(exposedSecrets(&part, in)...)
	}
	l.Add(p.defaultKey(&part, in, given)...)
	if whole = whole && !in.Doubtful; !in.Doubtful {
		l.Add(requireAttributes(in, given)...)
	}
	if whole = whole && !l.HasErrors(); whole {
		part.Paths = in.Module.Paths(part.Values)
		if !part.LateKey(in.Module) {
			part.Key = in.Module.Key(part.Values)
		}
		// The module would miss what is not known here; the host checks it.
		if !withheld {
			l.Add(p.check(&part, in)...)
		}
		whole = !l.HasErrors()
	}
	return part, whole, l
}

// withhold takes an attribute whose value cannot be known here, since a secret
// was not opened.
func (p *Parts) withhold(part *states.PartDeclaration, in PartInput, a Attribute) diag.List {
	part.Sensitive = append(part.Sensitive, a.Name)
	schema := in.Module.Attribute(a.Name)
	switch {
	case schema.Out:
		return diag.List{in.valueDiagnostic(a.Name, errObserved(), a.Range)}
	case schema.Key:
		return diag.List{in.valueDiagnostic(a.Name, errSensitiveKey(schema), a.Range)}
	}
	return nil
}

// restrictMode gives a file whose content is sensitive a mode that lets nobody but
// its owner read it, unless a mode is given: a module that has a content and a
// mode means both for one file.
func restrictMode(part *states.PartDeclaration, in PartInput, given map[string]bool) {
	mode := in.Module.Attribute("mode")
	if mode == nil || mode.Kind != states.KindMode || given["mode"] {
		return
	}
	if in.sensitiveContent() != "" {
		part.Values["mode"], given["mode"] = PrivateMode, true
	}
}

// sensitiveContent names the attribute that gives a file a sensitive content; empty: none does.
func (in *PartInput) sensitiveContent() string {
	for _, a := range in.Attributes {
		kind := in.Module.Attribute(a.Name).Kind
		if a.Value.IsKnown() && a.Value.IsNull() || kind != states.KindContent && kind != states.KindSource {
			continue
		}
		if _, sensitive := Split(a.Value); sensitive || in.Sensitive {
			return a.Name
		}
	}
	return ""
}

// PrivateMode is the mode of a file whose content is sensitive where the site
// gives none.
const PrivateMode = "0600"

// defaultKey gives the first key attribute its default: the for_each key, or
// the label.
func (p *Parts) defaultKey(part *states.PartDeclaration, in PartInput, given map[string]bool) diag.List {
	keys := in.Module.Keys()
	if len(keys) == 0 || given[keys[0]] {
		return nil
	}
	text := in.Label
	if in.Key != nil {
		text = *in.Key
	}
	given[keys[0]] = true
	value, _, err := p.value(in, Attribute{Name: keys[0], Value: cty.StringVal(text)})
	if err != nil {
		return diag.List{in.valueDiagnostic(keys[0], err, in.Range)}
	}
	part.Values[keys[0]] = value
	return nil
}

// requireAttributes reports all required attributes that are not given.
func requireAttributes(in PartInput, given map[string]bool) (l diag.List) {
	for _, a := range in.Module.Attributes {
		if a.Required && !given[a.Name] {
			l.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s needs the attribute %q", in.Module.Name, a.Name),
				Detail:  a.Doc, Hint: fmt.Sprintf("add it: %s = …", a.Name), Range: in.Range})
		}
	}
	return l
}

// check runs the module's own checks.
func (p *Parts) check(part *states.PartDeclaration, in PartInput) diag.List {
	resource, err := in.Module.Decode(part.Values, p.Site)
	if err == nil {
		err = in.Module.Check(resource)
	}
	var list diag.List
	for _, err := range JoinedErrors(err) {
		if len(part.Results) > 0 && !isKeyMistake(err, part, in.Module) {
			continue // it may be about what only the host knows
		}
		at, name, open := in.Range, "", false
		if wrong, ok := errors.AsType[*states.AttributeError](err); ok {
			name, open = wrong.Attribute, wrong.Open
			for _, a := range in.Attributes {
				if a.Name == name {
					at = a.Range
				}
			}
		}
		if !open && (slices.Contains(part.Sensitive, name) || name == "" && len(part.Sensitive) > 0) {
			err = errHidden()
		}
		list.Add(in.valueDiagnostic(name, HideReason(err, in.sensitiveTexts()), at))
	}
	return list
}

// sensitiveTexts are those in all attributes: what is wrong with one may quote another.
func (in *PartInput) sensitiveTexts() (texts []string) {
	for _, a := range in.Attributes {
		texts = append(texts, SensitiveTexts(a.Value)...)
	}
	return texts
}

// JoinedErrors gives the errors that errors.Join made one of; of nil, none.
func JoinedErrors(err error) []error {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	return []error{err}
}

// valueDiagnostic reports a wrong value of an attribute, or of the part where name is
// empty.
func (in *PartInput) valueDiagnostic(name string, err error, at diag.Range) diag.Diagnostic {
	d := diag.Diagnose(err, at)
	if wrong, ok := errors.AsType[*states.AttributeError](err); ok {
		d.Summary, d.Hint = wrong.Message, wrong.Hint
	}
	d.Summary = fmt.Sprintf("%s: %s", cmp.Or(name, in.Module.Name), d.Summary)
	d.Hint = cmp.Or(d.Hint, in.attributeHint(in.Module.Attribute(name)))
	return d
}

// attributeHint says what belongs into an attribute, in the words of its documentation.
func (in *PartInput) attributeHint(a *states.Attribute) string {
	switch page := "tenet doc " + in.Module.Name; {
	case a == nil:
		return page + " describes its attributes"
	case a.Kind == states.KindBool:
		return "write true or false"
	default:
		first, _, _ := strings.Cut(a.Doc, ". ")
		return fmt.Sprintf("%s: %s (%s)", a.Name, strings.TrimSuffix(first, "."), page)
	}
}

// OmittedPart makes the declaration of a part that when leaves out: nothing about
// it is evaluated but its address and options.
func (p *Parts) OmittedPart(in PartInput, o states.Options) states.PartDeclaration {
	part := header(in)
	part.Options = o
	return part
}

func header(in PartInput) states.PartDeclaration {
	part := states.PartDeclaration{Type: in.Module.Name, Range: in.Range, Values: map[string]any{}}
	part.Base = PartName(in.Module.Name, in.Label)
	part.Address = part.Base
	if in.Key != nil {
		part.Address = states.InstanceAddress(part.Base, *in.Key)
	}
	return part
}

// HostPath expands a leading "~/" in a path on the host.
func (p *Parts) HostPath(text string) (string, error) {
	v, err := ExpandHome(text, p.Home)
	if err != nil {
		return "", err
	}
	return v.(string), nil
}
