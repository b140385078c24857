//go:build lab

package labtest

import (
	"testing"
)

func TestStdlibMotd(t *testing.T) {
	m := boot(t)
	m.site(`
component "motd" {
  source = "std/motd"
  vars = {
    text = "Welcome."
  }
}
`)
	m.converges("component.motd.state.message.file.message")
	m.shell("test \"$(cat /etc/motd)\" = Welcome.; ls -la /opt/parcels | head -50 >&2; false")
}
