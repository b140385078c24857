package runtime

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	mu       sync.Mutex
	forms    map[string]bool
	replacer atomic.Pointer[strings.Replacer] // nil: there are none
}

// newMasker collects the sensitive values of a run, in the forms in which they
// may turn up: raw, base64, hex, JSON- and URL-escaped. More are what these were
// computed from, and what results turn out to be.
func newMasker(run *states.StateRun) *masker {
	m := &masker{forms: map[string]bool{}}
	for _, s := range run.Secrets {
		addForms(m.forms, s)
	}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				part := &list[i].Parts[k]
				for _, name := range part.Sensitive {
					addForms(m.forms, part.Values[name])
				}
				for _, x := range part.Results {
					for _, secret := range x.Secrets() {
						addForms(m.forms, secret)
					}
				}
			}
		}
	}
	m.build()
	return m
}

// add hides a further value from now on.
func (m *masker) add(v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.forms)
	addForms(m.forms, v)
	if len(m.forms) > before {
		m.build()
	}
}

func (m *masker) build() {
	if len(m.forms) == 0 {
		return
	}
	// Longest first: one secret may begin another.
	sorted := slices.SortedFunc(maps.Keys(m.forms), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, form := range sorted {
		pairs = append(pairs, form, journal.Masked)
	}
	m.replacer.Store(strings.NewReplacer(pairs...))
}

func addForms(forms map[string]bool, v any) {
	switch v := v.(type) {
	case string:
		texts := []string{v, strings.TrimSpace(v)}
		for line := range strings.Lines(v) { // a program may indent them
			if line = strings.TrimSpace(line); len(line) >= minSecretLine {
				texts = append(texts, line)
			}
		}
		for _, s := range texts {
			if len(s) < minSecret {
				continue
			}
			quoted, err := json.Marshal(s)
			if err != nil {
				panic("runtime: a string is no JSON: " + err.Error())
			}
			for _, form := range append(base64Cores(s),
				s, string(quoted[1:len(quoted)-1]), url.QueryEscape(s), url.PathEscape(s),
				hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
			) {
				forms[form] = true
			}
		}
	case json.Number:
		addForms(forms, v.String())
	case []any:
		for _, e := range v {
			addForms(forms, e)
		}
	case map[string]any:
		for _, e := range v {
			addForms(forms, e)
		}
	}
}

// base64Cores gives what base64 makes of a secret within a longer text,
// wherever it begins there: the characters that do not depend on its neighbours.
func base64Cores(secret string) []string {
	var cores []string
	for offset := range 3 {
		text := append(make([]byte, offset), secret...)
		// The first characters hold bits of what is before, the last one may
		// hold bits of what follows.
		first, end := (offset*8+5)/6, len(text)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if core := encoding.EncodeToString(text)[first:end]; len(core) >= minSecret {
				cores = append(cores, core)
			}
		}
	}
	return cores
}

// text masks what a program or an error says.
func (m *masker) text(s string) string {
	if m == nil || s == "" {
		return s
	}
	if r := m.replacer.Load(); r != nil {
		return r.Replace(s)
	}
	return s
}

// changes gives the step's changes as events carry them: content as a diff,
// sensitive values masked.
func (m *masker) changes(s *step) []states.Change {
	if len(s.changes) == 0 {
		return nil
	}
	out := make([]states.Change, 0, len(s.changes))
	for _, c := range s.changes {
		attribute := s.module.Attribute(c.Attribute)
		late := c.To == states.KnownAfterApply
		if attribute != nil && attribute.Key && !late {
			continue // the event names it
		}
		if s.part.Options.Sensitive || slices.Contains(s.part.Sensitive, c.Attribute) || attribute != nil && attribute.Sensitive {
			c.From, c.To, c.Diff = hidden(c.From), hidden(c.To), ""
			out = append(out, c)
			continue
		}
		from, isContent := c.From.(host.Content)
		to, isAlso := c.To.(host.Content)
		if late {
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
			out[k] = m.value(e)
		}
		return out
	}
	return v
}

func hidden(v any) any {
	if v == nil {
		return nil
	}
	return journal.Masked
}
