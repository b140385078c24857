package expr_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// shows are the functions that exist to take a mark off, or to look at it.
var shows = []string{"issensitive", "nonsensitive"}

// argument is one argument of a call within an expression.
type argument struct {
	function string
	from, to int
}

// arguments finds all arguments of all calls of an expression, but for those of
// try and can, which are expressions.
func arguments(t *testing.T, text string) (found []argument) {
	x, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			for _, arg := range call.Args {
				found = append(found, argument{call.Name, arg.Range().Start.Byte, arg.Range().End.Byte})
			}
		}
		return nil
	})
	return found
}

// Whatever argument of whatever function is sensitive, so is the result; and an
// error shows nothing.
func TestMarksSurviveEveryFunction(t *testing.T) {
	tried := map[string]bool{}
	for _, example := range functionExamples() {
		text := example[0]
		for _, a := range arguments(t, text) {
			if slices.ContainsFunc(shows, func(name string) bool { return strings.Contains(text, name+"(") }) {
				continue
			}
			with := func(replacement string) string { return text[:a.from] + replacement + text[a.to:] }
			got, diags := expression(t, with("sensitive("+text[a.from:a.to]+")"), false)
			if diags.HasErrors() { // conversions of whole lists may not fit a parameter
				t.Errorf("%s: %v", with("sensitive("+text[a.from:a.to]+")"), diags)
			} else if _, sensitive := expr.Split(got); !sensitive {
				t.Errorf("%s is not sensitive", with("sensitive("+text[a.from:a.to]+")"))
			} else {
				tried[a.function] = true
			}
			for _, replacement := range []string{`secret`, `[secret]`, `{ (secret) = secret }`, `jsonencode([secret])`} {
				got, diags := expression(t, with(replacement), false)
				_, sensitive := expr.Split(got)
				if text := expr.FromHCL(diags).Error(); strings.Contains(text, "hunter2") {
					t.Errorf("%s shows the secret: %s", with(replacement), text)
				}
				if !diags.HasErrors() && !sensitive {
					t.Errorf("%s is not sensitive", with(replacement))
				}
			}
			got, diags = expression(t, with(`secret("db")`), true)
			if !diags.HasErrors() && !expr.IsWithheld(got) {
				t.Errorf("%s is %#v, not withheld", with(`secret("db")`), got)
			}
		}
	}
	for _, doc := range expr.FunctionDocs() {
		if !tried[doc.Name] && !slices.Contains(shows, doc.Name) && doc.Name != "hosts" { // which takes no secrets, and needs a site
			t.Errorf("%s was not tried", doc.Name)
		}
	}
}

// What is no function keeps the mark as well.
func TestMarksSurviveExpressions(t *testing.T) {
	for _, text := range []string{
		`"a ${secret} b"`,
		`"%{ if secret == "x" }a%{ else }b%{ endif }"`,
		`"%{ for s in [secret] }${s}%{ endfor }"`,
		`secret == "x" ? "a" : "b"`,
		`true ? secret : "b"`,
		`!(secret == "x")`,
		`[for s in [secret] : upper(s)]`,
		`{ for k, v in { a = secret } : k => v }`,
		`[for s in ["a"] : s if secret == "x"]`,
		`{ for s in ["a"] : s => secret... }`,
		`{ (secret) = 1 }`,
		`{ a = { b = [secret] } }`,
		`[{ a = secret }][*].a`,
		`db.password`,
		`db["password"]`,
		`[for k, v in db : v]`,
		`{ hunter2 = 1 }[secret]`,
		`template("index.tmpl", { key = secret })`,
		`[for s in [secret] : { hunter2 = 1 }[s]]`,
		`["a", "b"][length(secret) - 7]`,
		`length(secret) + 1`,
		`-length(secret)`,
		`length(secret) > 3 && true`,
		`try(tonumber(secret), "fallback")`,
		`try(jsondecode(db.password).missing, "fallback")`,
		`try(tonumber(secret("db")), tonumber("x"), "fallback")`,
		`try([for s in [secret] : tonumber(s)], "fallback")`,
		`can(tonumber(secret))`,
		`can(db.password.x)`,
		`can(tonumber("${db.password}"))`,
		`can(tonumber(sensitive("x")))`,
		`can(secret)`,
		`template("hello.tmpl", { name = "x", list = [secret] })`,
		`format("%s %#v", "x", [secret])`,
		`lookup({ a = "b" }, secret, "none")`,
		`contains(["hunter2"], secret)`,
	} {
		got, diags := expression(t, text, false)
		if diags.HasErrors() {
			t.Errorf("%s: %v", text, diags)
		} else if _, sensitive := expr.Split(got); !sensitive {
			t.Errorf("%s is not sensitive", text)
		}
	}
	for _, text := range []string{`db.user`, `try(db.user, "x")`, `can(db.user)`, `try(db.none, "x")`, `[for s in ["a"] : s]`} {
		if text == `try(db.none, "x")` {
			continue // that there is no such attribute is decided by a whole that holds a secret
		}
		got, diags := expression(t, text, false)
		if _, sensitive := expr.Split(got); sensitive || diags.HasErrors() {
			t.Errorf("%s is sensitive: %v", text, diags)
		}
	}
}

// No error shows a secret.
func TestErrorsHideSecrets(t *testing.T) {
	for _, text := range []string{
		`secret + 1`, `secret.x`, `secret[0]`, `{ a = 1 }[secret]`, `[1][secret]`, `secret ? 1 : 2`, `!secret`, `-secret`,
		`{ for k in [secret, secret] : k => 1 }`, `{ for k in [[secret]] : k => 1 }`, `[for x in secret : x]`, `"a${[secret]}"`, `"a${{ a = secret }}"`,
		`template("hello.tmpl", { name = [secret], list = [] })`, `template("hello.tmpl", { name = secret, list = secret })`,
		`template(secret, {})`, `read(secret)`, `jsondecode(secret)`, `try(tonumber(secret), tonumber("${secret}x"))`,
		`secret(secret("none"))`, `db[secret]`, `db.password.user`, `true ? secret : [secret]`, `regex(secret, "a")`, `parseint(secret, 10)`,
		`upper(secret, secret)`, `formatdate("YYYY", secret)`, `lookup({}, secret)`, `merge(secret)`, `zipmap([secret], [])`,
		`tonumber(sensitive("hunter2"))`, `cidrhost(secret("db"), 1)`, `one([secret, secret])`,
	} {
		_, diags := expression(t, text, false)
		if !diags.HasErrors() {
			t.Errorf("%s is no error", text)
		}
		for _, d := range expr.FromHCL(diags) {
			if strings.Contains(d.Error(), "hunter2") {
				t.Errorf("%s: %v", text, d)
			}
		}
	}
}

// What was given out, and what functions made of it, is known to be masked.
func TestSecretTexts(t *testing.T) {
	files := expr.NewFiles(fstest.MapFS{})
	asked := 0
	vault := expr.NewVault(expr.Target{Secrets: func(string) (string, error) {
		asked++
		return `{"user": "ada", "pin": 4711, "password": "hunter2"}`, nil
	}})
	files.UseVault(vault)
	x, diags := hclsyntax.ParseExpression([]byte(`upper("${jsondecode(secret("db")).password} ${length(secret("db"))} ${lower("PLAIN")}")`), "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	v, diags := x.Value(&hcl.EvalContext{Functions: files.FunctionMap(".")})
	if _, sensitive := expr.Split(v); diags.HasErrors() || !sensitive {
		t.Fatal(v, diags)
	}
	want := []string{"4711", "51", "HUNTER2 51 PLAIN", "ada", "hunter2", `{"user": "ada", "pin": 4711, "password": "hunter2"}`}
	if got := vault.Texts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if asked != 1 {
		t.Errorf("asked %d times for one secret", asked)
	}
}

type requireAttributes struct{}

func (requireAttributes) Error() string   { return "there is no secret" }
func (requireAttributes) Names() []string { return []string{"database", "mail"} }

func TestSecretErrors(t *testing.T) {
	at := diag.Range{File: "secrets.age", Start: diag.Pos{Line: 4, Column: 1}}
	for name, tt := range map[string]struct {
		target expr.Target
		want   string
	}{
		"none":    {expr.Target{}, "secrets are not known here"},
		"missing": {expr.Target{Secrets: func(string) (string, error) { return "", requireAttributes{} }}, `did you mean "database"?`},
		"placed": {expr.Target{Secrets: func(string) (string, error) {
			return "", diag.List{{Severity: diag.Error, Summary: "damaged", Range: at}}
		}}, "secrets.age:4:1: damaged"},
		"unplaced": {expr.Target{Secrets: func(string) (string, error) {
			return "", diag.Diagnostic{Summary: "no key"}
		}}, "site.hcl:1:1: no key"},
		"binary": {expr.Target{Secrets: func(string) (string, error) { return "\xffhunter2", nil }}, "is not UTF-8 text"},
	} {
		files := expr.NewFiles(fstest.MapFS{})
		files.UseVault(expr.NewVault(tt.target))
		x, diags := hclsyntax.ParseExpression([]byte(`secret("databse")`), "site.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, diags = x.Value(&hcl.EvalContext{Functions: files.FunctionMap(".")})
		got := expr.FromHCL(diags).Error()
		if !strings.Contains(got, tt.want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if v := cty.UnknownVal(cty.String).Mark(expr.Sensitive); expr.IsWithheld(v) {
		t.Error("a sensitive value is withheld")
	}
}
