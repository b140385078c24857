// Package settings keeps entries in directories such as /etc/sysctl.d, whose files
// are read in the order of their names, so that a later one overrides.
package settings

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
)

// Kind says how one kind of settings is kept.
type Kind struct {
	Dir   string   // the host's own files, whose names end in .conf
	Brand []string // directories of what packages bring, from the weakest on
	First string   // a file that is read before all others; empty: none
	Last  string   // a file that is read after all others; empty: none
	// Parse reads a line. What sets nothing has no key.
	Parse func(line string) (key, value string)
}

// Setting is what one line sets.
type Setting struct{ File, Key, Value string }

// Own lists what the host's own files set, in the order in which they are read.
// An empty key is any.
func (k Kind) Own(h host.Reader, key string) ([]Setting, error) {
	return k.read(h, key, []string{k.Dir})
}

// read lists the settings of files in these directories and of First and Last. Of
// one name only the file in the last directory counts.
func (k Kind) read(h host.Reader, key string, dirs []string) ([]Setting, error) {
	files := map[string]string{}
	for _, dir := range dirs {
		entries, err := h.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			// A link is the distribution's, to First or Last.
			if strings.HasSuffix(e.Name, ".conf") && e.Kind == host.Regular {
				files[e.Name] = path.Join(dir, e.Name)
			}
		}
	}
	order := []string{k.First}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		order = append(order, files[name])
	}
	var all []Setting
	for _, file := range append(order, k.Last) {
		if file == "" {
			continue
		}
		t, err := lines.LoadIfThere(h, file)
		if err != nil {
			return nil, err
		}
		for _, r := range t {
			if is, value := k.Parse(r.Line); is != "" && (key == "" || is == key) {
				all = append(all, Setting{file, is, value})
			}
		}
	}
	return all, nil
}

// Pick gives the one that counts: that of the wanted file or, where it has none or
// none is wanted, the last.
func Pick(all []Setting, file *string) Setting {
	for _, s := range slices.Backward(all) {
		if file != nil && s.File == *file {
			return s
		}
	}
	return all[len(all)-1]
}

// Overrides gives the setting of the key that is read after all those in a file,
// if there is one.
func (k Kind) Overrides(h host.Reader, key, file string) (Setting, bool, error) {
	all, err := k.read(h, key, append(slices.Clone(k.Brand), k.Dir))
	if err != nil || len(all) == 0 || file == k.Last {
		return Setting{}, false, err
	}
	s := all[len(all)-1]
	later := s.File == k.Last || s.File != k.First && (file == k.First || path.Base(s.File) > path.Base(file))
	return s, later, nil
}

// Set makes the line the one that sets the key in a file. The file, and its
// directory, are made where they are missing.
func (k Kind) Set(ctx context.Context, h host.Host, file, key, line string) error {
	t, err := lines.LoadIfThere(h, file)
	if err != nil {
		return err
	}
	changed := t.Set(t.Find(k.sets(key)), line)
	if changed.String() == t.String() {
		return nil
	}
	if err := h.Mkdir(path.Dir(file), host.Meta{}); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return changed.Save(ctx, h, file, host.Meta{})
}

// Drop takes the key out of all files of the host's own. Those that hold nothing
// then are removed, but for First and Last.
func (k Kind) Drop(ctx context.Context, h host.Host, key string) error {
	all, err := k.Own(h, key)
	if err != nil {
		return err
	}
	for _, s := range all {
		t, err := lines.Load(h, s.File)
		if err != nil {
			return err
		}
		rows := t.Find(k.sets(key))
		if len(rows) == 0 {
			continue // it was set there twice
		}
		t = t.Without(rows, -1)
		if s.File == k.First || s.File == k.Last {
			err = t.Save(ctx, h, s.File, host.Meta{})
		} else {
			err = t.SaveOrRemove(ctx, h, s.File)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k Kind) sets(key string) func(string) bool {
	return func(line string) bool { is, _ := k.Parse(line); return is == key }
}

// Keys lists what the host's own files set, each once.
func (k Kind) Keys(h host.Reader) ([]string, error) {
	all, err := k.Own(h, "")
	var keys []string
	for _, s := range all {
		if !slices.Contains(keys, s.Key) {
			keys = append(keys, s.Key)
		}
	}
	return keys, err
}

// InDir reports whether a file is one of those that are read: First, Last, or one
// of the directory's, with a plain name.
func (k Kind) InDir(file string, plain func(name string) bool) bool {
	if file == k.First || file == k.Last {
		return file != ""
	}
	name, found := strings.CutPrefix(file, k.Dir+"/")
	name, conf := strings.CutSuffix(name, ".conf")
	return found && conf && plain(name)
}
