package journal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/states"
)

// StateRun reads what a run was to do; sensitive values are Masked.
func (f *Folder) StateRun(id string) (*states.StateRun, error) {
	id, err := f.find(id)
	if err != nil {
		return nil, err
	}
	var run states.StateRun
	if err := readJSON(f.path(id, "run.json"), &run); err != nil {
		return nil, fmt.Errorf("what run %s was to do cannot be read: %w", id, err)
	}
	if run.Format != states.Format {
		return nil, fmt.Errorf("run %s has the format %q, and this program knows %q: use the version of tenet that wrote it", id, run.Format, states.Format)
	}
	return &run, nil
}

// readJSON reads a file of one JSON value; numbers stay as they are written.
func readJSON(path string, v any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	d := json.NewDecoder(bufio.NewReader(file))
	d.UseNumber()
	return d.Decode(v)
}
