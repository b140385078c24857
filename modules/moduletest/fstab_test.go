package moduletest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
	"pgregory.net/rapid"
)

const fstabSample = "# /etc/fstab: static file system information.\n\nUUID=1 / ext4 errors=remount-ro 0 1\n" +
	"tmpfs\t/tmp  tmpfs size=1g\n  /dev/sdb1 /mnt/a\\040b auto defaults,nofail 0 2\nbroken\n/swapfile none swap sw 0 0"

func fstabEntry(source, path, kind, options string, dump, pass int) fstab.Entry {
	return fstab.Entry{Source: source, Path: path, Type: kind, Options: options, Dump: dump, Pass: pass}
}

func TestFstabEntries(t *testing.T) {
	t.Parallel()
	want := []fstab.Entry{
		fstabEntry("UUID=1", "/", "ext4", "errors=remount-ro", 0, 1), fstabEntry("tmpfs", "/tmp", "tmpfs", "size=1g", 0, 0),
		fstabEntry("/dev/sdb1", "/mnt/a b", "auto", "defaults,nofail", 0, 2), fstabEntry("/swapfile", "none", "swap", "sw", 0, 0),
	}
	if is := fstab.Parse(fstabSample).Entries(); !slices.Equal(is, want) {
		t.Errorf("%+v", is)
	}
}

func TestFstabEdit(t *testing.T) {
	t.Parallel()
	at := func(path string) func(fstab.Entry) bool { return func(e fstab.Entry) bool { return e.Path == path } }
	table := fstab.Parse(fstabSample)
	table.Put(fstabEntry("tmpfs", "/tmp", "tmpfs", "size=2g", 0, 0), at("/tmp"))
	table.Put(fstabEntry("//h/a\\b", "/mnt/n\nw", "cifs", "ro", 1, 2), at("/mnt/n\nw"))
	table.Delete(at("/mnt/a b"))
	want := strings.Replace(fstabSample, "tmpfs\t/tmp  tmpfs size=1g", "tmpfs\t/tmp\ttmpfs\tsize=2g\t0\t0", 1)
	want = strings.Replace(want, "  /dev/sdb1 /mnt/a\\040b auto defaults,nofail 0 2\n", "", 1) +
		"\n//h/a\\134b\t/mnt/n\\012w\tcifs\tro\t1\t2\n"
	if is := table.Text(); is != want {
		t.Errorf("%s\nwant\n%s", is, want)
	}
	if e, err := table.Find("/x", at("/mnt/n\nw")); err != nil || e == nil || e.Source != `//h/a\b` {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := fstab.Parse("a /x t\nb /x t\n").Find("/x", at("/x")); err == nil || !strings.Contains(err.Error(), "2 lines for /x") {
		t.Errorf("two lines: %v", err)
	}
}

// Whatever the values: the line is one, and reads back.
func TestFstabLines(t *testing.T) {
	t.Parallel()
	field := rapid.StringMatching(`[^#\s\x00][ -~\t\n\r\\\x{2028}é]{0,8}`)
	rapid.Check(t, func(r *rapid.T) {
		e := fstabEntry(field.Draw(r, "source"), field.Draw(r, "path"), field.Draw(r, "type"), field.Draw(r, "options"), 1, 2)
		line := e.String()
		if is := fstab.Parse("#\n" + line).Entries(); !slices.Equal(is, []fstab.Entry{e}) || strings.ContainsAny(line, "\n\r") {
			r.Fatalf("%q became %q, %+v", e, line, is)
		}
	})
}

func FuzzFstabTable(f *testing.F) {
	f.Add(fstabSample)
	f.Add("\n\r\n#\n a b c")
	f.Fuzz(func(t *testing.T, text string) {
		table := fstab.Parse(text)
		if is := table.Text(); is != text {
			t.Errorf("%q became %q", text, is)
		}
		e := fstabEntry("s", "/tenet", "t", "o", 0, 0)
		others := len(table.Entries())
		is := func(x fstab.Entry) bool { return x == e }
		had := slices.ContainsFunc(table.Entries(), is)
		table.Put(e, is)
		if n := len(table.Entries()); !had && n != others+1 {
			t.Errorf("%d entries, then %d", others, n)
		}
	})
}

// mountedIn reads what the kernel of a machine says.
func mountedIn(t *testing.T, text string) ([]fstab.Mounted, error) {
	t.Helper()
	h := host.NewMemory()
	if err := h.Add("/proc/self/mountinfo", text); err != nil {
		t.Fatal(err)
	}
	return fstab.ReadMounted(h)
}

func TestFstabMounted(t *testing.T) {
	t.Parallel()
	text := "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n" +
		"30 22 0:25 / /mnt/a\\040b rw,nosuid,nodev shared:9 master:2 - tmpfs none rw,size=65536k\n" +
		"31 22 254:0 /srv/data /var/www ro,relatime - ext4 /dev/root rw\n" +
		"32 31 0:9 /x /var/www rw - fuse.sshfs h:/\\043x rw\n"
	list, err := mountedIn(t, text)
	if err != nil || len(list) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	if broken, err := mountedIn(t, text+"broken\n"); err == nil {
		t.Errorf("a line is left out: %+v", broken)
	}
	if m := fstab.At(list, "/mnt/a b"); m == nil || m.Source != "none" || !slices.Equal(m.Options, []string{"rw", "size=65536k"}) {
		t.Errorf("%+v", m)
	}
	if m := fstab.At(list, "/var/www"); m == nil || m.Type != "fuse.sshfs" || m.Source != "h:/#x" {
		t.Errorf("the last one counts: %+v", m)
	}
	for path, want := range map[string]string{"/": "/", "/etc": "/etc", "/mnt/a b/c": "/c", "/mnt/a b": "/", "/var/www/y": "/x/y", "/var/wwwx": "/var/wwwx"} {
		if _, within, ok := fstab.Holding(list, path); !ok || within != want {
			t.Errorf("%s is %s", path, within)
		}
	}
	for _, m := range list {
		if again, err := mountedIn(t, m.String()+"\n"); err != nil || len(again) != 1 || again[0].String() != m.String() {
			t.Errorf("%q became %v, %v", m, again, err)
		}
	}
}

// Whatever the kernel may show: what is read is written as it was read.
func FuzzFstabMounted(f *testing.F) {
	f.Add("22 1 254:0 / /a\\040b rw,relatime shared:1 - ext4 /dev/root rw\n")
	f.Add("1 2 3 4 5 6 - - - -\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := mountedIn(t, text)
		if err != nil {
			return
		}
		for _, m := range list {
			again, err := mountedIn(t, m.String()+"\n")
			if err != nil || len(again) != 1 || again[0].Path != m.Path || again[0].Source != m.Source {
				t.Errorf("%q became %q", m, again)
			}
		}
	})
}
