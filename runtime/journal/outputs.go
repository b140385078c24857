package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/tenetcm/tenet/states"
)

// outputsFile holds what a run's host hands to others, for a controller that has lost the
// connection. It may be secret, and is removed at the end of the site's next run.
const outputsFile = "outputs.json"

// KeepOutputs keeps what the run's host hands to others; it comes before Finish.
func (r *Run) KeepOutputs(outputs map[string]states.Output) error {
	if len(outputs) == 0 {
		return nil
	}
	path := r.folder.path(r.ID(), outputsFile)
	if err := r.folder.disk.remove(path); err != nil { // of the process that began the run
		return err
	}
	if err := writeJSON(r.folder.disk, path, func(e *json.Encoder, _ *bufio.Writer) error { return e.Encode(outputs) }); err != nil {
		return err
	}
	return Join(r.folder.disk.sync(path), r.folder.disk.sync(r.folder.path(r.ID())))
}

// RunOutputs gives what the host of a run handed to others at its end.
func (f *Folder) RunOutputs(id string) (outputs map[string]states.Output, err error) {
	err = f.disk.readJSON(f.path(id, outputsFile), &outputs)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return outputs, err
}

func (f *Folder) hasOutputs(id string) bool {
	_, err := os.Lstat(f.path(id, outputsFile))
	return err == nil
}
