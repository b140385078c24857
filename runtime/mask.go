package runtime

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// minSecret is the length in bytes from which a secret is searched for in
// output and messages; shorter ones would mask everything.
const minSecret = 4

// minSecretLine is the same for one line of a longer secret.
const minSecretLine = 8

// masker hides a run's secrets. Nil hides nothing.
type masker struct {
	mu    sync.RWMutex
	forms forms
}

// newMasker collects the sensitive values of a run, in the forms in which they
// may turn up: raw, base64, hex, JSON- and URL-escaped. More are what these were
// computed from, and what results turn out to be. A mode, a duration and a yes or no
// of a sensitive part are shown nowhere with it, but say nothing elsewhere.
func newMasker(run *states.StateRun, registry *states.Registry) *masker {
	m := &masker{}
	for _, s := range run.Secrets {
		m.forms.addSecret(s)
	}
	for i := range run.Given {
		if run.Given[i].Output.Sensitive {
			m.forms.addSecret(run.Given[i].Output.Value)
		}
	}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				part := &list[i].Parts[k]
				module := registry.ModuleOf(part.Type)
				for _, name := range part.Sensitive {
					if part.Type == states.ComparisonType { // its other values are shown
						for _, secret := range secretsOf(part.Values[name]) {
							m.forms.addSecret(secret)
						}
						continue
					}
					if module == nil || !isCommonplace(module.Attribute(name)) {
						m.forms.addSecret(part.Values[name])
					}
				}
				for _, x := range part.Results {
					for _, secret := range x.Secrets() {
						m.forms.addSecret(secret)
					}
				}
			}
		}
	}
	return m
}

// isCommonplace reports whether an attribute's values are a few that everything
// has. A secret in one is among the run's secrets all the same.
func isCommonplace(a *states.Attribute) bool {
	return a != nil && (a.Kind == states.KindMode || a.Kind == states.KindDuration || len(a.Enum) > 0)
}

// add hides a further value from now on.
func (m *masker) add(v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forms.addSecret(v)
}

// watch prepares a result for being computed with: a sensitive one is hidden
// from now on wherever it turns up; one that holds a secret is marked, as what a
// program prints or a module observes may.
func (m *masker) watch(v cty.Value) cty.Value {
	plain, sensitive := expr.Split(v)
	if !plain.IsWhollyKnown() {
		return v
	}
	if sensitive && !v.IsMarked() { // what is beside a secret is none
		for _, text := range expr.SensitiveTexts(v) {
			m.add(text)
		}
		return v
	}
	if sensitive {
		if value, err := expr.Plain(plain); err == nil {
			m.add(value)
		}
		return v
	}
	if m.finds(plain) {
		return v.Mark(expr.SecretFound)
	}
	return v
}

// finds reports whether a secret is in a text of a value.
func (m *masker) finds(v cty.Value) bool {
	if v.IsNull() {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := false
	_ = cty.Walk(v, func(_ cty.Path, e cty.Value) (bool, error) { // the function has no errors
		if e.Type() == cty.String && !e.IsNull() {
			text := e.AsString()
			found = found || m.forms.mask(text) != text
		}
		return !found, nil
	})
	return found
}

// text masks what a program or an error says.
func (m *masker) text(s string) string {
	if m == nil || s == "" {
		return s
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.forms.maskTorn(m.forms.mask(s))
}

// error makes one line of the text of an error, without secrets, that somebody can read. Its
// causes stay what they are.
func (m *masker) error(err error) error {
	if err == nil {
		return nil
	}
	if text := diag.Shorten(journal.Line(m.text(err.Error()))); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}

// maskedError is an error whose text is without secrets.
type maskedError struct {
	text string
	err  error
}

// Error gives the text.
func (e *maskedError) Error() string { return e.text }

// Unwrap gives the cause, whose own text may hold the secret.
func (e *maskedError) Unwrap() error { return e.err }

// part masks what is said about a part: there its own secrets are hidden where they
// stand as a word, however short they are.
func (m *masker) part(s *step, text string) string {
	if s.part.Type == states.ComparisonType { // it hides its own by itself, and short ones may be in keys
		return m.text(text)
	}
	for _, name := range s.part.Sensitive {
		for _, short := range shortTexts(s.part.Values[name]) {
			text = strings.ReplaceAll(text, strconv.Quote(short), strconv.Quote(journal.Masked))
			text = replaceWord(text, short, journal.Masked)
		}
	}
	return m.text(text)
}

// replaceWord replaces a text where no letter or digit stands right before or behind it.
func replaceWord(text, word, by string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, word)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		out.WriteString(text[:at])
		if isWord(before) || isWord(after) {
			out.WriteString(word)
		} else {
			out.WriteString(by)
		}
		text = text[at+len(word):]
	}
}

func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// changes gives the step's changes as events carry them: content as a diff,
// sensitive values masked.
func (m *masker) changes(s *step) []states.Change {
	if len(s.changes) == 0 {
		return nil
	}
	out := make([]states.Change, 0, len(s.changes))
	for _, c := range s.changes {
		attribute := s.module.Attribute(c.Attribute)
		isUnknown := c.To == states.KnownAfterApply
		if attribute != nil && attribute.Key && !isUnknown && (c.From == nil || c.To == nil) {
			continue // the event names it; what is there only once, such as a hostname, may have had another
		}
		if s.part.Options.Sensitive || slices.Contains(s.part.Sensitive, c.Attribute) || attribute != nil && attribute.Sensitive {
			c.From, c.To, c.Diff = maskedValue(c.From), maskedValue(c.To), ""
			out = append(out, c)
			continue
		}
		if c.From != nil && s.hidFormerly(s.engine.options.Sensitive, attribute) {
			c.From, c.To, c.Diff = journal.Masked, m.value(displayValue(c.To)), ""
			out = append(out, c)
			continue
		}
		from, isContent := c.From.(host.Content)
		to, isAlso := c.To.(host.Content)
		if isUnknown {
			if isContent {
				c.From = summary(from)
			}
			c.From = m.value(c.From)
		} else if isContent || isAlso {
			// The content of a new file is what the plan shows; an apply says
			// only that it was made.
			if s.engine.planning() || isContent {
				c.Diff = m.text(contentDiff(from, to))
			}
			c.From, c.To = summary(c.From), summary(c.To)
		} else if m != nil {
			c.From, c.To = m.value(c.From), m.value(c.To)
		}
		out = append(out, c)
	}
	return out
}

// hidFormerly reports whether what is on the machine in an attribute may be a secret that
// an earlier run has put there, though what is wanted there now is none.
func (d declaration) hidFormerly(former journal.SensitiveAttributes, a *states.Attribute) bool {
	return a != nil && !a.Key && !isCommonplace(a) && former.Hides(d.part, a.Name)
}

// displayValue is a value as a change without a diff shows it.
func displayValue(v any) any {
	if content, ok := v.(host.Content); ok {
		return summary(content)
	}
	return v
}

// value masks secrets within a plain value.
func (m *masker) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.value(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[m.text(k)] = m.value(e)
		}
		return out
	}
	return v
}

func maskedValue(v any) any {
	if v == nil {
		return nil
	}
	return journal.Masked
}
