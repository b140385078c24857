package stdlib_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/states"
)

const certified = `
component "ca" {
  source = "std/self_signed_ca"
  notify = [NOTIFY]
  vars = {
    certificates = {
      inner = { names = ["inner.test"] }
    }
  }
}

component "nginx" {
  source  = "std/nginx"
  require = [component.ca]
  vars = {
    sites = {
      inner = {
        root        = "/srv/inner"
        tls         = "files"
        certificate = component.ca.certificates.inner.chain
        key         = component.ca.certificates.inner.key
      }
    }
  }
}

HANDLER
`

// certifying is a machine for that site, on which nothing is installed yet.
func certifying() trial {
	return trial{machine: simulated.Machine{
		Packages:    parcels(map[string][]string{"nginx": {"nginx"}, "openssl": nil}),
		Directories: map[string]simulated.Directory{"/etc/nginx/conf.d": {}},
		Commands: []simulated.Command{
			{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "accepted", simulated.AnyOne}},
			{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "key", "/etc/ssl/ca/ca.key"}, Creates: map[string]string{"/etc/ssl/ca/ca.key": "k"}},
			{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "key", "/etc/ssl/ca/inner.key"}, Creates: map[string]string{"/etc/ssl/ca/inner.key": "k"}},
			script("authority", simulated.Command{Creates: map[string]string{"/etc/ssl/ca/ca.pem": "c"}}),
			script("sign", simulated.Command{Creates: map[string]string{"/etc/ssl/ca/inner.pem": "c", "/etc/ssl/ca/inner.chain.pem": "c"}}),
			{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "current", "/etc/ssl/ca", "ca", simulated.AnyOne}, Exists: "/etc/ssl/ca/ca.pem"},
			{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "current", "/etc/ssl/ca", "inner", simulated.AnyOne}, Exists: "/etc/ssl/ca/inner.pem"},
			script("current", simulated.Command{ExitCode: 1}),
		},
	}}
}

// A new certificate reloads the server that takes it: on a fresh machine, too, where the
// server is not there before the certificate is.
func TestHandlerOfWhatIsNotThereYet(t *testing.T) {
	for _, c := range []struct{ notify, handler, reload string }{
		{"component.nginx.state.reload", "", "component.nginx.state.reload#2.reload.nginx"},
		{"reload.nginx", `reload "nginx" {}`, "reload.nginx"},
		{"restart.nginx", `restart "nginx" {}`, "restart.nginx"},
		{"state.last", "state \"last\" {\n defer = true\n reload \"nginx\" {}\n}", "state.last.reload.nginx"},
	} {
		t.Run(c.notify, func(t *testing.T) {
			site := strings.NewReplacer("NOTIFY", c.notify, "HANDLER", c.handler).Replace(certified)
			h := certifying().boot(t)
			run := compileSite(t, h, site)
			if foretold := plan(t, h, run); foretold.Failed {
				t.Errorf("the plan fails:\n%s", foretold.failures())
			}
			if o := apply(t, h, run); o.Failed {
				t.Fatalf("the apply fails:\n%s", o.failures())
			}
			if o := apply(t, h, compileSite(t, h, site)); o.Failed || len(o.changed()) > 0 {
				t.Errorf("a second apply changed %q\n%s", o.changed(), o.failures())
			}
			// A renewed one is taken by the server that runs.
			if err := h.Remove("/etc/ssl/ca/inner.pem"); err != nil {
				t.Fatal(err)
			}
			if o := apply(t, h, compileSite(t, h, site)); o.Failed || !slices.Contains(o.changed(), c.reload) {
				t.Errorf("a new certificate changed %q\n%s", o.changed(), o.failures())
			}
		})
	}
}

// What nothing has notified acts, or fails: a wrong name is not passed over.
func TestActOnWhatIsNotThere(t *testing.T) {
	for _, module := range []string{"reload", "restart"} {
		h := trial{}.boot(t)
		o := apply(t, h, compileSite(t, h, "state \"now\" {\n "+module+" \"ngnix\" {}\n}\n"))
		if !o.Failed || !strings.Contains(o.failures(), "no unit named ngnix.service") {
			t.Errorf("%s: %q", module, o.failures())
		}
		// Notified, it says so.
		site := "group \"x\" {\n notify = [" + module + ".ngnix]\n}\n" + module + " \"ngnix\" {}\n"
		o = apply(t, h, compileSite(t, h, site))
		k := slices.IndexFunc(o.parts, func(e states.Event) bool { return e.Address == module+".ngnix" })
		if o.Failed || k < 0 || o.parts[k].Outcome != states.Unchanged || !strings.Contains(o.parts[k].Reason, "nothing to do: this host has no unit named ngnix.service") {
			t.Errorf("%s: %+v\n%s", module, o.parts, o.failures())
		}
	}
}
