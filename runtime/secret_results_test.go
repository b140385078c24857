package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// hides fails the test where a secret is in what somebody may see.
func hides(t *testing.T, secret string, shown ...any) {
	t.Helper()
	text, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(text), secret); at >= 0 {
		t.Errorf("%s is shown: %s", secret, text[max(0, at-300):at+len(secret)])
	}
}

const passwordVariable = `
	variable "password" {
	  sensitive = true
	  default   = "hunter2secret"
	}
`

// What a program prints may hold a secret that it was given. What is computed
// from that is hidden, a file of it private, and a key that holds it masked.
func TestSecretsFoundInResults(t *testing.T) {
	m := talker(t)
	site := passwordVariable + `
	command "tell" {
	  argv = ["say", "it is ${var.password}"]
	}
	file "/direct" {
	  content = command.tell.stdout
	}
	file "/changed" {
	  content = upper(command.tell.stdout)
	}
	file "/open" {
	  content = "${nonsensitive(length(command.tell.stdout))}"
	}
	file "keyed" {
	  path = "/${replace(command.tell.stdout, " ", "-")}"
	}
	file "/guarded" {
	  when = command.tell.stdout != ""
	}
	`
	applied := apply(t, m, site)
	hides(t, "hunter2secret", applied.events, applied.Report)
	files := tree(t, m)
	for path, want := range map[string]string{
		"/direct":              "file -rw------- it is hunter2secret",
		"/changed":             "file -rw------- IT IS HUNTER2SECRET",
		"/open":                "file -rw-r--r-- 19",
		"/it-is-hunter2secret": "file -rw-r--r-- ",
		"/guarded":             "file -rw-r--r-- ",
	} {
		if got, ok := files[path]; !ok || got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	if got := applied.parts["file.keyed"].Key; got != "/it-is-"+journal.Masked {
		t.Errorf("the key is shown as %q", got)
	}
	for _, c := range applied.parts[`file["/changed"]`].Changes {
		if c.Attribute == "content" && c.To != journal.Masked {
			t.Errorf("the content is shown as %v", c.To)
		}
	}
}

// A sensitive result is hidden by itself, not only where the whole of what was
// computed from it turns up.
func TestPartsOfSensitiveResultsStayHidden(t *testing.T) {
	m := talker(t)
	m.Handle("log-in", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{ExitCode: 1, Stderr: []byte("t0psecret is wrong")}, nil
	})
	m.Handle("mint", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("t0psecret")}, nil
	})
	applied := apply(t, m, `
	command "token" {
	  argv      = ["mint"]
	  sensitive = true
	}
	file "/conf" {
	  content = "token=${command.token.stdout}"
	}
	command "leak" {
	  argv    = ["log-in"]
	  require = [file["/conf"]]
	}
	`)
	hides(t, "t0psecret", applied.events)
	if f := applied.parts["command.leak"].Error; f == nil || !strings.Contains(f.Message, journal.Masked+" is wrong") {
		t.Errorf("error %+v", f)
	}
}

// What a secret is too short to be searched for is hidden where its own part
// quotes it, certain or not.
func TestShortSecretsInMessagesStayHidden(t *testing.T) {
	site := `
	variable "who" {
	  sensitive = true
	  default   = "xyz"
	}
	command "unforeseen" {
	  argv = ["say", "x"]
	}
	file "/f" {
	  owner   = var.who
	  require = [command.unforeseen]
	}
	`
	planned, applied := plan(t, talker(t), site), apply(t, talker(t), site)
	hides(t, "xyz", planned.events, applied.events, applied.Report)
	if f := applied.parts[`file["/f"]`].Error; f == nil || !strings.Contains(f.Message, `no user named "`+journal.Masked) {
		t.Errorf("error %+v", f)
	}
}

// What a sensitive part says is hidden in the reasons of a plan, too.
func TestReasonsOfSensitivePartsStayHidden(t *testing.T) {
	planned := plan(t, talker(t), `
	command "unforeseen" {
	  argv = ["say", "x"]
	}
	file "/f" {
	  owner     = "nobody-knows-me"
	  sensitive = true
	  require   = [command.unforeseen]
	}
	`)
	if reason := planned.parts[`file["/f"]`].Reason; !strings.HasSuffix(reason, "as things are it would fail: what it said is sensitive, and hidden") {
		t.Errorf("the reason is %q", reason)
	}
}

// Parts whose keys are computed are different resources: that one went well does
// not make another's failure good.
func TestReportOfComputedKeys(t *testing.T) {
	applied := apply(t, talker(t), `
	command "name" {
	  argv = ["say", "name"]
	}
	file "first" {
	  path           = "/no/such/${command.name.stdout}"
	  ignore_failure = true
	}
	file "second" {
	  path = "/${command.name.stdout}"
	}
	`)
	if applied.Report.Ready {
		t.Error("it is ready, though a file is not there")
	}
	for _, row := range applied.Report.Parts {
		if want := map[string]string{"file.first": "/no/such/name", "file.second": "/name"}[row.Address]; row.Key != want {
			t.Errorf("%s has the key %q, not %q", row.Address, row.Key, want)
		}
	}
}

// The mode of a sensitive file is no secret where other parts have it too.
func TestModesOfSensitivePartsAreNoSecrets(t *testing.T) {
	got := apply(t, talker(t), `
	file "/secret" {
	  content   = "x"
	  mode      = "0640"
	  sensitive = true
	}
	file "/open" {
	  mode = "0640"
	}
	`)
	for address, want := range map[string]any{`file["/secret"]`: journal.Masked, `file["/open"]`: "0640"} {
		for _, c := range got.parts[address].Changes {
			if c.Attribute == "mode" && c.To != want {
				t.Errorf("%s: the mode is shown as %v", address, c.To)
			}
		}
	}
}
