package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// arguments collects NAME=VALUE pairs for a part of one module.
type arguments struct {
	module  *states.Module
	values  map[string]any
	ensure  states.Ensure
	sources fs.FS // holds the file that a source names
	home    func() (string, error)
	ctx     context.Context // reading files ends with it
}

// take adds one pair.
func (a *arguments) take(pair string) error {
	name, text, ok := strings.Cut(pair, "=")
	if !ok {
		return usage(a.hint(), "%q gives no value: write NAME=VALUE", pair)
	}
	if name == "ensure" {
		if a.ensure = states.Ensure(text); a.ensure != states.Present && a.ensure != states.Absent {
			return usage("", "ensure is present or absent, not %q", text)
		}
		return nil
	}
	attribute := a.module.Attribute(name)
	if attribute == nil || attribute.Out {
		return usage(a.suggest(name), "%s has no attribute %q that can be set", a.module.Name, name)
	}
	plain, err := a.plain(attribute, text)
	if err == nil {
		err = a.set(attribute, plain)
	}
	if err != nil {
		return a.usageError(err)
	}
	return nil
}

// set enters a value in canonical form; null is as good as not given.
func (a *arguments) set(attribute *states.Attribute, plain any) (err error) {
	if attribute.Path {
		if plain, err = expr.ExpandHome(plain, a.home); err != nil {
			return err
		}
	}
	value, err := attribute.Normalize(plain)
	if err == nil && value != nil {
		a.values[attribute.Name] = value
	}
	return err
}

// plain reads a value: a text as it stands there, anything else as a literal
// of the language if it is one.
func (a *arguments) plain(attribute *states.Attribute, text string) (any, error) {
	switch attribute.Kind {
	case states.KindString, states.KindMode, states.KindDuration, states.KindContent:
		return text, nil
	case states.KindTree:
		tree, err := a.tree(text)
		if err != nil {
			err = fmt.Errorf("%s: %w", attribute.Name, err)
		}
		return tree, err
	case states.KindSource:
		source, err := a.source(text)
		if err != nil {
			err = fmt.Errorf("%s: %w", attribute.Name, err)
		}
		return source, err
	}
	value, err := literal(text)
	if err != nil && strings.IndexAny(text, "[{") == 0 {
		return nil, fmt.Errorf("%s: %s is no list and no map: %w", attribute.Name, text, err)
	}
	if attribute.Kind == states.KindList || attribute.Kind == states.KindSet {
		if list, isList := value.([]any); isList {
			return list, nil
		}
		return []any{text}, nil // one element
	}
	if err != nil {
		return text, nil
	}
	return value, nil
}

// literal gives the plain value of an expression that needs nothing from
// outside.
func literal(text string) (any, error) {
	if err := expr.CheckNesting("", []byte(text), false, expr.DefaultMaxNesting); err != nil {
		return nil, err
	}
	x, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, errors.New(diags[0].Summary)
	}
	value, diags := x.Value(nil)
	if diags.HasErrors() {
		return nil, errors.New(diags[0].Summary)
	}
	return expr.Plain(value)
}

// source is a file of this machine in place of one of a site.
func (a *arguments) source(name string) (any, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, host.ReaderWithin(a.ctx, f))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	a.sources = root.FS()
	return map[string]any{
		"path": filepath.Base(name), "sha256": hex.EncodeToString(sum.Sum(nil)), "size": json.Number(fmt.Sprint(size)),
	}, nil
}

// tree is a directory of this machine in place of one of a site.
func (a *arguments) tree(name string) (any, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	a.sources = siteFiles(a.ctx, root)
	entries, err := states.ReadTree(a.sources, ".")
	if err != nil {
		return nil, err
	}
	return states.NewTree(".", entries).Value(), nil
}

func (a *arguments) hint() string {
	return "tenet doc " + a.module.Name + " describes the attributes"
}

// suggest names the attribute that was meant, perhaps.
func (a *arguments) suggest(name string) string {
	var names []string
	for _, attribute := range a.module.Attributes {
		if !attribute.Out {
			names = append(names, attribute.Name)
		}
	}
	if near := diag.DidYouMean(name, names); near != "" {
		return near
	}
	return a.hint()
}

// usageError makes wrong usage of a mistake in a value.
func (a *arguments) usageError(err error) error {
	return usage(cmp.Or(diag.HintOf(err), a.hint()), "%w", err)
}
