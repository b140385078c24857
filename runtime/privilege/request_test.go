package privilege

import (
	"slices"
	"strings"
	"testing"
)

// What would reach the programs as something else than it is meant does not reach them.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ method, user, password, message string }{
		{"", "root", "", ""},
		{"sudo", "app", "geheim 7b", ""},
		{"doas", "app", strings.Repeat("x", maxPassword-1), ""},
		{"su", "app", "", `"su" is no way to become another account`},
		{"", "-i", "", "begins with a dash"},
		{"", "app", "geheim\n", "more than one line"},
		{"", "app", "ge\x00heim", "more than one line"},
		{"", "app", strings.Repeat("x", maxPassword), "too many"},
	} {
		r := Check(c.method, c.user, c.password)
		switch {
		case c.message == "":
			if r != nil {
				t.Errorf("%q %q %.20q: %+v", c.method, c.user, c.password, r)
			}
		case r == nil || !strings.Contains(r.Message, c.message) || r.Hint == "":
			t.Errorf("%q %q %.20q: %+v, want %q", c.method, c.user, c.password, r, c.message)
		case c.password != "" && strings.Contains(r.Message+r.Hint, c.password):
			t.Errorf("the password is in %+v", r)
		}
	}
}

func TestArgv(t *testing.T) {
	for _, c := range []struct {
		request Request
		want    string
	}{
		{Request{Program: sudo()}, "sudo -n -H -u app -- x"},
		{Request{Program: sudo(), Terminal: true}, "sudo -n -H -u app -- x"},
		{Request{Program: sudo(), Password: true}, "sudo -S -p <mark> -H -u app -- x"},
		{Request{Program: sudo(), Password: true, Terminal: true}, "sudo -p <mark> -H -u app -- x"},
		{Request{Program: doas()}, "doas -n -u app -- x"},
		{Request{Program: doas(), Password: true}, "doas -u app -- x"},
	} {
		r := c.request
		r.User, r.Mark = "app", "<mark>"
		if argv := r.Argv("x"); !slices.Equal(argv, strings.Fields(c.want)) {
			t.Errorf("%q, want %q", argv, c.want)
		}
	}
}
