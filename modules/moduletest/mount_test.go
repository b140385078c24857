package moduletest_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/mount"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const mountTable = "# static file system information\nUUID=1 / ext4 errors=remount-ro 0 1\n" +
	"/dev/sdb1  /srv/old  ext4  noatime,nofail  0 2 # data\n\ntmpfs /srv/cache tmpfs size=64m,nodev 0 0\n"

const mounts = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
	"30 22 8:17 / /srv/old rw,noatime - ext4 /dev/sdb1 rw,errors=continue\n" +
	"31 22 0:40 / /srv/cache rw,nodev,relatime - tmpfs tmpfs rw,size=65536k\n" +
	"32 22 8:1 /srv/www /var/www ro,relatime - ext4 /dev/sda1 rw\n"

func newMountHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, "/etc/fstab", mountTable, 0o644)
	fake.Put(t, h, "/proc/self/mountinfo", mounts, 0o444)
	for _, dir := range []string{"/srv/old", "/srv/cache", "/srv/www", "/srv/new", "/var/www"} {
		fake.Dir(t, h, dir, 0o755)
	}
	for _, device := range []string{"sda1", "sdb1", "sdc1"} {
		fake.Put(t, h, "/dev/"+device, "", 0o600)
	}
	fake.Link(t, h, "../../sdb1", "/dev/disk/by-uuid/77")
	fake.Link(t, h, "../../sdb1", `/dev/disk/by-label/my\x20data`)
	fake.Link(t, h, "/srv/cache", "/cache")
	return h
}

// mountLines wants lines in /etc/fstab and in the list of mounts; "!" before one: not.
func mountLines(want ...string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		all := "\n" + fake.Text(h, "/etc/fstab") + fake.Text(h, "/proc/self/mountinfo")
		for _, line := range want {
			line, not := strings.CutPrefix(line, "!")
			if strings.Contains(all, line) == not {
				t.Errorf("%q is there: %v\n%s", line, !not, all)
			}
		}
		if !strings.Contains(all, "# static file system information\nUUID=1 / ext4 errors=remount-ro 0 1\n") {
			t.Errorf("the other lines have changed: %s", all)
		}
	}
}

func mountValues(path, source string, more ...any) map[string]any {
	out := map[string]any{"path": path, "source": source}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func TestMount(t *testing.T) {
	t.Parallel()
	created := []string{"source", "options", "mounted", "boot", "dump", "pass"}
	statestest.Run(t, statestest.Suite{Module: mount.Module, Host: newMountHost,
		Hostile: mountValues("/srv/h", "tmpfs", "fstype", "tmpfs", "options", []string{"nodev"}),
		Cases: []statestest.Case{
			{
				Name: "create", Values: mountValues("/srv/new", "/dev/sdc1"), Action: states.Create, Changes: created,
				Check: mountLines("\n/dev/sdc1\t/srv/new\tauto\tdefaults\t0\t0\n", " / /srv/new rw,relatime - ext4 /dev/sdc1 rw"),
			}, {
				Name: "create below what is missing", Values: mountValues("/srv/a b/c", "tmpfs", "fstype", "tmpfs", "options", []string{"size=1m", "noexec"}, "pass", 2, "dump", 1),
				Action: states.Create, Changes: []string{"source", "fstype", "options", "mounted", "boot", "dump", "pass"},
				Check: mountLines("\ntmpfs\t/srv/a\\040b/c\ttmpfs\tsize=1m,noexec\t1\t2\n", ` / /srv/a\040b/c rw,noexec,relatime - tmpfs tmpfs rw,size=1024k`),
			}, {
				Name: "only at boot", Values: mountValues("/srv/new", "/dev/sdc1", "mounted", false), Action: states.Create, Changes: created,
				Check: mountLines("\n/dev/sdc1\t/srv/new\t", "!/srv/new rw"),
			}, {
				Name: "only now", Values: mountValues("/srv/new", "/dev/sdc1", "boot", false), Action: states.Create, Changes: created,
				Check: mountLines("!/dev/sdc1\t/srv/new", " /srv/new rw"),
			}, {
				Name: "bind", Values: mountValues("/srv/new", "/srv/www", "options", []string{"bind", "nodev"}), Action: states.Create, Changes: created,
				Check: mountLines("\n/srv/www\t/srv/new\tnone\tbind,nodev\t0\t0\n", "8:1 /srv/www /srv/new rw,nodev"),
			}, {
				Name: "a share", Values: mountValues("/srv/new", "nas:/export/x", "fstype", "nfs"), Action: states.Create,
				Changes: []string{"source", "fstype", "options", "mounted", "boot", "dump", "pass"},
				Check:   mountLines("\nnas:/export/x\t/srv/new\tnfs\tdefaults\t0\t0\n"),
			},
			{Name: "nothing to do", Values: mountValues("/srv/old", "/dev/sdb1", "fstype", "ext4", "options", []string{"noatime", "nofail"}, "pass", 2), Check: mountLines("/dev/sdb1  /srv/old  ext4  noatime,nofail  0 2 # data\n")},
			{Name: "nothing to do but the source", Values: mountValues("/srv/old", "/dev/sdb1")},
			{
				Name: "by label, and the line changes", Values: mountValues("/srv/old", "LABEL=my data"), Action: states.Update, Changes: []string{"source"},
				Check: mountLines("\nLABEL=my\\040data\t/srv/old\text4\tnoatime,nofail\t0\t2\n", " /srv/old rw,noatime - ext4 /dev/sdb1 "),
			}, {
				Name: "by UUID", Values: mountValues("/srv/old", "UUID=77"), Action: states.Update, Changes: []string{"source"},
				Check: mountLines("\nUUID=77\t/srv/old\t", " /srv/old rw,noatime - ext4 /dev/sdb1 "),
			}, {
				Name: "another device", Values: mountValues("/srv/old", "/dev/sdc1"), Action: states.Update, Changes: []string{"source"},
				Check: mountLines("\n/dev/sdc1\t/srv/old\t", " /srv/old rw,noatime - ext4 /dev/sdc1 rw", "!/dev/sdb1"),
			}, {
				Name: "other options", Values: mountValues("/srv/cache", "tmpfs", "options", []string{"size=128m", "ro"}), Action: states.Update, Changes: []string{"options"},
				Check: mountLines("\ntmpfs\t/srv/cache\ttmpfs\tsize=128m,ro\t0\t0\n", "/srv/cache ro,relatime - tmpfs tmpfs rw,size=131072k"),
			}, {
				Name: "somebody has changed it by hand", Values: mountValues("/srv/cache", "tmpfs", "options", []string{"size=64m", "nodev"}), Action: states.Update, Changes: []string{"options"},
				Prepare: func(t *testing.T, h host.Host) {
					fake.Put(t, h, "/proc/self/mountinfo", strings.Replace(mounts, "/srv/cache rw,nodev", "/srv/cache ro,nodev", 1), 0o444)
				},
				Check: mountLines("/srv/cache rw,nodev", "tmpfs /srv/cache tmpfs size=64m,nodev 0 0\n"),
			}, {
				Name: "programs are kept from it by hand", Values: mountValues("/srv/cache", "tmpfs", "options", []string{"size=64m", "nodev"}), Action: states.Update, Changes: []string{"options"},
				Prepare: func(t *testing.T, h host.Host) {
					fake.Put(t, h, "/proc/self/mountinfo", strings.Replace(mounts, "/srv/cache rw,nodev", "/srv/cache rw,nodev,noexec", 1), 0o444)
				},
				Check: mountLines("!/srv/cache rw,nodev,noexec"),
			}, {
				Name: "what keeps programs from it is gone", Values: mountValues("/srv/cache", "tmpfs", "options", []string{"size=64m", "nodev", "noexec", "nosuid", "sync"}), Action: states.Update, Changes: []string{"options"},
				Prepare: func(t *testing.T, h host.Host) {
					fake.Put(t, h, "/etc/fstab", strings.Replace(mountTable, "size=64m,nodev", "size=64m,nodev,noexec,nosuid,sync", 1), 0o644)
					fake.Put(t, h, "/proc/self/mountinfo", strings.Replace(mounts, "/srv/cache rw,nodev", "/srv/cache rw,nodev,nosuid,sync", 1), 0o444)
				},
			}, {
				Name: "the size as well", Values: mountValues("/srv/cache", "tmpfs", "options", []string{"size=64m", "nodev"}), Action: states.Update, Changes: []string{"options"},
				Prepare: func(t *testing.T, h host.Host) {
					fake.Put(t, h, "/proc/self/mountinfo", strings.Replace(mounts, "65536k", "1024k", 1), 0o444)
				},
				Check: mountLines("rw,size=65536k"),
			}, {
				Name: "somebody has unmounted it", Values: mountValues("/srv/cache", "tmpfs"), Action: states.Update, Changes: []string{"mounted"},
				Prepare: func(t *testing.T, h host.Host) {
					fake.Put(t, h, "/proc/self/mountinfo", strings.SplitAfter(mounts, "\n")[0], 0o444)
				},
				Check: mountLines("/srv/cache rw,nodev,relatime - tmpfs tmpfs rw,size=65536k"),
			},
			{Name: "a bind that is there", Values: mountValues("/var/www", "/srv/www", "options", []string{"bind", "ro"}, "boot", false)},
			{Name: "a bind that is there, for boot", Values: mountValues("/var/www", "/srv/www", "options", []string{"bind", "ro"}), Action: states.Update,
				Changes: []string{"boot"}, Check: mountLines("\n/srv/www\t/var/www\tnone\tbind,ro\t0\t0\n")},
			{Name: "another directory, bound as before", Values: mountValues("/var/www", "/srv/old"), Action: states.Update, Changes: []string{"source"}, Check: mountLines("8:17 / /var/www rw"),
				Prepare: func(t *testing.T, h host.Host) {
					fake.Put(t, h, "/etc/fstab", mountTable+"/srv/www /var/www none bind 0 0\n", 0o644)
				}},
			{Name: "a bind of something else", Values: mountValues("/var/www", "/srv/old", "options", []string{"bind", "ro"}, "boot", false), Action: states.Update,
				Changes: []string{"source"}, Check: mountLines("8:17 / /var/www ro")},
			{Name: "not now", Values: mountValues("/srv/cache", "tmpfs", "mounted", false), Action: states.Update, Changes: []string{"mounted"}, Check: mountLines("!/srv/cache rw", "tmpfs /srv/cache tmpfs")},
			{Name: "not at boot", Values: mountValues("/srv/cache", "tmpfs", "boot", false), Action: states.Update, Changes: []string{"boot"}, Check: mountLines("/srv/cache rw", "!tmpfs /srv/cache tmpfs")},
			{Name: "by a link", Values: mountValues("/cache", "tmpfs", "fstype", "tmpfs", "boot", false)},
			{Name: "absent", Values: mountValues("/srv/cache", "tmpfs"), Ensure: states.Absent, Action: states.Remove,
				Changes: []string{"source", "fstype", "options", "mounted", "boot", "dump", "pass"}, Check: mountLines("!/srv/cache")},
			{Name: "absent already", Values: mountValues("/srv/new", "tmpfs"), Ensure: states.Absent},
			{Name: "busy", Values: mountValues("/srv/cache", "tmpfs"), Ensure: states.Absent, Fails: "/srv/cache is in use by 42 (bash): umount", OnlyOnHost: true, Prepare: mountBusy},
			{Name: "busy, to be replaced", Values: mountValues("/srv/cache", "/dev/sdc1", "fstype", "ext4"), Fails: "in use by 42 (bash)", OnlyOnHost: true, Prepare: mountBusy},
			{Name: "no device", Values: mountValues("/srv/new", "/dev/none"), Fails: "this host has no device /dev/none"},
			{Name: "no device to take the place", Values: mountValues("/srv/old", "/dev/none"), Fails: "this host has no device /dev/none", Check: mountLines(" /srv/old rw,noatime - ext4 /dev/sdb1 ")},
			{Name: "no device of this UUID", Values: mountValues("/srv/new", "UUID=none"), Fails: "this host has no device with UUID=none"},
			{Name: "no device of this label to take the place", Values: mountValues("/srv/old", "LABEL=none", "fstype", "xfs"), Fails: "this host has no device with LABEL=none", Prepare: findfs(1),
				Check: mountLines(" /srv/old rw,noatime - ext4 /dev/sdb1 ")},
			{Name: "a label that no link names", Values: mountValues("/srv/new", "LABEL=none"), Action: states.Create, Changes: created, Prepare: findfs(0)},
			{Name: "a label that nobody can ask for", Values: mountValues("/srv/new", "LABEL=none"), Action: states.Create, Changes: created,
				Prepare: func(t *testing.T, h host.Host) {
					dropMount(t, h, "/dev/disk/by-uuid/77", `/dev/disk/by-label/my\x20data`, "/dev/disk/by-uuid", "/dev/disk/by-label", "/dev/disk")
				}},
			{Name: "no device, for boot alone", Values: mountValues("/srv/new", "UUID=none", "mounted", false), Action: states.Create, Changes: created},
			{Name: "no image", Values: mountValues("/srv/new", "/none.img", "options", []string{"loop"}), Fails: "this host has no file /none.img"},
			{Name: "nothing that mounts shares", Values: mountValues("/srv/new", "nas:/x", "fstype", "nfs4"), Fails: "this host has no mount.nfs", Prepare: noHelpers},
			{Name: "a share of Windows", Values: mountValues("/srv/new", "//nas/x", "fstype", "cifs"), Fails: "this host has no mount.cifs", Prepare: noHelpers},
			{Name: "a share by the kernel alone", Values: mountValues("/srv/new", "nas:/x", "fstype", "nfs4", "options", []string{"addr=192.0.2.1"}), Action: states.Create,
				Changes: []string{"source", "fstype", "options", "mounted", "boot", "dump", "pass"}, Prepare: noHelpers},
			{Name: "nothing to bind", Values: mountValues("/srv/new", "/none", "options", []string{"bind"}), Fails: "/none"},
			{Name: "bind of a word", Values: mountValues("/srv/new", "x", "options", []string{"bind"}), Fails: "cannot be bound"},
			{Name: "on a file", Values: mountValues("/etc/passwd", "/dev/sdc1"), Fails: "/etc/passwd is a file, not a directory"},
			{Name: "two lines", Values: mountValues("/srv/new", "a"), Fails: "/etc/fstab has 2 lines for /srv/new", Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, "/etc/fstab", "a /srv/new auto\nb /srv/new auto\n", 0o644)
			}},
			{Name: "no list of mounts", Values: mountValues("/srv/new", "/dev/sdc1"), Fails: "what is mounted cannot be read", Prepare: func(t *testing.T, h host.Host) {
				if err := h.Remove("/proc/self/mountinfo"); err != nil {
					t.Fatal(err)
				}
			}},
			{Name: "swap", Values: mountValues("/x", "/dev/sdc1", "fstype", "swap"), Wrong: "not mounted on a directory"},
			{Name: "a comment", Values: mountValues("/x", "#x"), Wrong: "a comment"},
			{Name: "two options in one", Values: mountValues("/x", "y", "options", []string{"a,b"}), Wrong: "no single option"},
			{Name: "remount", Values: mountValues("/x", "y", "options", []string{"remount"}), Wrong: "no option of a mount"},
			{Name: "type", Values: mountValues("/x", "y", "fstype", "a b"), Wrong: "cannot contain"},
			{Name: "pass", Values: mountValues("/x", "y", "pass", 10), Wrong: "not between"},
			{Name: "neither", Values: mountValues("/x", "y", "mounted", false, "boot", false), Wrong: "neither now nor at boot"},
			{Name: "no source", Values: map[string]any{"path": "/srv/new"}, Fails: "required"},
		}})
}

// findfs is a host whose findfs ends so.
func findfs(status int) func(*testing.T, host.Host) {
	return func(_ *testing.T, h host.Host) {
		h.(*host.Memory).Handle("findfs", func(context.Context, host.Command) (host.Result, error) {
			return host.Result{ExitCode: status}, nil
		})
	}
}

func noHelpers(t *testing.T, h host.Host) {
	dropMount(t, h, "/usr/sbin/mount.nfs", "/usr/sbin/mount.cifs")
}

func dropMount(t *testing.T, h host.Host, paths ...string) {
	for _, path := range paths {
		if err := h.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func mountBusy(t *testing.T, h host.Host) {
	fake.Link(t, h, "/srv/cache/deep", "/proc/42/cwd")
	fake.Put(t, h, "/proc/42/comm", "bash\n", 0o444)
}

// A bind mount that somebody has made by hand is imported as one.
func TestMountImport(t *testing.T) {
	t.Parallel()
	h := newMountHost(t)
	key, err := mount.Module.Decode(map[string]any{"path": "/var/www"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have, err := mount.Module.Import(t.Context(), h, key)
	if err != nil {
		t.Fatal(err)
	}
	values := mount.Module.Encode(have)
	if values["source"] != "/srv/www" || values["fstype"] != "none" || values["boot"] != false ||
		!reflect.DeepEqual(values["options"], []any{"bind", "ro"}) {
		t.Errorf("%v", values)
	}
	keys, err := mount.Module.List(t.Context(), h, []string{"/srv"})
	if err != nil || len(keys) != 2 {
		t.Errorf("%v, %v", keys, err)
	}
}

// Below a root there is a table, and nothing is mounted.
func TestMountBelowRoot(t *testing.T) {
	t.Parallel()
	newTree := func(t *testing.T) host.Host {
		h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		fake.Put(t, h, "/etc/fstab", mountTable, 0o644)
		return h
	}
	created := []string{"source", "options", "boot", "dump", "pass"}
	statestest.Run(t, statestest.Suite{Module: mount.Module, Host: newTree, Cases: []statestest.Case{
		{Name: "create", Values: mountValues("/srv/new", "/dev/sdc1"), Action: states.Create, Changes: created},
		{Name: "change", Values: mountValues("/srv/cache", "tmpfs", "options", []string{"size=1g"}), Action: states.Update, Changes: []string{"options"}},
		{Name: "mounted", Values: mountValues("/srv/new", "/dev/sdc1", "mounted", true), Fails: "with --root nothing can be mounted"},
	}})
}

// What lies below a mount is unknown to a plan, whatever it wants there.
func TestMountForesee(t *testing.T) {
	t.Parallel()
	shadow := host.NewShadow(newMountHost(t))
	want, err := mount.Module.Decode(mountValues("/srv/new", "/dev/sdc1", "mounted", true, "boot", true), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mount.Module.Foresee(t.Context(), shadow, nil, want); err != nil {
		t.Fatal(err)
	}
	if _, err := shadow.Lstat("/srv/new/x"); err == nil || !strings.Contains(err.Error(), "an earlier step mounts") {
		t.Errorf("below it: %v", err)
	}
	have, err := mount.Module.Read(t.Context(), shadow, want)
	if err != nil || len(mount.Module.Diff(have, want)) > 0 {
		t.Errorf("it is foreseen as %v, %v", mount.Module.Encode(have), err)
	}
}
