package cli

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
)

// target is this machine, with the values that the command line gives.
func (s *client) target(h host.Host) (lang.Target, error) {
	t := lang.Target{Host: localhost, Environment: map[string]string{}}
	facts, err := s.facts(h)
	if err != nil {
		return t, err
	}
	t.Facts = facts.Fact
	for _, entry := range s.Environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "TENET_VAR_") {
			t.Environment[strings.TrimPrefix(name, "TENET_VAR_")] = value
		}
	}
	for _, name := range s.globals.VarFile {
		data, err := os.ReadFile(name)
		if err != nil {
			return t, usage("", "--var-file: %w", err)
		}
		t.VarFiles = append(t.VarFiles, lang.VarFile{Name: name, Data: data})
	}
	for _, entry := range s.globals.Var {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok:
			return t, usage("write --var NAME=VALUE", "--var %s: there is no value", strconv.Quote(entry))
		case name == "":
			return t, usage("write --var NAME=VALUE", "--var %s: there is no name", strconv.Quote(entry))
		}
		t.Vars = append(t.Vars, lang.Var{Name: name, Value: value})
	}
	if t.Data, err = readData(s.globals.Data); err != nil {
		return t, err
	}
	t.Former, err = readFormer(s.former)
	return t, err
}

// readFormer reads the files of --from: without a name such a file is for the only data with rules.
func readFormer(entries []string) (files []lang.DataFile, err error) {
	for _, entry := range entries {
		name, file, named := strings.Cut(entry, "=")
		if !named {
			name, file = "", entry
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, usage("name a document: --from FILE, or --from NAME=FILE", "--from: %w", err)
		}
		files = append(files, lang.DataFile{Name: name, File: file, Data: data})
	}
	return files, nil
}

// readData reads the files of --data.
func readData(entries []string) (files []lang.DataFile, err error) {
	for _, entry := range entries {
		name, file, ok := strings.Cut(entry, "=")
		if !ok || name == "" || file == "" {
			return nil, usage("write --data NAME=FILE", "--data %s: there is no name, or no file", strconv.Quote(entry))
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, usage("", "--data: %w", err)
		}
		files = append(files, lang.DataFile{Name: name, File: file, Data: data})
	}
	return files, nil
}

// facts are the machine's, or those of --facts.
func (s *client) facts(h host.Host) (*facts.Facts, error) {
	if s.globals.Facts == "" {
		return facts.New(h, nil), nil
	}
	f, err := os.Open(s.globals.Facts)
	if err != nil {
		return nil, usage("", "--facts: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.UseNumber()
	var given map[string]any
	if err := d.Decode(&given); err != nil {
		return nil, usage("", "--facts: %s is no JSON object: %w", s.globals.Facts, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, usage("", "--facts: %s holds more than one JSON value", s.globals.Facts)
	}
	return facts.New(h, given), nil
}
