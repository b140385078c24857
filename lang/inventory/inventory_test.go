package inventory_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/lang/inventory"
)

// ask lets Ansible, which must be there, say again what it makes of the inventories.
var ask = flag.Bool("ansible", false, "ask ansible-inventory about the inventories of testdata")

// known is what Ansible says of an inventory: values and groups of each host.
type known struct {
	Vars   map[string]map[string]any `json:"vars"`
	Groups map[string][]string       `json:"groups"`
}

// TestAnsible demands of each inventory what Ansible makes of it: the file
// "ansible.json" of the archive, which -ansible writes.
func TestAnsible(t *testing.T) {
	names, err := filepath.Glob("../../testdata/lang/inventories/*.txtar")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d inventories, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, want := fstest.MapFS{}, known{}
			for _, f := range a.Files {
				if f.Name != "ansible.json" {
					files[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
				} else if err := json.Unmarshal(f.Data, &want); err != nil {
					t.Fatal(err)
				}
			}
			of := top(a.Files[0].Name)
			if *ask {
				want = askAnsible(t, files, of)
				save(t, a, name, want)
			}
			inv, list := inventory.Read(files, of)
			if len(list) > 0 {
				t.Errorf("it says: %v", list)
			}
			got, _ := json.MarshalIndent(of2(inv), "", "  ")
			expected, _ := json.MarshalIndent(want, "", "  ")
			if !bytes.Equal(got, expected) || len(want.Vars) == 0 {
				t.Errorf("got:\n%s\nAnsible says:\n%s", got, expected)
			}
		})
	}
}

// top is the inventory of an archive: its first file, or the directory of that.
func top(name string) string {
	if dir, _, ok := strings.Cut(name, "/"); ok && dir == "inventory" {
		return dir
	}
	return name
}

// of2 gives what we make of an inventory in the same form.
func of2(inv *inventory.Inventory) known {
	out := known{map[string]map[string]any{}, map[string][]string{}}
	for _, h := range inv.Hosts {
		vars := map[string]any{}
		for _, l := range h.Levels {
			for _, item := range l.Items {
				vars[item.Name] = item.Value
			}
		}
		out.Vars[h.Name] = again(vars)
		out.Groups[h.Name] = slices.Sorted(slices.Values(h.Groups))
	}
	return out
}

// again takes plain data through JSON, so that numbers compare.
func again(v map[string]any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func askAnsible(t *testing.T, files fs.FS, of string) known {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ansible-inventory", "--list", "-i", of)
	if strings.HasSuffix(of, ".json") { // what a program prints
		if err := os.WriteFile(filepath.Join(dir, "print"), []byte("#!/bin/sh\ncat \"${0%/*}\"/"+of+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command("ansible-inventory", "--list", "-i", "print")
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ANSIBLE_LOCALHOST_WARNING=False")
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var said map[string]struct {
		Hosts, Children []string
		Hostvars        map[string]map[string]any
	}
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	out := known{said["_meta"].Hostvars, map[string][]string{}}
	if out.Vars == nil {
		out.Vars = map[string]map[string]any{}
	}
	var add func(group string, around []string)
	add = func(group string, around []string) {
		around = append(around, group)
		for _, h := range said[group].Hosts {
			out.Groups[h] = append(out.Groups[h], around...)
			if out.Vars[h] == nil {
				out.Vars[h] = map[string]any{}
			}
		}
		for _, child := range said[group].Children {
			add(child, slices.Clone(around))
		}
	}
	add("all", nil)
	for name, groups := range out.Groups {
		slices.Sort(groups)
		out.Groups[name] = slices.Compact(groups)
	}
	for _, vars := range out.Vars {
		maps.DeleteFunc(vars, func(name string, _ any) bool { return strings.HasPrefix(name, "ansible_") })
	}
	return out
}

func save(t *testing.T, a *txtar.Archive, name string, want known) {
	t.Helper()
	text, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "ansible.json" })
	a.Files = append(a.Files, txtar.File{Name: "ansible.json", Data: append(text, '\n')})
	if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
