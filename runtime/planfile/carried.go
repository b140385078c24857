package planfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tenetcm/tenet/states"
)

// Sources lists the files and the directories of the site that parts name, each once,
// in the order in which they are named first.
func Sources(run *states.StateRun, registry *states.Registry) (files []states.Source, trees []states.Tree) {
	seen := map[string]bool{}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				part := &list[i].Parts[k]
				module := registry.ModuleOf(part.Type)
				if module == nil {
					continue
				}
				for _, a := range module.Attributes {
					value, ok := part.Values[a.Name].(map[string]any)
					if !ok || !a.Kind.FromSite() {
						continue
					}
					s := sourceOf(value)
					key := fmt.Sprint(a.Kind == states.KindTree, s.Path)
					switch {
					case seen[key]:
					case a.Kind == states.KindTree:
						trees = append(trees, states.Tree{Path: s.Path, SHA256: s.SHA256})
					default:
						files = append(files, s)
					}
					seen[key] = true
				}
			}
		}
	}
	return files, trees
}

// sourceOf reads what the canonical values of files and of trees have in common.
func sourceOf(value map[string]any) (s states.Source) {
	s.Path, _ = value["path"].(string)
	s.SHA256, _ = value["sha256"].(string)
	number, _ := value["size"].(json.Number)
	s.Size, _ = number.Int64() // of what is no number, 0: then the file has another size
	return s
}

// Lossless reports a text that JSON would change: one that is no UTF-8.
func Lossless(run *states.StateRun) error {
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				part := &list[i].Parts[k]
				for _, name := range slices.Sorted(maps.Keys(part.Values)) {
					if !isText(part.Values[name]) {
						return fmt.Errorf("%s: the attribute %s is no UTF-8 text, and cannot be carried elsewhere; name a file of the site as its source", part.Address, name)
					}
				}
			}
		}
	}
	return nil
}

func isText(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isText(e) })
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !isText(e) {
				return false
			}
		}
	}
	return true
}
