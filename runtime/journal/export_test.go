package journal

import (
	"encoding/json"
	"os"
)

// SealObject gives a JSON object as a line with its digest.
func SealObject(object string) []byte {
	line, err := seal(json.RawMessage(object))
	if err != nil {
		panic(err)
	}
	return line
}

// Seal gives a line that a test has changed the digest that it should have.
func Seal(line []byte) []byte {
	return SealObject(string(line[:len(line)-sumLength-len("\n")]) + "}")
}

// LockFile is what holds a run's lock.
func (r *Run) LockFile() *os.File { return r.lock.File }

// ListsOverlay reports whether a device is an overlay by what /proc has of mounts.
var ListsOverlay = listsOverlay
