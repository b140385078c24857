package lang_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

var update = flag.Bool("update", false, "rewrite the expected declarations")

// facts are those of the tests' host.
func facts(name string) (any, error) {
	switch name {
	case "os":
		return map[string]any{"id": "debian", "family": "debian"}, nil
	case "home":
		return "/home/ada", nil
	case "cpus":
		return json.Number("2"), nil
	}
	return nil, fmt.Errorf("there is no such fact")
}

// secrets gives the values of lines NAME=VALUE.
func secrets(text string) func(string) (string, error) {
	return func(wanted string) (string, error) {
		for line := range strings.Lines(text) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name == wanted {
				return value, nil
			}
		}
		return "", fmt.Errorf("there is no secret %q", wanted)
	}
}

// archive makes a site of an archive's files. A file whose name ends in
// "@link" is a symbolic link with its text as target.
func archive(a *txtar.Archive) (fstest.MapFS, lang.Target) {
	site := fstest.MapFS{}
	target := lang.Target{Host: "web1", Facts: facts, Environment: map[string]string{}}
	for _, f := range a.Files {
		data := f.Data
		switch {
		case strings.HasPrefix(f.Name, "want."):
		case f.Name == "environment" || f.Name == "vars":
			for line := range strings.Lines(string(data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				if f.Name == "vars" {
					target.Vars = append(target.Vars, lang.Var{Name: name, Value: value})
				} else {
					target.Environment[name] = value
				}
			}
		case f.Name == "secrets" || f.Name == "secrets-hidden":
			target.Secrets, target.SecretsHidden = secrets(string(data)), f.Name == "secrets-hidden"
		case strings.HasPrefix(f.Name, "var-file/"):
			target.VarFiles = append(target.VarFiles, lang.VarFile{Name: f.Name, Data: data})
		case strings.HasSuffix(f.Name, "@link"):
			site[strings.TrimSuffix(f.Name, "@link")] = &fstest.MapFile{
				Data: bytes.TrimSpace(data), Mode: fs.ModeSymlink | 0o777}
		default:
			site[f.Name] = &fstest.MapFile{Data: data, Mode: 0o644}
		}
	}
	return site, target
}

// TestSites evaluates each site of testdata/lang. Where sources carry comments
// ### "regexp", they are the errors expected on their lines, and all there
// are; otherwise the declarations are those in want.json.
func TestSites(t *testing.T) {
	names, err := filepath.Glob("../testdata/lang/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no sites: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			site, target := archive(a)
			loaded, _ := lang.Load(site, lang.Options{Registry: registry()})
			got, list := loaded.Evaluate(context.Background(), target)
			if expected := expectations(a); len(expected) > 0 {
				checkErrors(t, list, expected)
				return
			}
			if len(list) > 0 {
				t.Fatalf("unexpected:\n%s", list.Error())
			}
			compare(t, a, name, got)
		})
	}
}

type expectation struct {
	file string
	line int
	text *regexp.Regexp
	met  bool
}

var comment = regexp.MustCompile(`### ((?:"(?:[^"\\]|\\.)*"\s*)+)$`)

// expectations finds the comments. A comment on a line of its own is about the
// line before.
func expectations(a *txtar.Archive) []*expectation {
	var all []*expectation
	for _, f := range a.Files {
		number := 0
		for line := range strings.Lines(string(f.Data)) {
			number++
			m := comment.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			at := number
			if strings.HasPrefix(strings.TrimSpace(line), "###") {
				at--
			}
			for rest := strings.TrimSpace(m[1]); rest != ""; rest = strings.TrimSpace(rest) {
				quoted, err := jsonString(&rest)
				if err != nil {
					panic(fmt.Sprintf("%s:%d: %v", f.Name, number, err))
				}
				all = append(all, &expectation{file: f.Name, line: at, text: regexp.MustCompile(quoted)})
			}
		}
	}
	return all
}

func jsonString(rest *string) (string, error) {
	d := json.NewDecoder(strings.NewReader(*rest))
	var s string
	err := d.Decode(&s)
	*rest = (*rest)[d.InputOffset():]
	return s, err
}

// checkErrors compares what is wrong with what should be: each at its line,
// and with a hint.
func checkErrors(t *testing.T, list diag.List, expected []*expectation) {
	t.Helper()
	for _, d := range list {
		i := slices.IndexFunc(expected, func(e *expectation) bool {
			return !e.met && e.file == d.Range.File && e.line == d.Range.Start.Line && e.text.MatchString(text(d))
		})
		if i < 0 {
			t.Errorf("unexpected: %s", text(d))
			continue
		}
		expected[i].met = true
		if d.Hint == "" {
			t.Errorf("no hint: %s", text(d))
		}
		if d.Range.Start.Column == 0 && d.Range.Start.Line != 0 {
			t.Errorf("no column: %s", text(d))
		}
	}
	for _, e := range expected {
		if !e.met {
			t.Errorf("%s:%d: expected %s", e.file, e.line, e.text)
		}
	}
}

// text is a diagnostic with its column, for matching: "7: summary: detail (hint)".
func text(d diag.Diagnostic) string { return d.Error() }

// compare checks declarations against want.json of the archive, or puts them
// there.
func compare(t *testing.T, a *txtar.Archive, name string, got *states.Declarations) {
	t.Helper()
	data := encode(t, got)
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want.json" })
	if *update {
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: "want.json"})
		}
		a.Files[i].Data = data
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if i < 0 {
		t.Fatalf("no want.json; got\n%s", data)
	}
	if !bytes.Equal(a.Files[i].Data, data) {
		t.Errorf("got\n%s\nwant\n%s", data, a.Files[i].Data)
	}
}

// encode writes declarations as JSON, without what is empty. Ranges are
// written as the place where they start.
func encode(t *testing.T, d any) []byte {
	t.Helper()
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(compact(plain)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// compact drops empty members, and shortens ranges to "file:line:column".
func compact(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = compact(v[i])
		}
	case map[string]any:
		if start, ok := v["start"].(map[string]any); ok {
			return fmt.Sprintf("%v:%v:%v", v["file"], start["line"], start["column"])
		}
		for key, e := range v {
			e = compact(e)
			switch e := e.(type) {
			case nil:
				delete(v, key)
				continue
			case bool:
				if !e {
					delete(v, key)
					continue
				}
			case string:
				if e == "" || e == ":0:0" {
					delete(v, key)
					continue
				}
			case json.Number:
				if e == "0" && (key == "Kind" || key == "Timeout") {
					delete(v, key)
					continue
				}
			case []any:
				if len(e) == 0 {
					delete(v, key)
					continue
				}
			case map[string]any:
				if len(e) == 0 {
					delete(v, key)
					continue
				}
			}
			v[key] = e
		}
	}
	return v
}
