// Package held says where an agent keeps the assignments that its host has accepted, so that whatever acts on the host can see which sites
// are the server's.
package held

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Suffix ends the names of the files.
const Suffix = ".json"

// Folder is where the assignments are, below the state folder of a host.
func Folder(stateDir string) string { return filepath.Join(stateDir, "agent", "held") }

// Name is the file of a site in that folder. It is a digest: the site is named by others.
func Name(site string) string { return trust.DigestOf([]byte(site)).String() + Suffix }

// Has tells whether the agent of a host keeps it as a site says. An absence that is held says that it no longer does.
func Has(stateDir, site string) (bool, error) {
	if site == "" {
		return false, nil
	}
	path := filepath.Join(Folder(stateDir), Name(site))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var signed trust.Signed
	var a struct { // no more than that, whatever version wrote it
		Absent bool `json:"absent"`
	}
	if err = json.Unmarshal(data, &signed); err == nil {
		err = json.Unmarshal(signed.Content, &a)
	}
	if err != nil {
		return false, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return !a.Absent, nil
}
