package rc2

import "strings"

// State is where a deployment or one of its components stands.
type State string

// The states.
const (
	Pending    State = "pending"
	Installing State = "installing"
	Installed  State = "installed"
	Failed     State = "failed"
	Removing   State = "removing"
	Removed    State = "removed"
)

// Status is what a manager is told of a deployment.
type Status struct {
	Deployment string            `json:"deploymentId"`
	Device     string            `json:"deviceId,omitempty"` // the one that hosts it
	Adopted    uint64            `json:"adoptedManifestVersion"`
	Overall    Overall           `json:"status"`
	Components []ComponentStatus `json:"components"`
}

// Overall is where a deployment stands as a whole.
type Overall struct {
	State State  `json:"state"`
	Error *Error `json:"error,omitempty"`
}

// ComponentStatus is where a component stands.
type ComponentStatus struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Error *Error `json:"error,omitempty"`
}

// Error is why something failed. The source is the deployment's name, the component's, or the device whose code it is.
type Error struct {
	Code    string `json:"code"`
	Source  string `json:"source"`
	Message string `json:"message"`
}

// The codes that are reserved for gateways, which the device is the source of.
const (
	CodeUnknownChild     = "101"
	CodeUnreachableChild = "102"
	CodeNoPlacement      = "103"
)

// Gravest gives the state of a deployment from those of its components. The text names removing twice and removed nowhere: what is
// gone counts least.
func Gravest(components []ComponentStatus) State {
	for _, s := range []State{Failed, Removing, Installing, Pending, Installed} {
		for _, c := range components {
			if c.State == s {
				return s
			}
		}
	}
	return Removed
}

// ErrorReserved gives the error of a gateway for a reserved code.
func ErrorReserved(code, device string) *Error {
	message := map[string]string{
		CodeUnknownChild:     "Unknown child device ID",
		CodeUnreachableChild: "Child device unreachable",
		CodeNoPlacement:      "Autonomous placement not supported",
	}[code]
	return &Error{Code: code, Source: device, Message: message}
}

// Placement tells what a device makes of the device that a deployment names: "" where it is itself, or else the reserved code.
func Placement(own, named string) string {
	switch {
	case named == own:
		return ""
	case strings.HasSuffix(named, "/*"):
		return CodeNoPlacement
	}
	return CodeUnknownChild
}
