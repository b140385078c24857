package states_test

import (
	"context"
	"io/fs"
	"maps"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// A mode that a part does not give stays, but for the rights that whoever made the file
// could keep by it, once the file is somebody else's or holds something else.
func TestInheritedMode(t *testing.T) {
	type fileState struct {
		Path    string        `state:"path,key,path" doc:"Path."`
		Content *host.Content `state:"content" doc:"Content."`
		Owner   *string       `state:"owner,of_user" doc:"Owner."`
		Group   *string       `state:"group,of_group" doc:"Group."`
		Mode    *fs.FileMode  `state:"mode" doc:"Mode."`
		Inside  *fs.FileMode  `state:"inside,of_directory" doc:"Mode of a directory."`
		Backup  *bool         `state:"backup,in" doc:"How."`
	}
	schema, values := modulesOf[fileState](t)
	for name, c := range map[string]struct {
		have, want map[string]any
		mode       string
	}{
		"nothing changes":         {map[string]any{"owner": "alice", "mode": "6777"}, map[string]any{"owner": "alice", "backup": true}, "6777"},
		"nothing is asked for":    {map[string]any{"owner": "alice", "mode": "6777"}, map[string]any{}, "6777"},
		"content":                 {map[string]any{"content": "a", "mode": "6755"}, map[string]any{"content": "b"}, "0755"},
		"group":                   {map[string]any{"group": "alice", "mode": "6775"}, map[string]any{"group": "root"}, "0775"},
		"owner who was root":      {map[string]any{"owner": "root", "mode": "4664"}, map[string]any{"owner": "alice"}, "0664"},
		"owner who was the zero":  {map[string]any{"owner": "0", "mode": "4664"}, map[string]any{"owner": "alice"}, "0664"},
		"owner who was another":   {map[string]any{"owner": "alice", "mode": "4777"}, map[string]any{"owner": "root"}, "0755"},
		"owner of a secret":       {map[string]any{"owner": "alice", "mode": "0600"}, map[string]any{"owner": "root"}, "0600"},
		"mode given":              {map[string]any{"owner": "alice", "mode": "0644"}, map[string]any{"owner": "root", "mode": "4777"}, "4777"},
		"no mode was seen":        {map[string]any{"owner": "alice"}, map[string]any{"owner": "root"}, ""},
		"owner of what is absent": {nil, map[string]any{"owner": "root"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range []*states.Module{schema, values} {
				filled := m.Encode(m.Fill(resourceAt(t, m, c.have), resourceAt(t, m, c.want)))
				if mode, _ := filled["mode"].(string); mode != c.mode {
					t.Errorf("%s: mode %q, want %q", m.Schema.Type, mode, c.mode)
				}
			}
		})
	}
	have := map[string]any{"owner": "alice", "inside": "6777"}
	if inside := schema.Encode(schema.Fill(resourceAt(t, schema, have), resourceAt(t, schema, map[string]any{"owner": "root"})))["inside"]; inside != "6777" {
		t.Errorf("the mode of a directory becomes %v", inside)
	}
}

// modulesOf makes a module of a struct, and one of Values with its schema.
func modulesOf[T any](t *testing.T) (structs, values *states.Module) {
	t.Helper()
	structs = states.Define(states.Type[T]{
		Name: "thing", Doc: "Doc.", NoAbsent: "test",
		Read:  func(context.Context, host.Host, T) (*T, error) { return nil, nil },
		Write: func(context.Context, host.Host, *T, T) error { return nil },
	})
	values, err := states.DefineValues(states.ValuesType{
		Schema: structs.Schema,
		Read:   func(context.Context, host.Host, states.Values) (states.Values, error) { return nil, nil },
		Write:  func(context.Context, host.Host, states.Values, states.Values) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return structs, values
}

// resourceAt makes a resource of values for one path; nil stays nil.
func resourceAt(t *testing.T, m *states.Module, values map[string]any) any {
	t.Helper()
	if values == nil {
		return nil
	}
	all := map[string]any{"path": "/srv/a"}
	maps.Copy(all, values)
	r, err := m.Decode(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
