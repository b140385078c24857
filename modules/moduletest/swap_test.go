package moduletest_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/swap"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const swapTable = "UUID=1 / ext4 defaults 0 1\n/swap1 none swap sw,pri=5,nofail 0 0\n/dev/sdb1 none swap sw 0 0\n"

// swapArea is an empty swap area of this many MiB.
func swapArea(mib int) string {
	const page, signature = 4096, "SWAPSPACE2"
	return strings.Repeat("\x00", page-len(signature)) + signature + strings.Repeat("\x00", mib<<20-page)
}

func newSwapHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, "/etc/fstab", swapTable, 0o644)
	fake.Put(t, h, "/swap1", swapArea(1), 0o600)
	fake.Put(t, h, "/swap2", swapArea(1), 0o600)
	fake.Put(t, h, "/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap1 file\t\t1020\t\t0\t\t5\n/swap2 file\t\t1020\t\t0\t\t-2\n", 0o444)
	return h
}

func swapFileHas(name string, want ...string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		text := fake.Text(h, name)
		for _, line := range want {
			line, not := strings.CutPrefix(line, "!")
			if strings.Contains(text, line) == not {
				t.Errorf("%s has %q: %v\n%.300s", name, line, !not, text)
			}
		}
	}
}

func swapValues(path string, more ...any) map[string]any {
	out := map[string]any{"path": path}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func TestSwap(t *testing.T) {
	t.Parallel()
	created := []string{"size", "active", "boot"}
	statestest.Run(t, statestest.Suite{Module: swap.Module, Host: newSwapHost, Hostile: swapValues("/swap9", "size", "1M", "active", false), Cases: []statestest.Case{
		{Name: "create", Values: swapValues("/var/swap", "size", "1M"), Action: states.Create, Changes: created, Check: swapFileHas("/etc/fstab", swapTable+"/var/swap\tnone\tswap\tsw\t0\t0\n")},
		{Name: "create with priority", Values: swapValues("/var/swap", "size", "2048K", "priority", 7), Action: states.Create,
			Changes: []string{"size", "priority", "active", "boot"}, Check: swapFileHas("/etc/fstab", "/var/swap\tnone\tswap\tsw,pri=7\t0\t0\n")},
		{Name: "not now", Values: swapValues("/var/swap", "size", "1M", "active", false), Action: states.Create, Changes: created, Check: swapFileHas("/proc/swaps", "!/var/swap")},
		{Name: "not at boot", Values: swapValues("/var/swap", "size", "1M", "boot", false), Action: states.Create, Changes: created, Check: swapFileHas("/etc/fstab", "!/var/swap")},
		{Name: "left by an interrupted attempt", Values: swapValues("/var/swap", "size", "1M"), Action: states.Create, Changes: created, Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, "/var/swap", strings.Repeat("\x00", 5000), 0o600)
		}},
		{Name: "nothing to do", Values: swapValues("/swap1", "size", "1M", "priority", 5)},
		{Name: "nothing to do but be there", Values: swapValues("/swap1")},
		{Name: "at boot as well", Values: swapValues("/swap2"), Action: states.Update, Changes: []string{"boot"}, Check: swapFileHas("/etc/fstab", "/swap2\tnone\tswap\tsw\t")},
		{Name: "larger", Values: swapValues("/swap1", "size", "2M"), Action: states.Update, Changes: []string{"size"}, Check: swapFileHas("/proc/swaps", "2044")},
		{Name: "another priority", Values: swapValues("/swap1", "priority", 9), Action: states.Update, Changes: []string{"priority"},
			Check: swapFileHas("/etc/fstab", "/swap1\tnone\tswap\tsw,nofail,pri=9\t0\t0\n")},
		{Name: "another priority than in use", Values: swapValues("/swap1", "priority", 5), Action: states.Update, Changes: []string{"priority"}, Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, "/proc/swaps", "/swap1 file 1020 0 -2\n", 0o444)
		}, Check: swapFileHas("/etc/fstab", swapTable)},
		{Name: "out of use", Values: swapValues("/swap1"), Action: states.Update, Changes: []string{"active"}, Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, "/proc/swaps", "", 0o444)
		}, Check: swapFileHas("/proc/swaps", "/swap1")},
		{Name: "stop it now", Values: swapValues("/swap1", "active", false), Action: states.Update, Changes: []string{"active"}, Check: swapFileHas("/proc/swaps", "!/swap1", "/swap2")},
		{Name: "absent", Values: swapValues("/swap1"), Ensure: states.Absent, Action: states.Remove, Changes: []string{"size", "priority", "active", "boot"}, Check: swapFileHas("/etc/fstab", "!/swap1", "/dev/sdb1")},
		{Name: "absent, where the line names a file with something else", Values: swapValues("/etc/motd"), Ensure: states.Absent, Action: states.Remove, Changes: []string{"size", "active", "boot"},
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, "/etc/fstab", swapTable+"/etc/motd none swap sw 0 0\n", 0o644)
				fake.Put(t, h, "/etc/motd", "welcome\n", 0o644)
			}, Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if table := fake.Text(h, "/etc/fstab"); strings.Contains(table, "/etc/motd") || fake.Text(h, "/etc/motd") != "welcome\n" {
					t.Errorf("the file holds %q, the table %q", fake.Text(h, "/etc/motd"), table)
				}
			}},
		{Name: "absent already", Values: swapValues("/none"), Ensure: states.Absent},
		{Name: "an image of a disk, which begins with zeros", Values: swapValues("/var/disk", "size", "2M"), Fails: "holds something else than swap",
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, "/var/disk", strings.Repeat("\x00", 1<<20)+"partition"+strings.Repeat("\x00", 1<<20-9), 0o600)
			}},
		{Name: "another file", Values: swapValues("/etc/passwd", "size", "1M"), Fails: "holds something else than swap"},
		{Name: "another file, absent", Values: swapValues("/etc/passwd"), Ensure: states.Absent},
		{Name: "a directory", Values: swapValues("/etc", "size", "1M"), Fails: "is a directory"},
		{Name: "no size", Values: swapValues("/var/swap"), Fails: "size: it is required for a new file"},
		{Name: "no directory", Values: swapValues("/none/swap", "size", "1M"), Fails: "the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "no device", Values: swapValues("/dev/none"), Fails: "no device /dev/none"},
		{Name: "in a directory of another account", Values: swapValues("/srv/app/sub/swap", "size", "1M"), Fails: "the directory /srv/app belongs to the user alice", Prepare: func(t *testing.T, h host.Host) {
			fake.Dir(t, h, "/srv/app/sub", 0o755)
			fake.Alice(t, h, "/srv/app", 0o755)
		}},
		{Name: "in a directory that others write to", Values: swapValues("/srv/app/swap", "size", "1M"), Fails: "the directory /srv/app has mode 1777", Prepare: func(t *testing.T, h host.Host) {
			fake.Dir(t, h, "/srv/app", 0o777|fs.ModeSticky)
		}},
		{Name: "by a link that others could exchange", Values: swapValues("/srv/app/to/swap", "size", "1M"), Fails: "the directory /srv/app has mode 0775", Prepare: func(t *testing.T, h host.Host) {
			fake.Dir(t, h, "/srv/to", 0o755)
			fake.Link(t, h, "/srv/to", "/srv/app/to")
			if err := h.SetMeta("/srv/app/to", host.Meta{UID: new(1000)}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(h.SetMeta("/srv/to", host.Meta{UID: new(1000)}), h.SetMeta("/srv/app", host.Meta{Mode: new(fs.FileMode(0o775))})); err != nil {
				t.Fatal(err)
			}
		}},
		{Name: "in use in a directory of another account, absent", Values: swapValues("/srv/app/swap"), Ensure: states.Absent, Fails: "the directory /srv/app belongs to the user alice", Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, "/srv/app/swap", swapArea(1), 0o600)
			fake.Alice(t, h, "/srv/app", 0o755)
			fake.Put(t, h, "/proc/swaps", "/srv/app/swap file 1020 0 -2\n", 0o444)
		}},
		{Name: "an area that another account may have open", Values: swapValues("/swap2"), Action: states.Update, Changes: []string{"boot"}, Prepare: func(t *testing.T, h host.Host) {
			fake.Alice(t, h, "/swap2", 0o600)
		}, Check: func(t *testing.T, h host.Host, out map[string]any) {
			fake.HasMode("/swap2", 0, 0o600)(t, h, out)
			swapFileHas("/proc/swaps", "/swap2")(t, h, out)
		}},
		{Name: "part of a MiB", Values: swapValues("/x", "size", "1500K"), Wrong: "whole MiB"},
		{Name: "no size at all", Values: swapValues("/x", "size", "-1G"), Wrong: "is no size"},
		{Name: "too large", Values: swapValues("/x", "size", "9999999999T"), Wrong: "is no size"},
		{Name: "priority", Values: swapValues("/x", "priority", 40000), Wrong: "not between"},
		{Name: "neither", Values: swapValues("/x", "active", false, "boot", false), Wrong: "neither now nor from boot"},
	}})
}

// device is a host on which /dev/sdc1 is a device that blkid says this of.
type device struct {
	*host.Memory
}

func (d device) Lstat(path string) (host.Info, error) {
	info, err := d.Memory.Lstat(path)
	if path == "/dev/sdc1" {
		info.Kind = host.Other
	}
	return info, err
}

func TestSwapDevice(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"": "", "swap\n": "", "ext4\n": `/dev/sdc1 holds "ext4"`, "error": "blkid ended with exit status 4"} {
		m := newSwapHost(t).(*host.Memory)
		fake.Put(t, m, "/dev/sdc1", swapArea(1), 0o660)
		formatted := 0
		m.Handle("blkid", func(context.Context, host.Command) (host.Result, error) {
			switch said {
			case "":
				return host.Result{ExitCode: 2}, nil
			case "error":
				return host.Result{ExitCode: 4}, nil
			}
			return host.Result{Stdout: []byte(said)}, nil
		})
		m.Handle("mkswap", func(context.Context, host.Command) (host.Result, error) {
			formatted++
			return host.Result{}, nil
		})
		m.Handle("swapon", func(ctx context.Context, c host.Command) (host.Result, error) {
			fake.Put(t, m, "/proc/swaps", "/dev/sdc1 partition 1020 0 -2\n", 0o444)
			return host.Result{}, nil
		})
		w, err := swap.Module.Decode(swapValues("/dev/sdc1", "active", true, "boot", true), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = swap.Module.Write(t.Context(), device{m}, nil, w)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", said, err)
		}
		if (formatted == 1) != (said == "") {
			t.Errorf("%q: formatted %d times", said, formatted)
		}
		if inTable := strings.Contains(fake.Text(m, "/etc/fstab"), "/dev/sdc1"); inTable != (want == "") {
			t.Errorf("%q: it is in the table: %v", said, inTable)
		}
	}
}
