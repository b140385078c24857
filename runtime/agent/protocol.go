package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// protocolName is the file that says which version of the protocol was spoken.
const protocolName = "protocol.json"

// protocol is what that file has.
type protocol struct {
	Spoken int `json:"spoken"` // the highest version
}

// readSpoken reads the highest version of the protocol that was spoken with a server; 0: none was. A file that is damaged is an error: without it the
// agent would speak what it must not speak any more.
func readSpoken(in folder) (int, error) {
	data, err := readFile(in, protocolName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var p protocol
	if err := json.Unmarshal(data, &p); err != nil || p.Spoken < 1 {
		return 0, fmt.Errorf("%s in the folder of the agent is damaged: once it is removed, the agent begins with whatever version of the protocol its server speaks", protocolName)
	}
	return p.Spoken, nil
}

// keepSpoken makes durable which version was spoken.
func keepSpoken(in folder, version int) error {
	data, err := json.Marshal(protocol{version})
	if err != nil {
		return err
	}
	return in.Replace(protocolName, append(data, '\n'))
}

// now reads a monotonic clock.
func (a *Agent) now() time.Duration { return time.Since(a.start) }
