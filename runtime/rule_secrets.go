package runtime

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// What is sensitive in data, and in what rules retrieve. It is compared, and the states get it as a sensitive value; whoever reads
// of a difference sees "(sensitive)", and what is remembered of it is its digest.

// digestKey gives the key of digests. A plan where there is none takes one of its own: nothing is remembered by another.
func (e *engine) digestKey() ([]byte, error) {
	e.documents.keyMu.Lock()
	defer e.documents.keyMu.Unlock()
	var err error
	switch {
	case e.documents.key != nil:
	case e.options.Past != nil && e.options.Past.DigestKey != nil:
		e.documents.key = e.options.Past.DigestKey
	case e.options.Journal != nil && !e.planning():
		e.documents.key, err = e.options.Journal.DigestKey()
	default:
		e.documents.key = make([]byte, 32)
		rand.Read(e.documents.key)
	}
	return e.documents.key, err
}

// digest gives the secrets of a document their digests.
func (e *engine) digest(d *document) error {
	if !slices.ContainsFunc(d.wanted, func(n *rules.Node) bool { return rules.HasSecret(n.Hit.Node) || rules.HasSecret(n.Hit.Around) }) && !rules.HasSecret(d.rest) {
		return nil
	}
	key, err := e.digestKey()
	for _, n := range d.wanted {
		err = cmp.Or(err, e.digestNode(n))
	}
	d.rest = rules.Digested(d.rest, key)
	return err
}

func (e *engine) digestNode(n *rules.Node) error {
	key, err := e.digestKey()
	if err == nil {
		n.Hit.Node, n.Content, n.Hit.Around = rules.Digested(n.Hit.Node, key), rules.Digested(n.Content, key), rules.Digested(n.Hit.Around, key)
	}
	return err
}

// remember gives what is recorded of a node.
func remember(s rules.Stored) (json.RawMessage, error) {
	s.Node, s.Content, s.Parent = rules.Remembered(s.Node), rules.Remembered(s.Content), rules.Remembered(s.Parent)
	return plainjson.Marshal(s)
}

// isRememberedAs reports whether what is remembered of a node is what would be recorded of it now: as it is, and with its secrets where they are.
func isRememberedAs(last, now rules.Stored) bool {
	return sameOpenly(last.Node, now.Node) && sameOpenly(last.Content, now.Content)
}

func sameOpenly(a, b any) bool {
	isSecret := func(rules.Secret) any { return []any{"secret"} }
	return rules.Same(a, b) && rules.Same(rules.EachSecret(a, isSecret), rules.EachSecret(b, isSecret))
}

// forStates gives what states may know of a difference: secrets of which only the digest is known are null.
func forStates(d states.Differing) states.Differing {
	known := func(v any) any {
		return rules.EachSecret(v, func(s rules.Secret) any {
			if s.Value == nil {
				return nil
			}
			return s
		})
	}
	d.Old, d.Around = known(d.Old), known(d.Around)
	if diff, ok := d.Diff.([]rules.Difference); ok {
		diff = slices.Clone(diff)
		for i := range diff {
			diff[i].Old, diff[i].New = known(diff[i].Old), known(diff[i].New)
		}
		d.Diff = diff
	}
	return d
}

// hideRetrieved makes secrets of what is there where the wanted node has one, or what is remembered of it, where a secret of the run is in a text, and, if all that is
// retrieved is sensitive, of every text and number.
func (e *engine) hideRetrieved(s *step, n, wanted *rules.Node, last *rules.Stored) error {
	if key := n.Hit.Name; e.recorder.mask.text(key) != key {
		return &diag.HintError{Message: "a secret is in what tells a node apart that is retrieved, and that is shown", Hint: "select by another field"}
	}
	all := slices.Contains(s.part.Sensitive, "retrieved")
	var node, around any
	if wanted != nil {
		node, around = wanted.Hit.Node, wanted.Hit.Around
	}
	n.Hit.Node, n.Content, n.Hit.Around = e.hideLike(n.Hit.Node, node, all), e.hideLike(n.Content, node, all), e.hideLike(n.Hit.Around, around, all)
	n.Hit.Node, n.Content, n.Hit.Around = e.hideLike(n.Hit.Node, last.Node, false), e.hideLike(n.Content, last.Node, false), e.hideLike(n.Hit.Around, last.Parent, false)
	if !rules.HasSecret(n.Hit.Node) && !rules.HasSecret(n.Hit.Around) {
		return nil
	}
	return e.digestNode(n)
}

func (e *engine) hideLike(v, like any, all bool) any {
	if _, secret := like.(rules.Secret); secret && v != nil {
		if s, already := v.(rules.Secret); already {
			return s
		}
		return rules.Secret{Value: v}
	}
	switch v := v.(type) {
	case rules.Secret:
		return v
	case map[string]any:
		fields, _ := like.(map[string]any)
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = e.hideLike(field, fields[name], all)
		}
		return out
	case []any:
		list, _ := like.([]any)
		var one any // whatever its place
		for _, x := range list {
			if rules.HasSecret(x) {
				one = x
			}
		}
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = e.hideLike(x, one, all)
		}
		return out
	case nil:
		return nil
	case string:
		if e.recorder.mask.text(v) != v {
			return rules.Secret{Value: v}
		}
	}
	if all {
		return rules.Secret{Value: v}
	}
	return v
}

// secretsOf gives the secrets of a comparison's attribute, which its other values stand beside.
func secretsOf(v any) (list []any) {
	rules.EachSecret(rules.Open(v), func(s rules.Secret) any {
		list = append(list, s.Value)
		return s
	})
	return list
}

// nodesValue gives what a comparison has found as a value, with its secrets as sensitive ones.
func nodesValue(plain any) (cty.Value, error) {
	return expr.ValueWith(rules.Open(plain), rules.Opened, func(v cty.Value) cty.Value { return v.Mark(expr.Sensitive) })
}
