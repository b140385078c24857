package agent

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// attemptsName is the file that says how often applies have failed.
const attemptsName = "attempts.json"

// attempts are how often what is wanted of sites was tried since it last worked. An attempt counts before it begins: one that takes the agent, or
// the host, down with it must not be made for ever.
type attempts struct {
	folder folder
	sites  map[string]attempt
}

// attempt is what was tried of a site.
type attempt struct {
	Identity trust.Digest `json:"identity"`
	Absent   bool         `json:"absent,omitempty"`
	Count    int          `json:"count"`
}

// openAttempts reads them. Where they are damaged, counting begins anew: nothing else depends on them.
func openAttempts(in folder) (*attempts, error) {
	a := &attempts{folder: in, sites: map[string]attempt{}}
	data, err := readFile(in, attemptsName)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil && (json.Unmarshal(data, &a.sites) != nil || a.sites == nil) {
		a.sites = map[string]attempt{}
	}
	return a, err
}

// count gives how often something was tried.
func (a *attempts) count(want *control.Assigned) int {
	if was := a.sites[want.Site]; was.Identity == want.Identity && was.Absent == want.Absent {
		return was.Count
	}
	return 0
}

// set makes durable how often something was tried.
func (a *attempts) set(want *control.Assigned, count int) error {
	was := a.sites[want.Site]
	if count == 0 {
		delete(a.sites, want.Site)
	} else {
		a.sites[want.Site] = attempt{Identity: want.Identity, Absent: want.Absent, Count: count}
	}
	if a.sites[want.Site] == was {
		return nil
	}
	data, err := json.Marshal(a.sites)
	if err == nil {
		err = a.folder.Replace(attemptsName, data)
	}
	if err != nil { // the disk has what it had
		a.sites[want.Site] = was
	}
	return err
}
