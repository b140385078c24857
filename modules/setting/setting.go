// Package setting is the module "setting": one value in a file of settings, of which
// all else keeps every byte.
package setting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Setting is one value in a file, wanted or observed.
type Setting struct {
	Path         string          `state:"path,key,path" doc:"Absolute path of the file."`
	Key          string          `state:"key,key" doc:"Names the value: the names on the way to it, with a dot between them: \"server.port\". A name with a dot or a quote in it stands in double quotes, as in JSON. In an INI file the first of two names is the section; in a properties file the whole is one name."`
	Value        json.RawMessage `state:"value,present" doc:"The value: a text, a number or a boolean; in JSON, YAML and TOML also a list or a map."`
	Format       *string         `state:"format,in" enum:"ini,json,yaml,toml,properties" doc:"How the file is written. If not given, its name tells: .ini, .conf, .cfg, .json, .yaml, .yml, .toml, .properties."`
	Separator    *string         `state:"separator,in" enum:" = ,=, : ,:,: , " doc:"What stands between a new key and its value in an INI or properties file; \" = \" if not given. Its sign also ends the name in a line of an INI file that has a colon before an equals sign, such as \"a:b = c\"."`
	Continuation *string         `state:"continuation,in" enum:"indent,backslash,none" doc:"What makes a line of an INI file go on with the value above it: that it stands further in (Python), a backslash at the end of the line before (systemd, git), or nothing. If not given, a line goes on either way, and where that can be read in two ways is an error."`
	Create       *bool           `state:"create,in" doc:"Creates a missing file, which otherwise is an error."`
}

const doc = `One value in a file of settings: INI, JSON (also with comments), YAML, TOML or Java's properties.

Only this value changes: comments, order, spaces and line ends of all else keep every byte, and so does a byte order mark. A missing value is put behind those that it belongs to, with the maps, tables or the section on the way to it; an existing one is replaced where it stands.

A key that is there twice, and what cannot be changed without touching anything else (a YAML alias or anchor, several documents in one file, a flow mapping of several values, a TOML table whose values stand on lines of their own, where the whole of it is to be another value) is an error; the file stays as it is. What was written is read again before it is put in place, and compared as a whole.

Texts and numbers are the same in INI and properties files. A value of several lines in an INI file is a text with newlines; the space around each line is not part of it, and comments between them stay where they are. Programs differ in what makes a line go on with the value above it, see continuation: where the difference matters and it is not given, that is an error. Comments behind a value in an INI file belong to the value, for there is no rule about them.

Absent removes the value with its key; a missing file is nothing to do.

The file must be a regular one of at most 1 MiB; a symbolic link is an error.`

const example = `setting "log level" {
  path   = "/etc/app.toml"
  key    = "log.level"
  value  = "info"
  create = true
}

setting "pull request" {
  path   = "/etc/gitconfig"
  key    = "pull.rebase"
  format = "ini"
  value  = true
  create = true
}`

// Module is the module "setting".
var Module = states.Define(states.Type[Setting]{
	Name: "setting", Doc: doc, Example: example,
	Validate: validate, Claims: claims, Read: read, Write: write, Remove: remove, Import: importSetting,
})

// format tells how the file is written; "" is not known.
func (s Setting) format() string {
	if s.Format != nil {
		return *s.Format
	}
	switch ext := strings.ToLower(strings.TrimPrefix(path.Ext(s.Path), ".")); ext {
	case "conf", "cfg":
		return "ini"
	case "yml":
		return "yaml"
	case "ini", "json", "yaml", "toml", "properties":
		return ext
	}
	return ""
}

func validate(want Setting) error {
	if err := check.Path("path", want.Path); err != nil {
		return err
	}
	format := want.format()
	if format == "" {
		return states.InvalidAttribute("format", "the file's name does not tell how it is written", `give format = "ini", "json", "yaml", "toml" or "properties"`)
	}
	names, err := want.names()
	if err != nil {
		return states.InvalidAttribute("key", err.Error(), `write names with a dot between them, and one with a dot in it in quotes: a."b.c"`)
	}
	if format == "ini" && len(names) > 2 {
		return states.InvalidAttribute("key", "an INI file has a section and a name, and nothing below", `write a section with a dot in quotes: "a.b".name`)
	}
	for _, name := range names {
		if err := checkName(format, name); err != nil {
			return states.InvalidAttribute("key", err.Error(), "")
		}
	}
	if section, name := split(names); format == "ini" && !want.iniDialect().holds(section, name) {
		return states.InvalidAttribute("key", fmt.Sprintf("%q cannot be a section and a name in an INI file", want.Key), "a name is not empty, begins with none of # ; [ and has no separator in it")
	}
	if want.Value == nil {
		return nil
	}
	value, err := decodeJSON(want.Value)
	if err == nil {
		err = checkValue(format, value)
	}
	if err != nil {
		return states.InvalidAttribute("value", err.Error(), "")
	}
	return nil
}

// names takes the key apart.
func (s Setting) names() ([]string, error) {
	if s.format() == "properties" {
		return []string{s.Key}, nil
	}
	var names []string
	rest := s.Key
	for {
		name, tail := rest, ""
		if strings.HasPrefix(rest, `"`) {
			d := json.NewDecoder(strings.NewReader(rest))
			if err := d.Decode(&name); err != nil {
				return nil, fmt.Errorf("%q has a name with a quote that does not end", s.Key)
			}
			tail = rest[d.InputOffset():]
			if tail != "" && tail[0] != '.' {
				return nil, fmt.Errorf("%q has something behind a quote", s.Key)
			}
		} else if i := strings.IndexByte(rest, '.'); i >= 0 {
			name, tail = rest[:i], rest[i:]
		}
		if name == "" {
			return nil, fmt.Errorf("%q has an empty name", s.Key)
		}
		names = append(names, name)
		if tail == "" {
			return names, nil
		}
		rest = tail[1:]
	}
}

// document is a file of settings.
type document interface {
	// get gives the value at the names, as plain data.
	get(names []string) (value any, found bool, err error)
	// set gives the text with another value at the names, which checkValue accepts.
	set(names []string, value any) (string, error)
	// remove gives the text without the value, which is there.
	remove(names []string) (string, error)
}

// parse reads a file of settings.
func (s Setting) parse(text string) (document, error) {
	switch s.format() {
	case "json":
		return parseJSON(text)
	case "yaml":
		return parseYAML(text)
	case "toml":
		return parseTOML(text)
	case "properties":
		return parseProperties(text, s.separator()), nil
	}
	return parseINI(text, s.iniDialect()), nil
}

func (s Setting) separator() string {
	if s.Separator != nil {
		return *s.Separator
	}
	return " = "
}

// settingsFile is a file of settings, and where the value is in it.
type settingsFile struct {
	document
	names []string
	mark  string // the byte order mark that it begins with
}

// load reads the file. A missing one is an error that wraps fs.ErrNotExist.
func (s Setting) load(h host.Reader) (*settingsFile, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	l := &settingsFile{names: names}
	text, _, err := lines.Whole(h, s.Path)
	if err != nil {
		return l, err
	}
	// Java takes the mark of a properties file for a part of the first name.
	if s.format() != "properties" && strings.HasPrefix(text, lines.ByteOrderMark) {
		l.mark, text = lines.ByteOrderMark, text[len(lines.ByteOrderMark):]
	}
	if l.document, err = s.parse(text); err != nil {
		return nil, fmt.Errorf("%s is no %s file: %w", s.Path, s.format(), err)
	}
	return l, nil
}

// save writes the new text of a file.
func (s Setting) save(ctx context.Context, h host.Host, l *settingsFile, text string) error {
	return lines.Parse(l.mark+text).Save(ctx, h, s.Path, host.Meta{})
}

func read(_ context.Context, h host.Host, want Setting) (*Setting, error) {
	d, err := want.load(h)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value, found, err := d.get(d.names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want.Path, err)
	}
	if !found {
		return nil, nil
	}
	if want.Value != nil {
		wanted, err := decodeJSON(want.Value)
		if err != nil {
			return nil, err
		}
		if isSame(value, wanted) {
			return &want, nil
		}
	}
	have := want
	have.Value, err = json.Marshal(value)
	return &have, err
}

func write(ctx context.Context, h host.Host, _ *Setting, want Setting) error {
	d, err := want.load(h)
	switch create := want.Create != nil && *want.Create; {
	case errors.Is(err, fs.ErrNotExist) && create:
		d.document, err = want.parse("")
	case errors.Is(err, fs.ErrNotExist):
		return lines.MissingError(want.Path, err)
	}
	if err != nil {
		return err
	}
	value, err := decodeJSON(want.Value)
	if err != nil {
		return err
	}
	text, err := d.set(d.names, value)
	if err == nil {
		err = want.verify(text, d.names, value, true)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", want.Path, err)
	}
	return want.save(ctx, h, d, text)
}

func remove(ctx context.Context, h host.Host, have Setting) error {
	d, err := have.load(h)
	if err != nil {
		return err
	}
	text, err := d.remove(d.names)
	if err == nil {
		err = have.verify(text, d.names, nil, false)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", have.Path, err)
	}
	return have.save(ctx, h, d, text)
}

// verify reads a new text as the file will be read.
func (s Setting) verify(text string, names []string, value any, there bool) error {
	if len(text) > host.InlineLimit {
		return fmt.Errorf("it would have %d bytes, more than the %d in which single settings are changed", len(text), host.InlineLimit)
	}
	d, err := s.parse(text)
	if err != nil {
		return fmt.Errorf("the value cannot be put there: %w", err)
	}
	is, found, err := d.get(names)
	if err == nil && (found != there || there && !isSame(is, value)) {
		err = errors.New("the value cannot be put there without touching anything else")
	}
	return err
}

// importSetting tries the ways in which the file may be written, as its name does not
// always tell.
func importSetting(ctx context.Context, h host.Host, key Setting) (*Setting, error) {
	if key.format() == "" {
		key.Format = new("ini")
	}
	return read(ctx, h, key)
}

// claims says what a part takes for granted of a file that others may write as a whole.
func claims(values map[string]any, absent bool) []states.Claim {
	if absent {
		return nil
	}
	file, _ := values["path"].(string)
	key, _ := values["key"].(string)
	list := claim.Piece(file, "", "that a value of "+key)
	for i := range list {
		list[i].Holds = func(text string) bool { return hasValue(values, text) }
	}
	return list
}

// hasValue reports whether a text in the format of a part's file has its value. What is
// no such text has none.
func hasValue(values map[string]any, text string) bool {
	raw, err := json.Marshal(values["value"])
	if err != nil || values["value"] == nil {
		return false
	}
	var s Setting
	s.Path, _ = values["path"].(string)
	s.Key, _ = values["key"].(string)
	if format, ok := values["format"].(string); ok {
		s.Format = &format
	}
	names, err := s.names()
	if err != nil {
		return false
	}
	d, err := s.parse(text)
	if err != nil {
		return false
	}
	is, found, err := d.get(names)
	if err != nil || !found {
		return false
	}
	wanted, err := decodeJSON(raw)
	return err == nil && isSame(is, wanted)
}
