package stdlib_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
)

// What a component cannot do something good with is refused before anything is
// changed, and the message names what is wrong.
func TestRefuses(t *testing.T) {
	const key = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHexgb9aiHLxvHbJdmpHE5kGHJyQfEx0KqkLxLzzNkyu a@b`
	tests := []struct {
		component string
		vars      vars
		says      string
	}{
		{"motd", vars{"text": "x", "name": "../x"}, "A name has letters"},
		{"motd", vars{}, `variable "text" has no value`},
		{"cron", vars{"jobs": `{ "a.b" = { schedule = "@daily", command = "x" } }`}, `"a.b"`},
		{"cron", vars{"jobs": `{ late = { schedule = "0 24 * * *", command = "x" }, ok = { schedule = "@daily", command = "x" } }`}, "The schedule of late is none."},
		{"cron", vars{"jobs": `{ a = { schedule = "5-1 * * * *", command = "x" } }`}, "The schedule of a is none."},
		{"cron", vars{"jobs": `{ a = { schedule = "* * * jan,feb *", command = "x" } }`}, "The schedule of a is none."},
		{"cron", vars{"jobs": `{ a = { schedule = "* * * * *\n* * * * *", command = "x" } }`}, "The schedule of a is none."},
		{"cron", vars{"jobs": `{ a = { schedule = "@daily", command = "x\n* * * * * root y" } }`}, "The command of a"},
		{"cron", vars{"jobs": `{ a = { schedule = "@daily", command = "x", user = "root x" } }`}, "The user of a"},
		{"cron", vars{"jobs": `{ a = { schedule = "@daily", command = "x", environment = { MAILTO = "\"" } } }`}, "The environment of a"},
		{"cron", vars{"jobs": `{ a = { schedule = "@daily", command = "x", description = "y\n* * * * * root z" } }`}, "The description of a"},
		{"cron", vars{"jobs": `{ a = { command = "x" } }`}, "schedule"},
		{"sysctl", vars{"settings": `{ swappiness = 1 }`}, "A parameter has words"},
		{"sysctl", vars{"settings": `{ "vm.swappiness" = "1\nkernel.panic = 1" }`}, "A value is one line"},
		{"sysctl", vars{"settings": `{}`, "name": "a/b"}, "A name has letters"},
		{"apt_mirror", vars{"url": "mirror.example.test"}, "A URL has http://"},
		{"apt_mirror", vars{"url": "http://m", "suites": `[]`}, "there is at least one"},
		{"apt_mirror", vars{"url": "http://m", "name": "debian"}, "the distribution's own"},
		{"apt_mirror", vars{"url": "http://m", "signed_by": "keys.gpg"}, "absolute path"},
		{"users", vars{"users": `{ Alice = {} }`}, `"Alice"`},
		{"users", vars{"users": `{ root = {} }`}, "belongs to the system"},
		{"users", vars{"users": `{ a = { keys = ["AAAA"] } }`}, "a: a key is one line"},
		{"users", vars{"users": `{ a = { keys = ["` + key + `\n` + key + `"] } }`}, "a: a key is one line"},
		{"users", vars{"users": `{ a = { sudo = "maybe" } }`}, "a: sudo is true"},
		{"users", vars{"users": `{ a = { home = "/home/../etc" } }`}, "a: a home is"},
		{"users", vars{"users": `{ a = {} }`, "passwords": `{ b = "x" }`}, "for none of the users"},
		{"ssh_server", vars{"permit_root_login": "without-password"}, `It is "no"`},
		{"ssh_server", vars{"permit_root_login": "no", "allow_users": `["root"]`}, "Nobody could log in"},
		{"ssh_server", vars{"allow_users": `[]`}, "Nobody could log in"},
		{"ssh_server", vars{"allow_users": `["a\nPermitRootLogin yes"]`}, "A name has lower-case letters"},
		{"ssh_server", vars{"ports": `[0]`}, "A port is"},
		{"ssh_server", vars{"listen": `["localhost"]`}, "IPv4 and IPv6 addresses"},
		{"ssh_server", vars{"settings": `{ passwordauthentication = "yes" }`}, "passwordauthentication: these have variables of their own"},
		{"ssh_server", vars{"settings": `{ Banner = "x\nPermitRootLogin yes" }`}, "A value is one line"},
		{"nginx", vars{"sites": `{ "a/b" = { root = "/srv" } }`}, `"a/b"`},
		{"nginx", vars{"sites": `{ a = {} }`}, "a: a site has one of"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", proxy = "http://b" } }`}, "a: a site has one of"},
		{"nginx", vars{"sites": `{ a = { root = "/srv;" } }`}, "a: a root is"},
		{"nginx", vars{"sites": `{ a = { proxy = "b" } }`}, "a: proxy and redirect are URLs"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", domains = ["a b"] } }`}, "a: a domain is"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", tls = true } }`}, "a: tls is"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", tls = "files" } }`}, "a: with tls"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", certificate = "/a.pem" } }`}, "a: with tls"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", tls = "command", certificate = "/a.pem", key = "/a.key" } }`}, "a: command is the program"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", tls = "self-signed", renew_days = 90 } }`}, "a: renew_days"},
		{"nginx", vars{"sites": `{ a = { root = "/srv", http = "off" } }`}, "a: http is"},
		{"postgresql", vars{"settings": `{ "shared buffers" = "1" }`}, "A setting has"},
		{"postgresql", vars{"roles": `{ "a\"b" = {} }`}, "A role's name has"},
		{"postgresql", vars{"roles": `{ postgres = {} }`}, "belong to the server"},
		{"postgresql", vars{"databases": `{ postgres = {} }`}, "belong to the server"},
		{"postgresql", vars{"databases": `{ a = { owner = "x; DROP" } }`}, "The names of a database"},
		{"postgresql", vars{"databases": `{ a = { locale = "C'" } }`}, "An encoding is"},
		{"postgresql", vars{"access": `[{ type = "local", address = "::1/128" }]`}, "A rule's type"},
		{"postgresql", vars{"access": `[{ type = "host" }]`}, "A rule's type"},
		{"postgresql", vars{"passwords": `{ a = "x" }`}, "for none of the roles"},
		{"postgresql", vars{"roles": `{ a = {} }`, "passwords": `{ a = "pässword" }`}, "of ASCII"},
		{"self_signed_ca", vars{"name": "a\nb"}, "A name has up to"},
		{"self_signed_ca", vars{"directory": "/etc/../x"}, "absolute path"},
		{"self_signed_ca", vars{"days": "1"}, "at least 10"},
		{"self_signed_ca", vars{"certificates": `{ ca = { names = ["a"] } }`}, "ca is the authority itself"},
		{"self_signed_ca", vars{"certificates": `{ web = { names = [] } }`}, "web: names are"},
		{"self_signed_ca", vars{"certificates": `{ web = { names = ["a b"] } }`}, "web: names are"},
		{"self_signed_ca", vars{"certificates": `{ web = { names = ["1.2.3"] } }`}, "web: names are"},
		{"self_signed_ca", vars{"certificates": `{ web = { names = ["a"], days = 20 } }`}, "web: days and renew_days"},
	}
	h, err := simulated.New(t.Context(), simulated.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		_, list := evaluate(t, test.component, h, test.vars)
		if text := list.Error(); !list.HasErrors() || !strings.Contains(text, test.says) {
			t.Errorf("%s with %v: the error does not say %q:\n%s", test.component, test.vars, test.says, text)
		}
	}
}
