package margo

import (
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Message is something that a device has learnt.
type Message interface{ message() }

// The messages.
type (
	// Started is the beginning of a program, or another certificate: who the device is.
	Started struct{ Client string }
	// Passed is that time has.
	Passed struct{}
	// Unchanged is the manager's answer that the device has its manifest.
	Unchanged struct{}
	// Offered is a manifest, and the digest of its bytes.
	Offered struct {
		Manifest rc2.Manifest
		Digest   rc2.Digest
	}
	// Verified is a manifest of which all documents are there and verified, by the ids of their deployments.
	Verified struct {
		Manifest  rc2.Manifest
		Digest    rc2.Digest
		Documents map[string]rc2.Deployment
	}
	// Unavailable is why there is no manifest, or not all of its documents.
	Unavailable struct{ Failure Failure }
	// Progress is where a component stands.
	Progress struct {
		Deployment, Component string
		State                 rc2.State
		Error                 *rc2.Error
	}
	// Ended is that an apply has, well or not.
	Ended struct{}
	// Taken is that the manager has a report.
	Taken struct {
		Deployment string
		Serial     uint64
	}
	// Untold is why the manager has not taken a report.
	Untold struct {
		Deployment string
		Serial     uint64
		Failure    Failure
	}
	// Described is that the manager has the capabilities.
	Described struct{ Digest rc2.Digest }
	// Undescribed is why it has not.
	Undescribed struct{ Failure Failure }
)

func (Started) message()     {}
func (Passed) message()      {}
func (Unchanged) message()   {}
func (Offered) message()     {}
func (Verified) message()    {}
func (Unavailable) message() {}
func (Progress) message()    {}
func (Ended) message()       {}
func (Taken) message()       {}
func (Untold) message()      {}
func (Described) message()   {}
func (Undescribed) message() {}

// Failure is a request without the answer that was hoped for.
type Failure struct {
	Status  int           // of HTTP; 0: there was no answer
	Problem *rc2.Problem  // what the manager says of it, if it does
	After   time.Duration // the header Retry-After, which counts more than the problem; 0: none
	Reason  string
	Hint    string
}

// Action is what follows for a device.
type Action interface{ action() }

// The actions.
type (
	// Ask asks the manager for its manifest.
	Ask struct{ ETag string }
	// Fetch gets and verifies the documents of a manifest.
	Fetch struct {
		Manifest rc2.Manifest
		Digest   rc2.Digest
	}
	// Apply makes the host as the State says.
	Apply struct{}
	// Send tells the manager of a deployment.
	Send struct {
		Status rc2.Status
		Serial uint64
	}
	// Describe tells it what the device has.
	Describe struct{}
	// Tell tells people.
	Tell struct {
		Kind Kind
		Text string
		Hint string
	}
)

func (Ask) action()      {}
func (Fetch) action()    {}
func (Apply) action()    {}
func (Send) action()     {}
func (Describe) action() {}
func (Tell) action()     {}

// Kind is how grave something is that people are told.
type Kind string

// The kinds.
const (
	Notice   Kind = "notice"
	Trouble  Kind = "trouble"
	Security Kind = "security" // somebody may be trying something
)
