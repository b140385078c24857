package runtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// A secret is nowhere but on the host: not in events, errors or the report, and
// in no file that stays in the state folder.
func TestSecretsStayHidden(t *testing.T) {
	const secret = `hunter2 "&'`
	m := machine()
	m.Handle("leak", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{ExitCode: 3, Stderr: []byte("cannot log in with " + c.Argv[1] + "\n")}, nil
	})
	m.Handle("tell", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("was " + c.Argv[1])}, nil
	})
	run := compile(t, modules.Standard(), `
	variable "password" {
	  sensitive = true
	  default   = "hunter2 \"&'"
	}
	file "/secret" {
	  content = "password=${var.password}\n"
	}
	command "leak" {
	  argv = ["leak", var.password]
	}
	command "tell" {
	  argv = ["tell", var.password]
	}
	file "/late" {
	  content = "${command.tell.exit_code} password=${var.password} ${base64encode(var.password)}\n"
	}
	`).Run
	write(t, m, "/secret", "password=old\n")
	dir := t.TempDir()
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	record, err := folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Host: m, Registry: modules.Standard(), Journal: record}
	planned := carry(t, runtime.Plan, run, o)
	applied := carry(t, runtime.Apply, run, o)
	applied.want(t, map[string]string{`file["/secret"]`: "changed update", "command.leak": "failed execute"})
	if err := record.Finish(journal.End{State: journal.Done, Report: &applied.Report}); err != nil {
		t.Fatal(err)
	}
	hidden := func(where string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "hunter2") {
			t.Errorf("%s shows the secret: %s", where, text)
		}
	}
	hidden("a plan", planned.events)
	hidden("an apply", applied.events)
	hidden("the report", applied.Report)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "hunter2") {
			t.Errorf("%s shows the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if got := content(t, m, "/secret"); got != "password="+secret+"\n" {
		t.Errorf("the host has %q", got)
	}
	change := applied.parts[`file["/secret"]`].Changes[0]
	if change.From != journal.Masked || change.To != journal.Masked || change.Diff != "" {
		t.Errorf("change %+v", change)
	}
	if f := applied.parts["command.leak"].Error; f == nil || !strings.Contains(f.Message, "log in with "+journal.Masked) {
		t.Errorf("error %+v", f)
	}
}

// A secret is hidden too where only something that it is a part of was wanted.
func TestSecretsWithinOtherValuesStayHidden(t *testing.T) {
	m := machine()
	m.Handle("sh", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{ExitCode: 3, Stderr: []byte("no access with hunter2\n")}, nil
	})
	run := compile(t, modules.Standard(), `
	variable "password" {
	  sensitive = true
	  default   = "hunter2"
	}
	command "log-in" {
	  shell = "log-in --with ${var.password}"
	}
	`)
	o := runtime.Options{Host: m, Registry: modules.Standard()}
	applied := carry(t, runtime.Apply, run.Run, o)
	if f := applied.parts["command.log-in"].Error; f == nil || !strings.Contains(f.Message, "no access with "+journal.Masked) {
		t.Errorf("error %+v", f)
	}
}

// A secret is found in base64 wherever it stands in what was encoded, as in an
// Authorization header.
func TestSecretsInBase64StayHidden(t *testing.T) {
	const secret = "hunter2secret"
	m := machine()
	said := ""
	m.Handle("tell", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{ExitCode: 1, Stderr: []byte(said)}, nil
	})
	run := compile(t, modules.Standard(), `
	variable "password" {
	  sensitive = true
	  default   = "`+secret+`"
	}
	command "tell" {
	  argv = ["tell", var.password]
	}
	`).Run
	for _, before := range []string{"", "u", "u:", "us:", "user:"} {
		for _, after := range []string{"", "\n", "xy"} {
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				said = encoding.EncodeToString([]byte(before + secret + after))
				got := carry(t, runtime.Apply, run, runtime.Options{Host: m, Registry: modules.Standard()})
				message := got.parts["command.tell"].Error.Message
				if !strings.Contains(message, journal.Masked) || strings.Contains(message, said[8:16]) {
					t.Errorf("%q, then %q: %s", before, after, message)
				}
			}
		}
	}
}

// Where the kept output ends within a secret, its beginning is hidden too.
func TestCutSecretsStayHidden(t *testing.T) {
	const secret = "hunter2-and-a-long-tail"
	m := machine()
	m.Handle("tell", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte(strings.Repeat("x\n", 1<<19-7) + secret)}, nil // of which 14 bytes are kept
	})
	run := compile(t, modules.Standard(), `
	variable "password" {
	  sensitive = true
	  default   = "`+secret+`"
	}
	command "tell" {
	  argv = ["tell", var.password]
	}
	`).Run
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	record, err := folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	carry(t, runtime.Apply, run, runtime.Options{Host: m, Registry: modules.Standard(), Journal: record})
	if err := record.Finish(journal.End{State: journal.Failed}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(folder.Dir(), "runs", record.ID())
	data, err := os.ReadFile(filepath.Join(dir, "output", journal.OutputName("command.tell", "stdout")))
	if err != nil || len(data) < 1<<19 || strings.Contains(string(data), "hunt") || !strings.HasSuffix(string(data), journal.Masked) {
		t.Errorf("%d bytes, %v, the end %q", len(data), err, data[max(0, len(data)-40):])
	}
	if _, err := os.Stat(filepath.Join(dir, "secrets.json")); !os.IsNotExist(err) {
		t.Errorf("secrets.json after a run that failed: %v", err)
	}
}
