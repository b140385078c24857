package moduletest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/systemdtimer"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const systemdTimerDir = "/etc/systemd/system/"

func newSystemdTimerHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Systemd(t, h)
	fake.Unit(t, h, "other.service", "[Service]\nExecStart=/usr/bin/other\n")
	return h
}

func systemdTimerOffline(t *testing.T) host.Host {
	h := newSystemdTimerHost(t)
	if err := h.Remove("/run/systemd/system"); err != nil {
		t.Fatal(err)
	}
	return h
}

// systemdTimerMade is a host with this timer.
func systemdTimerMade(values map[string]any) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		t.Helper()
		m := systemdtimer.Module
		want, err := m.Decode(values, nil)
		if err == nil {
			err = m.Check(want)
		}
		if err == nil {
			want, err = m.Complete(t.Context(), h, want)
		}
		if err == nil {
			err = m.Write(t.Context(), h, nil, want)
		}
		if err != nil && !errors.Is(err, host.ErrUnforeseeable) {
			t.Fatal(err)
		}
	}
}

func systemdTimerHas(name string, lines ...string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		text := fake.Text(h, systemdTimerDir+name)
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s has no line %q:\n%s", name, line, text)
			}
		}
	}
}

func TestSystemdTimer(t *testing.T) {
	t.Parallel()
	plain := func() map[string]any {
		return map[string]any{"name": "job", "command": []any{"/usr/bin/job", "-x"}, "on_calendar": []any{"daily"}}
	}
	with := func(more map[string]any) map[string]any {
		values := plain()
		for name, v := range more {
			values[name] = v
			if v == nil {
				delete(values, name)
			}
		}
		return values
	}
	full := with(map[string]any{
		"command":     []any{"/usr/bin/job", "$HOME", "50%", `a"b\c`, "two words", "x\ny", "", ";"},
		"on_calendar": []any{"Mon..Fri 04:30", "*-*-01 00:00:00"}, "on_boot": "5m0s", "every": "1h0m0s", "run_as": "alice", "dir": "/srv/50%",
		"env": map[string]any{"A": "1 $X %n", "B": "\""}, "about": "Does 100 %", "persistent": true, "randomized_delay": "10m0s",
	})
	statestest.Run(t, statestest.Suite{Module: systemdtimer.Module, Host: newSystemdTimerHost,
		Hostile: full, Trusted: []string{"command"}, Cases: []statestest.Case{
			{
				Name: "create", Values: plain(), Action: states.Create, Changes: []string{"on_calendar", "command", "enabled"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					systemdTimerHas("job.timer", "OnCalendar=daily", "WantedBy=timers.target")(t, h, nil)
					systemdTimerHas("job.service", "Type=oneshot", `ExecStart=/usr/bin/job "-x"`)(t, h, nil)
					if log := fake.Text(h, fake.SystemdLog); log != "start job.timer\n" {
						t.Errorf("systemd did %q", log)
					}
				},
			}, {
				Name: "all of it", Values: full, Action: states.Create, Changes: []string{"on_calendar", "on_boot", "every", "command", "run_as", "dir", "env",
					"about", "persistent", "randomized_delay", "enabled"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					systemdTimerHas("job.timer", "Description=Does 100 %%", "OnBootSec=300000ms", "OnUnitActiveSec=3600000ms", "RandomizedDelaySec=600000ms", "Persistent=true")(t, h, nil)
					systemdTimerHas("job.service", `ExecStart=/usr/bin/job "$$HOME" "50%%" "a\"b\\c" "two words" "x\x0ay" "" ";"`, "User=alice", "WorkingDirectory=/srv/50%%",
						`Environment="A=1 $X %%n"`)(t, h, nil)
				},
			},
			{Name: "nothing to do", Prepare: systemdTimerMade(full), Values: full},
			{Name: "another time", Prepare: systemdTimerMade(full), Values: plain(), Action: states.Update, Changes: []string{"on_calendar", "command"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if log := fake.Text(h, fake.SystemdLog); log != "start job.timer\nrestart job.timer\n" {
						t.Errorf("systemd did %q", log)
					}
				}},
			{Name: "a unit", Values: with(map[string]any{"command": nil, "unit": "other.service"}), Action: states.Create, Changes: []string{"on_calendar", "unit", "enabled"},
				Check: systemdTimerHas("job.timer", "Unit=other.service")},
			{Name: "a unit instead", Prepare: systemdTimerMade(full), Values: with(map[string]any{"command": nil, "unit": "other.service"}), Action: states.Update, Changes: []string{"on_calendar", "unit"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if fake.Exists(h, systemdTimerDir+"job.service") {
						t.Error("the service is there still")
					}
				}},
			{Name: "a command instead", Prepare: systemdTimerMade(with(map[string]any{"command": nil, "unit": "other.service"})), Values: plain(), Action: states.Update, Changes: []string{"command"}},
			{Name: "not now", Prepare: systemdTimerMade(plain()), Values: with(map[string]any{"enabled": false}), Action: states.Update, Changes: []string{"enabled"}},
			{Name: "stopped by hand", Prepare: func(t *testing.T, h host.Host) {
				systemdTimerMade(plain())(t, h)
				if err := h.Remove("/run/simulated/active/job.timer"); err != nil {
					t.Fatal(err)
				}
			}, Values: plain(), Action: states.Update, Changes: []string{"enabled"}},
			{Name: "edited by hand", Prepare: func(t *testing.T, h host.Host) {
				systemdTimerMade(plain())(t, h)
				fake.Put(t, h, systemdTimerDir+"job.service", fake.Text(h, systemdTimerDir+"job.service")+"Nice=5\n", 0o644)
			}, Values: plain(), Action: states.Update, Changes: []string{"name"}, Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if strings.Contains(fake.Text(h, systemdTimerDir+"job.service"), "Nice") {
					t.Error("what was added is there still")
				}
			}},
			{Name: "an account's", Values: with(map[string]any{"user": "alice"}), Action: states.Create, Changes: []string{"on_calendar", "command", "enabled"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if log := fake.Text(h, fake.SystemdLog); log != "start job.timer of alice\n" {
						t.Errorf("systemd did %q", log)
					}
				}},
			{Name: "no such time", Prepare: refusing, Values: plain(), Fails: "on_calendar: Failed to parse calendar specification 'daily': Invalid argument"},
			{Name: "nobody", Values: with(map[string]any{"run_as": "bob"}), Fails: `run_as: there is no user "bob"`},
			{Name: "nothing to start", Values: with(map[string]any{"command": nil}), Fails: "neither command nor unit"},
			{Name: "never", Values: with(map[string]any{"on_calendar": nil}), Fails: "it is never due"},
			{Name: "a relative program", Values: with(map[string]any{"command": []any{"job"}}), Wrong: "absolute path of a program"},
			{Name: "a special program", Values: with(map[string]any{"command": []any{"-/bin/job"}}), Wrong: "absolute path of a program"},
			{Name: "a second setting", Values: with(map[string]any{"on_calendar": []any{"daily\nUnit=x.service"}}), Wrong: "no calendar expression"},
			{Name: "a second line", Values: with(map[string]any{"about": "a\n[Service]"}), Wrong: "not one line"},
			{Name: "a line that goes on", Values: with(map[string]any{"about": `a\`}), Wrong: "not one line"},
			{Name: "two ways", Values: with(map[string]any{"unit": "other.service"}), Wrong: "beside command"},
			{Name: "two spellings", Values: with(map[string]any{"name": "job.timer"}), Wrong: "not the plain name"},
			{Name: "two accounts", Values: with(map[string]any{"user": "alice", "run_as": "alice"}), Wrong: "runs as that account"},
			{Name: "no variable", Values: with(map[string]any{"env": map[string]any{"A B": "x"}}), Wrong: "no variable"},
		}})
	statestest.Run(t, statestest.Suite{Module: systemdtimer.Module, Host: systemdTimerOffline, Cases: []statestest.Case{
		{Name: "offline", Values: plain(), Action: states.Create, Changes: []string{"on_calendar", "command", "enabled"}},
		{Name: "offline, off", Prepare: systemdTimerMade(plain()), Values: with(map[string]any{"enabled": false}), Action: states.Update, Changes: []string{"enabled"}},
	}})
}

func refusing(_ *testing.T, h host.Host) {
	h.(*host.Memory).Handle("systemd-analyze", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{ExitCode: 1, Stderr: []byte("Failed to parse calendar specification '" + c.Argv[3] + "': Invalid argument\n")}, nil
	})
}

// systemdTimerCut is a host that is lost as a file is removed.
type systemdTimerCut struct {
	*host.Memory
	at string
}

func (c systemdTimerCut) Remove(name string) error {
	if name == c.at {
		return errors.New("power is lost")
	}
	return c.Memory.Remove(name)
}

// A removal that is cut short anywhere is ended by the next one.
func TestSystemdTimerRemoveCutShort(t *testing.T) {
	t.Parallel()
	values := map[string]any{"name": "job", "command": []any{"/usr/bin/job"}, "on_calendar": []any{"daily"}}
	for _, at := range []string{systemdTimerDir + "job.timer", systemdTimerDir + "job.service"} {
		h := newSystemdTimerHost(t).(*host.Memory)
		systemdTimerMade(values)(t, h)
		want, err := systemdtimer.Module.Decode(values, nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := systemdtimer.Module.Read(t.Context(), h, want)
		if err != nil || have == nil {
			t.Fatal(have, err)
		}
		if err := systemdtimer.Module.Remove(t.Context(), systemdTimerCut{h, at}, have); err == nil {
			t.Fatal("it was not cut short")
		}
		if have, err = systemdtimer.Module.Read(t.Context(), h, want); err != nil || have == nil {
			t.Fatalf("%s: what is left is not found: %v, %v", at, have, err)
		}
		if err := systemdtimer.Module.Remove(t.Context(), h, have); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"job.timer", "job.service"} {
			if fake.Exists(h, systemdTimerDir+name) {
				t.Errorf("cut short at %s, %s stays", at, name)
			}
		}
	}
}

// systemdTimerTold notes what an init system is told.
type systemdTimerTold struct {
	host.Init
	list *[]string
}

func (i systemdTimerTold) Refresh(ctx context.Context) error {
	*i.list = append(*i.list, "refresh")
	return i.Init.Refresh(ctx)
}

func (i systemdTimerTold) Do(ctx context.Context, verb host.Verb, name string) error {
	*i.list = append(*i.list, string(verb)+" "+name)
	return i.Init.Do(ctx, verb, name)
}

// telling is a host whose init system is told.
type telling struct {
	*host.Memory
	list *[]string
}

func (h telling) Init(ctx context.Context, user string) (host.Init, error) {
	i, err := h.Memory.Init(ctx, user)
	return systemdTimerTold{i, h.list}, err
}

// Files that an act has written which nobody saw end are made known to systemd.
func TestSystemdTimerRecover(t *testing.T) {
	t.Parallel()
	values := map[string]any{"name": "job", "command": []any{"/usr/bin/job"}, "on_calendar": []any{"daily"}, "enabled": true}
	var list []string
	h := telling{newSystemdTimerHost(t).(*host.Memory), &list}
	systemdTimerMade(values)(t, h.Memory)
	want, err := systemdtimer.Module.Decode(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := systemdtimer.Module.Recover(t.Context(), h, want, states.Begun{}); err != nil {
		t.Fatal(err)
	}
	if is := strings.Join(list, ", "); is != "refresh, enable job.timer, restart job.timer" {
		t.Errorf("systemd was told: %s", is)
	}
}
