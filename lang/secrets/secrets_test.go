package secrets_test

import (
	"fmt"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
)

// reader is somebody with a key.
type reader struct {
	public string
	id     secrets.Identity
}

func newReader(t testing.TB, name string) reader {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: name, Data: []byte("# created\n" + key.String() + "\n")})
	if err != nil {
		t.Fatal(err)
	}
	return reader{key.Recipient().String(), id}
}

func recipients(t testing.TB, lines ...string) *secrets.Recipients {
	t.Helper()
	r, list := secrets.ParseRecipients("secrets.recipients", []byte(strings.Join(lines, "\n")))
	if list.HasErrors() {
		t.Fatal(list)
	}
	return r
}

func newFile(t testing.TB, to *secrets.Recipients, values map[string]string) *secrets.File {
	t.Helper()
	f, err := secrets.New("secrets.age", to)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		if err := f.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func parse(t testing.TB, text string) *secrets.File {
	t.Helper()
	f, list := secrets.Parse("secrets.age", []byte(text))
	if len(list) > 0 {
		t.Fatal(list)
	}
	return f
}

func value(t testing.TB, f *secrets.File, name string, ids ...secrets.Identity) string {
	t.Helper()
	key, err := f.Open(ids)
	if err != nil {
		t.Fatal(err)
	}
	v, err := key.Value(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Setting a value needs no key, and changes its line and no other.
func TestSetChangesOneLine(t *testing.T) {
	ada := newReader(t, "ada")
	before := string(newFile(t, recipients(t, ada.public), map[string]string{"a": "1", "c": "3", "d": "4"}).Bytes())
	before = strings.Replace(before, "c = ", "# about c\nc = ", 1)
	f := parse(t, before)
	if err := f.Set("c", "three"); err != nil {
		t.Fatal(err)
	}
	if err := f.Set("b", "2"); err != nil {
		t.Fatal(err)
	}
	after := string(f.Bytes())
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(is) != len(was)+1 || len(is) != 10 {
		t.Fatalf("%d lines before, %d after", len(was), len(is))
	}
	for i, line := range is {
		switch {
		case i < 5: // four of the header, and a
			if line != was[i] {
				t.Errorf("line %d has changed", i+1)
			}
		case i == 5:
			if !strings.HasPrefix(line, "b = ") {
				t.Errorf("line 6 is %.20s", line)
			}
		case i == 7:
			if !strings.HasPrefix(line, "c = ") || line == was[i-1] {
				t.Error("c was not set")
			}
		default:
			if line != was[i-1] {
				t.Errorf("line %d has changed", i+1)
			}
		}
	}
	f = parse(t, after)
	for name, want := range map[string]string{"a": "1", "b": "2", "c": "three", "d": "4"} {
		if got := value(t, f, name, ada.id); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	f.Remove("c")
	if text := string(f.Bytes()); strings.Contains(text, "about c") || strings.Contains(text, "\nc = ") || !strings.Contains(text, "\nd = ") {
		t.Error("c is still there")
	}
}

func TestOnlyReadersRead(t *testing.T) {
	ada, bob, eve := newReader(t, "ada.key"), newReader(t, "bob.key"), newReader(t, "eve.key")
	f := newFile(t, recipients(t, "# all", ada.public, "", bob.public+"  "), map[string]string{"db": "hunter2"})
	for _, who := range []reader{ada, bob} {
		if got := value(t, f, "db", eve.id, who.id); got != "hunter2" {
			t.Errorf("%s reads %q", who.id.Name, got)
		}
	}
	for _, ids := range [][]secrets.Identity{nil, {eve.id}} {
		_, err := f.Open(ids)
		if err == nil || !strings.Contains(err.Error(), "no key here opens secrets.age") || !strings.Contains(err.Error(), "--identity") {
			t.Errorf("with %d keys: %v", len(ids), err)
		}
	}
	if strings.Contains(string(f.Bytes()), "hunter2") {
		t.Error("the file shows the value")
	}
}

// Who is no longer a recipient reads nothing that is set after a rekey, even
// with the file's former key.
func TestRekeyLocksOut(t *testing.T) {
	ada, bob := newReader(t, "ada"), newReader(t, "bob")
	both := recipients(t, ada.public, bob.public)
	old := newFile(t, both, map[string]string{"db": "hunter2", "mail": "x\ny\n"})
	bobs, err := old.Open([]secrets.Identity{bob.id})
	if err != nil {
		t.Fatal(err)
	}
	one := recipients(t, ada.public)
	if added, removed := old.Differ(one); added != 0 || removed != 1 {
		t.Errorf("%d added, %d removed", added, removed)
	}
	key, err := old.Open([]secrets.Identity{ada.id})
	if err != nil {
		t.Fatal(err)
	}
	made, err := key.Rekey(one)
	if err != nil {
		t.Fatal(err)
	}
	made = parse(t, string(made.Bytes()))
	if added, removed := made.Differ(both); added != 1 || removed != 0 {
		t.Errorf("%d added, %d removed", added, removed)
	}
	if value(t, made, "db", ada.id) != "hunter2" || value(t, made, "mail", ada.id) != "x\ny\n" {
		t.Error("values were lost")
	}
	if _, err := made.Open([]secrets.Identity{bob.id}); err == nil {
		t.Error("bob opens the new file")
	}
	for _, name := range []string{"db", "mail"} {
		if made.EncryptedLine(name) == old.EncryptedLine(name) {
			t.Errorf("%s was not encrypted anew", name)
		}
		// A new line in an old file: what bob can do with the key he has.
		f := parse(t, strings.Replace(string(old.Bytes()), old.EncryptedLine(name), made.EncryptedLine(name), 1))
		key, err := f.Open([]secrets.Identity{bob.id})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := key.Value(name); err == nil {
			t.Errorf("bob reads %q", v)
		}
	}
	if v, err := bobs.Value("db"); err != nil || v != "hunter2" {
		t.Errorf("what bob could read before: %q, %v", v, err)
	}
}

// damage is a file of secrets, good or not, and what becomes of it.
type damage struct {
	text   string
	list   []string // what Parse says, "line: summary"
	values string   // what can be read: a=1 c=3
	errors []string // what is said of the rest
}

func TestDamage(t *testing.T) {
	ada := newReader(t, "ada")
	to := recipients(t, ada.public)
	good := string(newFile(t, to, map[string]string{"a": "1", "b": "2", "c": "3"}).Bytes())
	lines := strings.Split(strings.TrimSuffix(good, "\n"), "\n") // comment, recipient, readers, key, a, b, c
	other := strings.Split(string(newFile(t, to, map[string]string{"a": "other"}).Bytes()), "\n")
	with := func(change func(lines []string) []string) string {
		return strings.Join(change(append([]string(nil), lines...)), "\n") + "\n"
	}
	set := func(n int, line string) string {
		return with(func(l []string) []string { l[n] = line; return l })
	}
	tests := map[string]damage{
		"good":     {good, nil, "a=1 b=2 c=3", nil},
		"CRLF":     {strings.ReplaceAll(good, "\n", "\r\n"), nil, "a=1 b=2 c=3", nil},
		"comments": {with(func(l []string) []string { return append(append(l[:5:5], "", "# b"), l[5:]...) }), nil, "a=1 b=2 c=3", nil},
		"no end":   {strings.TrimSuffix(good, "\n"), nil, "a=1 b=2 c=3", nil},
		"base64":   {set(5, "b = ***"), []string{"6: the line of b is damaged: it is no base64"}, "a=1 c=3", []string{"damaged"}},
		"cut":      {set(5, lines[5][:len(lines[5])-40]), nil, "a=1 c=3", []string{"secrets.age:6:1: the value of b cannot be decrypted"}},
		"not age":  {set(5, "b = aGVsbG8="), []string{"6: the line of b is damaged: it holds no age file"}, "a=1 c=3", []string{"damaged"}},
		"no value": {set(5, "b"), []string{"6: the line is not NAME = VALUE"}, "a=1 c=3", nil},
		"bad name": {set(5, "b c = x"), []string{"6: the line is not NAME = VALUE"}, "a=1 c=3", nil},
		"twice":    {set(5, lines[4]), []string{"6: a has a value twice"}, "c=3", []string{"twice"}},
		"exchanged": {with(func(l []string) []string { l[4], l[5] = "a"+l[5][1:], "b"+l[4][1:]; return l }), nil, "c=3",
			[]string{"the line of a holds the value of another name", "the line of b holds the value of another name"}},
		"another file": {set(4, other[4]), nil, "b=2 c=3", []string{"the value of a cannot be decrypted"}},
		"conflict": {with(func(l []string) []string {
			return append(append(l[:5:5], "<<<<<<< HEAD", l[5], "=======", l[5], ">>>>>>> theirs"), l[6:]...)
		}), []string{"6: a merge has left its conflict markers"}, "a=1 c=3", []string{"stands in a conflict"}},
		"header mixed":   {set(3, other[3]), nil, "", []string{"@key is not the key of @recipient"}},
		"recipient":      {set(1, "@recipient = age1nobody"), []string{"2: @recipient is no single age1"}, "", nil},
		"two recipients": {set(2, lines[1]), []string{"3: @recipient is no single age1"}, "a=1 b=2 c=3", nil},
		"key":            {set(3, "@key = aGVsbG8="), []string{"4: @key is damaged"}, "", nil},
		"no key":         {set(3, "# nothing"), []string{"1: secrets.age has no line @key"}, "", nil},
		"no recipient":   {set(1, "# nothing"), []string{"1: secrets.age has no line @recipient"}, "", nil},
		"unknown header": {set(2, "@new = 1"), []string{`3: nothing in the header is named "@new"`}, "a=1 b=2 c=3", nil},
		"newer":          {set(0, "# tenet.secrets/2: x"), []string{`1: secrets.age has the format tenet.secrets/"2"`}, "", nil},
		"plain age":      {"age-encryption.org/v1\n-> X25519 x\n", []string{"1: secrets.age is one whole age file"}, "", nil},
		"empty":          {"", []string{"1: secrets.age does not begin with"}, "", nil},
		"something else": {"password: hunter2\n", []string{"1: secrets.age does not begin with"}, "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { tt.check(t, ada.id) })
	}
}

// check reads the file with a key.
func (tt damage) check(t *testing.T, id secrets.Identity) {
	f, list := secrets.Parse("secrets.age", []byte(tt.text))
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%d: %s", d.Range.Start.Line, d.Summary))
		if d.Hint == "" || d.Range.File != "secrets.age" {
			t.Errorf("%+v", d)
		}
	}
	if len(got) != len(tt.list) {
		t.Errorf("said %q", got)
	} else {
		for i := range got {
			if !strings.HasPrefix(got[i], tt.list[i]) {
				t.Errorf("said %q", got)
			}
		}
	}
	var said []string
	values := ""
	key, err := f.Open([]secrets.Identity{id})
	if err != nil {
		said = append(said, err.Error())
	} else {
		for _, name := range f.Names() {
			if v, err := key.Value(name); err != nil {
				said = append(said, err.Error())
			} else {
				values += " " + name + "=" + v
			}
		}
	}
	if strings.TrimSpace(values) != tt.values {
		t.Errorf("read %q", values)
	}
	for i, want := range tt.errors {
		if i >= len(said) || !strings.Contains(said[i], want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
	// Nothing is lost by writing it.
	if len(tt.list) == 0 || strings.HasPrefix(tt.text, "# tenet.secrets/1") {
		for _, line := range strings.Split(tt.text, "\n") {
			if !strings.Contains(string(f.Bytes()), strings.TrimSuffix(line, "\r")) {
				t.Errorf("lost %q", line)
			}
		}
	}
}

// Setting a value mends its line, whatever is wrong with it.
func TestSetMends(t *testing.T) {
	ada := newReader(t, "ada")
	text := string(newFile(t, recipients(t, ada.public), map[string]string{"a": "1"}).Bytes()) + "b = ***\nb = ***\n"
	f, list := secrets.Parse("secrets.age", []byte(text))
	if !list.HasErrors() {
		t.Error("no error")
	}
	if err := f.Set("b", "2"); err != nil {
		t.Fatal(err)
	}
	if f = parse(t, string(f.Bytes())); value(t, f, "b", ada.id) != "2" {
		t.Error("b was not set")
	}
}

func TestLimits(t *testing.T) {
	ada := newReader(t, "ada")
	f := newFile(t, recipients(t, ada.public), nil)
	for name, tt := range map[string][3]string{
		"large":   {"a", strings.Repeat("x", secrets.MaxValue+1), "larger than 1 MiB"},
		"binary":  {"a", "\xff\xfe", "no UTF-8"},
		"nfd":     {"a", "e\u0301", "normal form C"},
		"no name": {"", "x", "no name"},
		"path":    {"../a", "x", "no name"},
		"hyphen":  {"-a", "x", "no name"},
		"newline": {"a\nb", "x", "no name"},
		"long":    {strings.Repeat("n", 201), "x", "no name"},
	} {
		if err := f.Set(tt[0], tt[1]); err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := strings.Repeat("ä", secrets.MaxValue/2)
	if err := f.Set("a", large); err != nil {
		t.Fatal(err)
	}
	if f = parse(t, string(f.Bytes())); value(t, f, "a", ada.id) != large {
		t.Error("the large value was lost")
	}
	if _, list := secrets.Parse("x", make([]byte, secrets.MaxFile+1)); !strings.Contains(list.Error(), "larger than 64 MiB") {
		t.Error(list)
	}
}

func TestLocate(t *testing.T) {
	for secret, want := range map[string]string{
		"db": "secrets.age db", "prod/db": "secrets/prod.age db", "_a-1": "secrets.age _a-1",
		"": "", "/db": "", "prod/": "", "a/b/c": "", "../x": "", "..": "", "a b": "", "a\x00b": "", "1a": "", "prod.age/db": "", "ä": "",
	} {
		file, name, err := secrets.Locate(secret)
		if got := strings.TrimSpace(file + " " + name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", secret, got, err)
		}
		if err == nil && secrets.QualifiedName(file, name) != secret {
			t.Errorf("%q: %q", secret, secrets.QualifiedName(file, name))
		}
		if d, ok := err.(diag.Diagnostic); err != nil && (!ok || d.Hint == "") {
			t.Errorf("%q: %#v", secret, err)
		}
	}
}
