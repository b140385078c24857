package conformance

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

// A module under test can do what it can do on the host itself.
func TestWatchedCapabilities(t *testing.T) {
	hosttest.Capabilities(t, func(t *testing.T, h host.Host) host.Host { return &watched{Host: h, t: t} })
}
