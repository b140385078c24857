package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Check tells what is wrong with a machine's answer, which is a stranger's word and becomes text of state files: only what was asked for
// may be in it, and nothing but values of attributes. What lookup does not know is not compared with its module.
func Check(r machine.ImportRequest, found *machine.Import, lookup func(name string) *states.Module) error {
	if len(r.Contents) > 0 && len(found.Areas)+len(found.Omissions) > 0 {
		return errors.New("it names parts where files were asked for")
	}
	areas := map[string]bool{"site": true} // the name of another file
	for _, a := range found.Areas {
		if a == nil || !states.IsIdentifier(a.Name) || areas[a.Name] {
			return errors.New("a state has no name that can be used")
		}
		areas[a.Name] = true
	}
	parts := 0
	for _, a := range found.Areas {
		for _, address := range a.Require {
			if name, ok := cutState(address); !ok || name == "site" || !areas[name] {
				return fmt.Errorf("state %s requires %.60q, which is not there", a.Name, address)
			}
		}
		for _, p := range a.Parts {
			if parts++; p == nil || r.Type != "" && (p.Type != r.Type || parts > 1) || r.Type == "" && !slices.Contains(r.List, p.Type) {
				return fmt.Errorf("state %s has a part that was not asked for", a.Name)
			}
			if err := checkPart(r, p, lookup(p.Type)); err != nil {
				return fmt.Errorf("%s %.60q: %w", p.Type, p.Label, err)
			}
		}
	}
	return nil
}

func cutState(address string) (name string, ok bool) {
	const prefix = "state."
	if len(address) <= len(prefix) || address[:len(prefix)] != prefix {
		return "", false
	}
	return address[len(prefix):], true
}

// checkPart checks one part. The module may be nil.
func checkPart(r machine.ImportRequest, p *machine.ImportPart, m *states.Module) error {
	if p.Label == "" || !Sayable(p.Label) {
		return errors.New("it has no label that can be used")
	}
	names := map[string]bool{}
	for _, v := range p.Values {
		if !states.IsIdentifier(v.Name) || names[v.Name] {
			return fmt.Errorf("%.60q cannot be an attribute of it", v.Name)
		}
		names[v.Name] = true
		if m != nil && (m.Attribute(v.Name) == nil || m.Attribute(v.Name).Out) {
			return fmt.Errorf("%s is no attribute of it", v.Name)
		}
		if _, err := expr.Value(v.Value); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		if !isCanonical(v.Value) {
			return fmt.Errorf("%s is no value of an attribute", v.Name)
		}
	}
	if p.LabelKey != "" && (!names[p.LabelKey] || m != nil && !m.Attribute(p.LabelKey).Key) {
		return fmt.Errorf("its label gives %.60q, which is none of its keys", p.LabelKey)
	}
	if p.Copy != "" && (!r.Files || !path.IsAbs(p.Copy) || path.Clean(p.Copy) != p.Copy || !fs.ValidPath(p.Copy[1:]) || p.Size < 0) {
		return fmt.Errorf("its source cannot be the file %.60q", p.Copy)
	}
	return nil
}

// isCanonical reports whether a value is one that attributes have.
func isCanonical(v any) bool {
	switch v := v.(type) {
	case nil, string, bool, json.Number:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isCanonical(e) })
	case map[string]any:
		for _, e := range v {
			if !isCanonical(e) {
				return false
			}
		}
		return true
	}
	return false
}
