package runner

import "testing"

// What systemd would read as something else is quoted.
func TestResumeUnitQuotes(t *testing.T) {
	const want = `# This machine was started anew by tenet. This unit goes on with run 00000001-abcdef,
# and is removed as the first thing then.
[Unit]
Description=tenet goes on with run 00000001-abcdef
Wants=network-online.target
After=network-online.target

[Service]
Type=simple
ExecStart="/opt/a b/tenet" "--state-dir" "/x\"y\\z%%n$$HOME\n"
Environment=HOME=/root
KillMode=process

[Install]
WantedBy=multi-user.target
`
	if got := resumeText("00000001-abcdef", "/opt/a b/tenet", "--state-dir", "/x\"y\\z%n$HOME\n"); got != want {
		t.Errorf("%s", got)
	}
}
