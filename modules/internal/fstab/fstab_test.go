package fstab

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const sample = "# /etc/fstab: static file system information.\n\nUUID=1 / ext4 errors=remount-ro 0 1\n" +
	"tmpfs\t/tmp  tmpfs size=1g\n  /dev/sdb1 /mnt/a\\040b auto defaults,nofail 0 2\nbroken\n/swapfile none swap sw 0 0"

func TestEntries(t *testing.T) {
	want := []Entry{
		{"UUID=1", "/", "ext4", "errors=remount-ro", 0, 1}, {"tmpfs", "/tmp", "tmpfs", "size=1g", 0, 0},
		{"/dev/sdb1", "/mnt/a b", "auto", "defaults,nofail", 0, 2}, {"/swapfile", "none", "swap", "sw", 0, 0},
	}
	if is := Parse(sample).Entries(); !slices.Equal(is, want) {
		t.Errorf("%+v", is)
	}
}

func TestEdit(t *testing.T) {
	at := func(path string) func(Entry) bool { return func(e Entry) bool { return e.Path == path } }
	table := Parse(sample)
	table.Put(Entry{"tmpfs", "/tmp", "tmpfs", "size=2g", 0, 0}, at("/tmp"))
	table.Put(Entry{"//h/a\\b", "/mnt/n\nw", "cifs", "ro", 1, 2}, at("/mnt/n\nw"))
	table.Delete(at("/mnt/a b"))
	want := strings.Replace(sample, "tmpfs\t/tmp  tmpfs size=1g", "tmpfs\t/tmp\ttmpfs\tsize=2g\t0\t0", 1)
	want = strings.Replace(want, "  /dev/sdb1 /mnt/a\\040b auto defaults,nofail 0 2\n", "", 1) +
		"\n//h/a\\134b\t/mnt/n\\012w\tcifs\tro\t1\t2\n"
	if is := table.Text(); is != want {
		t.Errorf("%s\nwant\n%s", is, want)
	}
	if e, err := table.Find("/x", at("/mnt/n\nw")); err != nil || e == nil || e.Source != `//h/a\b` {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := Parse("a /x t\nb /x t\n").Find("/x", at("/x")); err == nil || !strings.Contains(err.Error(), "2 lines for /x") {
		t.Errorf("two lines: %v", err)
	}
}

// Whatever the values: the line is one, and reads back.
func TestLines(t *testing.T) {
	field := rapid.StringMatching(`[^#\s\x00][ -~\t\n\r\\\x{2028}é]{0,8}`)
	rapid.Check(t, func(r *rapid.T) {
		e := Entry{field.Draw(r, "source"), field.Draw(r, "path"), field.Draw(r, "type"), field.Draw(r, "options"), 1, 2}
		line := e.String()
		if is, ok := parse(line); !ok || is != e || strings.ContainsAny(line, "\n\r") {
			r.Fatalf("%q became %q, %+v", e, line, is)
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add(sample)
	f.Add("\n\r\n#\n a b c")
	f.Fuzz(func(t *testing.T, text string) {
		table := Parse(text)
		if is := table.Text(); is != text {
			t.Errorf("%q became %q", text, is)
		}
		e := Entry{"s", "/tenet", "t", "o", 0, 0}
		others := len(table.Entries())
		is := func(x Entry) bool { return x == e }
		had := slices.ContainsFunc(table.Entries(), is)
		table.Put(e, is)
		if n := len(table.Entries()); !had && n != others+1 {
			t.Errorf("%d entries, then %d", others, n)
		}
	})
}

func TestMounted(t *testing.T) {
	text := "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n" +
		"30 22 0:25 / /mnt/a\\040b rw,nosuid,nodev shared:9 master:2 - tmpfs none rw,size=65536k\n" +
		"31 22 254:0 /srv/data /var/www ro,relatime - ext4 /dev/root rw\n" +
		"32 31 0:9 /x /var/www rw - fuse.sshfs h:/\\043x rw\n"
	list, err := parseMounted(strings.NewReader(text))
	if err != nil || len(list) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	if broken, err := parseMounted(strings.NewReader(text + "broken\n")); err == nil {
		t.Errorf("a line is left out: %+v", broken)
	}
	if m := At(list, "/mnt/a b"); m == nil || m.Source != "none" || !slices.Equal(m.Options, []string{"rw", "size=65536k"}) {
		t.Errorf("%+v", m)
	}
	if m := At(list, "/var/www"); m == nil || m.Type != "fuse.sshfs" || m.Source != "h:/#x" {
		t.Errorf("the last one counts: %+v", m)
	}
	for path, want := range map[string]string{"/": "/", "/etc": "/etc", "/mnt/a b/c": "/c", "/mnt/a b": "/", "/var/www/y": "/x/y", "/var/wwwx": "/var/wwwx"} {
		if _, within, ok := Holding(list, path); !ok || within != want {
			t.Errorf("%s is %s", path, within)
		}
	}
	for _, m := range list {
		if again, err := parseMounted(strings.NewReader(m.String() + "\n")); err != nil || len(again) != 1 || again[0].String() != m.String() {
			t.Errorf("%q became %v, %v", m, again, err)
		}
	}
}

// Whatever the kernel may show: what is read is written as it was read.
func FuzzMounted(f *testing.F) {
	f.Add("22 1 254:0 / /a\\040b rw,relatime shared:1 - ext4 /dev/root rw\n")
	f.Add("1 2 3 4 5 6 - - - -\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseMounted(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, m := range list {
			again, err := parseMounted(strings.NewReader(m.String() + "\n"))
			if err != nil || len(again) != 1 || again[0].Path != m.Path || again[0].Source != m.Source {
				t.Errorf("%q became %q", m, again)
			}
		}
	})
}
