package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// An apply that is refused because its plan does not hold leaves the unit that goes on with
// an earlier run; one that begins removes it.
func TestRefusedPlanKeepsTheUnit(t *testing.T) {
	root := t.TempDir()
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Host: h, StateDir: t.TempDir(), Registry: states.NewRegistry()}
	first, err := r.Apply(t.Context(), &machine.Job{Run: &states.StateRun{Format: states.Format, Host: "x"}}, machine.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	unit := host.Text(resumeText(first.Run, "/bin/tenet"))
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(resumeUnit)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := h.WriteFile(t.Context(), resumeUnit, unit, host.Meta{}); err != nil {
		t.Fatal(err)
	}
	var refused *machine.Error
	if err := applyNothing(t.Context(), r, []states.Event{{Address: "file.f", Type: states.EventPart, Certain: new(true), Action: states.Create}}); !errors.As(err, &refused) || refused.Code != machine.CodeStale {
		t.Fatal(err)
	}
	if _, err := host.ReadText(h, resumeUnit); err != nil {
		t.Errorf("after a refused plan: %v", err)
	}
	if err := applyNothing(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := host.ReadText(h, resumeUnit); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after an apply: %v", err)
	}
}

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
