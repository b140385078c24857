package managertest

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// quiet takes what a server says of connections that devices have refused.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// takeStatus takes a status, and looks whether it is as the specification wants it.
func (m *Manager) takeStatus(w http.ResponseWriter, r *http.Request, deployment string) {
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var s rc2.Status
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(&s)
	}
	if err != nil {
		m.t.Errorf("a status is no JSON of its form: %v\n%s", err, data)
	}
	if complaint := complain(s, deployment); complaint != "" {
		m.t.Errorf("a status is wrong: %s\n%s", complaint, data)
	}
	m.statuses = append(m.statuses, s)
	w.WriteHeader(http.StatusCreated)
}

func complain(s rc2.Status, deployment string) string {
	switch {
	case s.Deployment != deployment:
		return "it is of another deployment than its path says"
	case s.Adopted == 0:
		return "it has no adoptedManifestVersion"
	case len(s.Components) == 0:
		return "it has no components"
	case s.Overall.State != rc2.Gravest(s.Components):
		return "its state is not the gravest of its components"
	case s.Overall.State == rc2.Failed && s.Overall.Error == nil:
		return "it failed without an error"
	case s.Overall.Error != nil && !isWhole(s.Overall.Error):
		return "its error is not whole"
	}
	for _, c := range s.Components {
		switch {
		case c.Error != nil && !isWhole(c.Error):
			return "the error of " + c.Name + " is not whole"
		case (c.State == rc2.Failed) != (c.Error != nil):
			return c.Name + " has an error where it did not fail, or failed without one"
		case c.Error != nil && len(c.Error.Code) == 3 && c.Error.Source != DeviceID:
			return "a reserved code is not the gateway's"
		case c.Error != nil && len(c.Error.Code) != 3 && c.Error.Source != c.Name:
			return "the error of " + c.Name + " comes from " + c.Error.Source
		}
	}
	return ""
}

func isWhole(e *rc2.Error) bool { return e.Code != "" && e.Source != "" && e.Message != "" }

func (m *Manager) takeCapabilities(w http.ResponseWriter, r *http.Request, device string) {
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	switch {
	case err != nil:
		m.t.Error(err)
	case r.Method == http.MethodDelete:
		delete(m.capabilities, device)
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method != http.MethodPut:
		m.t.Errorf("capabilities by %s", r.Method)
	}
	c, err := rc2.ReadCapabilities("capabilities.json", data)
	if err != nil {
		m.t.Errorf("capabilities are wrong: %v", err)
	} else if !strings.HasPrefix(device, c.Device) {
		m.t.Errorf("the capabilities of %s are sent for %s", c.Device, device)
	}
	m.capabilities[device] = data
	w.WriteHeader(http.StatusCreated)
}
