package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/tenetcm/tenet/internal/cli"
)

// secretSite takes secrets through all that a value can go through; told is a
// program that says what it is given, and what it can make of it.
const secretSite = `
site {
  name = "hidden"
}
variable "root" {}
variable "given" {
  default = secret("odd")
}
variable "login" {
  sensitive = true
}
locals {
  conf = template("conf.tmpl", { password = secret("prod/odd"), key = secret("key") })
  api  = jsondecode(secret("json"))
}
file "conf" {
  path    = "${var.root}/conf"
  content = local.conf
}
file "shared" {
  path    = "${var.root}/shared"
  content = jsonencode({ password = var.given, all = [for s in [secret("odd")] : upper(s)] })
  mode    = "0640"
}
file "whole" {
  path      = "${var.root}/whole"
  content   = nonsensitive(secret("odd"))
  sensitive = true
}
command "tells" {
  argv = ["sh", "${var.root}/told", secret("odd"), local.api.token, var.login]
}
command "fails" {
  argv = ["sh", "-c", "sh ${var.root}/told \"$@\" >&2; exit 7", "sh", secret("odd"), secret("key"),
    jsonencode({ a = secret("odd") }), urlencode(secret("odd")), base64encode("user:${secret("odd")}"), local.api.token]
}
file "result" {
  path    = "${var.root}/result"
  content = "${command.tells.stdout}${secret("odd")}"
}
command "quiet" {
  argv      = ["echo", "made here"]
  sensitive = true
}
file "made" {
  path    = "${var.root}/made"
  content = command.quiet.stdout
}
block "guarded" {
  confirm {
    timeout = "1ms"
    command = ["sh", "-c", "cat '${var.root}/told' '${var.root}/shared' '${var.root}/conf' >&2; exit 1"]
  }
  file "guarded" {
    path    = "${var.root}/guarded"
    content = "${secret("odd")} and ${local.api.token}"
    notify  = [state.told]
  }
  require = [file.conf, file.shared]
}
state "told" {
  lazy = true
  command "told" {
    argv = ["sh", "${var.root}/told", secret("odd")]
  }
}
state "waits" {
  lazy    = true
  require = [command.fails]
  command "waits" {
    argv = ["echo", secret("odd")]
  }
}
file "owes" {
  path    = "${var.root}/owes"
  content = secret("odd")
  notify  = [state.waits]
}
state "later" {
  require = [command.fails]
  param "password" {
    default = secret("odd")
  }
  command "later" {
    argv = ["echo", param.password]
  }
}
`

const told = `for v in "$@"; do
  printf '%s\n' "$v"
  printf 'a%s' "$v" | od -An -v -tx1 | tr -d ' \n'; echo
  for before in '' u us use; do printf '%s%s\n' "$before" "$v" | base64 -w0; echo; done
  for before in 33 40 47; do printf "%0${before}d%s" 0 "$v" | base64; printf "%0${before}d%s" 0 "$v" | od -An -v -tx1 | tr -d ' \n' | fold -w 64; echo; done
  printf '{"x": "%s"}\n' "$v"
  printf '%s' "$v" | sed 's/^/   | /'; echo
done
cat "$(dirname "$0")/forms"
`

// hide are the secrets: with all that encodings change, of several lines, within
// JSON, and of a sensitive variable.
var hide = map[string]string{
	"odd":   "p@ss \"w\\ö<&>'/+%?=~" + "x7Q",
	"key":   "-----BEGIN TEST-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTU\n-----END TEST-----\n",
	"json":  `{"token": "t0ken-4711-abcdef"}`,
	"token": "t0ken-4711-abcdef",
	"login": "hunter2-login",
}

// forms are what must not be found: what others would make of a secret. They are
// not made by the code that hides them.
func forms() map[string]string {
	found := map[string]string{}
	for name, secret := range hide {
		texts := []string{secret}
		if strings.Contains(secret, "\n") {
			texts = strings.Split(strings.TrimSpace(secret), "\n")[1:3] // the first and last line are known to all
			texts = append(texts, secret)
		}
		for _, text := range texts {
			plain, err := json.Marshal(text)
			if err != nil {
				panic(err)
			}
			var raw bytes.Buffer
			e := json.NewEncoder(&raw)
			e.SetEscapeHTML(false)
			if err := e.Encode(text); err != nil {
				panic(err)
			}
			ascii := regexp.MustCompile(`[^ -~]`).ReplaceAllStringFunc(strings.Trim(raw.String(), "\"\n"), func(c string) string {
				return fmt.Sprintf(`\u%04x`, []rune(c)[0])
			})
			query := url.QueryEscape(text)
			for kind, form := range map[string]string{
				"raw": text, "JSON": strings.Trim(string(plain), `"`), "JSON without HTML": strings.Trim(raw.String(), "\"\n"),
				"hex": hex.EncodeToString([]byte(text)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(text))),
				"query": query, "path": url.PathEscape(text), "component": strings.ReplaceAll(query, "+", "%20"),
				"lower query": regexp.MustCompile(`%..`).ReplaceAllStringFunc(query, strings.ToLower), "JSON in ASCII": ascii,
				"Python's quote": strings.ReplaceAll(strings.ReplaceAll(query, "+", "%20"), "%2F", "/"),
			} {
				found[form] = name + " as " + kind
			}
		}
	}
	return found
}

// find reports a secret in a text, in any form, also within base64 at any
// offset, which is decoded for that.
func find(t *testing.T, where string, text []byte) {
	t.Helper()
	for form, what := range forms() {
		if i := bytes.Index(text, []byte(form)); i >= 0 {
			t.Errorf("%s shows %s: %.300q", where, what, text[max(0, i-60):])
			return
		}
	}
	for _, token := range regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}`).FindAll(text, -1) {
		standard := strings.NewReplacer("-", "+", "_", "/").Replace(string(token))
		for skip := range 4 {
			rest := standard[min(skip, len(standard)):]
			decoded, err := base64.RawStdEncoding.DecodeString(rest[:len(rest)/4*4])
			if err != nil {
				continue
			}
			for name, secret := range hide {
				// Seven bytes of it are too many.
				for i := 0; i+7 <= len(secret) && name != "key" && name != "json"; i++ {
					if bytes.Contains(decoded, []byte(secret[i:i+7])) {
						t.Errorf("%s shows %s in base64: %q", where, name, decoded)
						return
					}
				}
			}
		}
	}
}

// A secret that goes through template, file content, diff, failure message,
// events, logs, report and saved JSON appears in none of them, in any encoding;
// the written file has it.
func TestSecretsAppearNowhere(t *testing.T) {
	dir := t.TempDir()
	site, root, state := filepath.Join(dir, "site"), filepath.Join(dir, "root"), filepath.Join(dir, "state")
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"site/site.hcl": secretSite, "site/conf.tmpl": "password = ${password}\nkey:\n${key}",
		"site/secrets.recipients": key.Recipient().String(), "root/told": told, "root/conf": "password = old\n",
		"key": key.String(), "root/forms": strings.Join(slices.Sorted(maps.Keys(forms())), "\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want int, in string, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		got := cli.Main(args, cli.Environment{In: strings.NewReader(in), Out: &out, Err: &errs, Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TENET_VAR_login=" + hide["login"], "TENET_IDENTITY=" + filepath.Join(dir, "key")}})
		if got != want {
			t.Errorf("%v ends with %d:\n%s%s", args, got, out.String(), errs.String())
		}
		find(t, strings.Join(args, " "), out.Bytes())
		find(t, strings.Join(args, " ")+", to standard error", errs.Bytes())
		return out.String()
	}
	run(0, hide["odd"], "secret", "set", "odd", site)
	run(0, hide["odd"]+"\n", "secret", "set", "prod/odd", site)
	run(0, hide["key"], "secret", "set", "key", site)
	run(0, hide["json"], "secret", "set", "json", site)
	run(0, "", "secret", "list", "--json", site)
	with := func(args ...string) []string {
		return append(args, "--var", "root="+root, "--state-dir", state, site)
	}
	run(0, "", with("validate")...)
	looks := [][]string{{"plan", "-v"}, {"plan", "--json"}, {"compile", "--json"}, {"compile", "-v"},
		{"graph"}, {"graph", "--format", "dot"}, {"graph", "--format", "mermaid"}, {"graph", "--format", "json"},
		{"inspect", "vars"}, {"inspect", "vars", "--json"}, {"inspect", "all"}, {"inspect", "all", "--json"},
		{"why", "file.conf"}, {"why", "command.fails", "--json"}}
	for _, args := range looks {
		run(0, "", with(args...)...)
	}
	if plan := run(0, "", with("plan", "--json")...); !strings.Contains(plan, `"(sensitive)"`) {
		t.Errorf("the plan hides nothing:\n%s", plan)
	}
	applied := run(1, "", with("apply", "--yes", "--json")...)
	if !strings.Contains(applied, "(sensitive)") || !strings.Contains(applied, `"outcome":"failed"`) {
		t.Errorf("nothing was hidden, or nothing failed:\n%s", applied)
	}
	run(1, "", with("apply", "--yes", "-v")...)
	for _, args := range append(looks, []string{"history"}, []string{"history", "--json"}, []string{"status"}, []string{"status", "--json"},
		[]string{"logs"}, []string{"logs", "--json"}, []string{"logs", "-v"}) {
		if args[0] != "history" && args[0] != "status" && args[0] != "logs" {
			run(0, "", with(args...)...)
			continue
		}
		run(0, "", append(args, "--state-dir", state)...)
	}
	checkWritten(t, root)
	hidesWhatIsLeft(t, run, with, dir)
	findInState(t, state)
}

// hidesWhatIsLeft looks at what earlier runs have left, at saved plans, and at what is
// no longer declared.
func hidesWhatIsLeft(t *testing.T, run func(int, string, ...string) string, with func(...string) []string, dir string) {
	t.Helper()
	state, plan, site := filepath.Join(dir, "state"), filepath.Join(dir, "plan.tenet"), filepath.Join(dir, "site", "site.hcl")
	if left := run(0, "", "status", "--state-dir", state); !strings.Contains(left, "state.waits") || !strings.Contains(left, "owed") {
		t.Errorf("nothing is owed:\n%s", left)
	}
	if held := run(0, "", "status", "--managed", "--state-dir", state); !strings.Contains(held, "/shared") {
		t.Errorf("nothing is managed:\n%s", held)
	}
	run(0, "", with("watch", "--plan-only", "--rounds", "1", "--json")...)
	run(0, "", with("plan", "-o", plan)...)
	saved, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	find(t, "the saved plan", saved)
	for _, args := range [][]string{{"show"}, {"show", "--json"}, {"show", "--html"}} {
		run(0, "", append(args, plan)...)
	}
	run(1, "", "apply", "--json", "--state-dir", state, plan)
	text, err := os.ReadFile(site)
	if err == nil {
		text = regexp.MustCompile(`(?s)file "shared" \{.*?\n\}\n`).ReplaceAll(text, nil)
		text = bytes.ReplaceAll(text, []byte(", file.shared]"), []byte("]"))
		err = os.WriteFile(site, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	findInState(t, state)
	if pruned := run(0, "", with("plan", "--prune", "--json")...); !strings.Contains(pruned, `"orphan"`) {
		t.Errorf("nothing is no longer declared:\n%s", pruned)
	}
	run(1, "", with("apply", "--prune", "--yes", "-v")...)
}

// findInState looks for secrets in all files of a state folder.
func findInState(t *testing.T, state string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s, %v", path, info.Mode(), err)
		}
		if d.IsDir() {
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		find(t, path, data)
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files in the state folder, %v", files, err)
	}
}

// checkWritten demands that the host has the secrets, and that nobody else may
// read them.
func checkWritten(t *testing.T, root string) {
	t.Helper()
	for name, want := range map[string]struct {
		mode    fs.FileMode
		content string
	}{
		"shared": {0o640, ""},
		"conf":   {0o600, "password = " + hide["odd"] + "\nkey:\n" + hide["key"]},
		"whole":  {0o600, hide["odd"]},
		"result": {0o600, ""},
		"made":   {0o600, "made here\n"},
	} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode().Perm() != want.mode {
			t.Errorf("%s is %v, %v", name, info.Mode(), err)
		}
		if want.content != "" && string(data) != want.content {
			t.Errorf("%s holds %q", name, data)
		}
	}
	var shared struct{ Password string }
	if data, err := os.ReadFile(filepath.Join(root, "shared")); err != nil || json.Unmarshal(data, &shared) != nil || shared.Password != hide["odd"] {
		t.Errorf("shared holds %s, %v", data, err)
	}
}
