package expr_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
)

// evaluate gives the plain value of an expression, or what is wrong with it.
func evaluate(t *testing.T, text string) (any, error) {
	t.Helper()
	v, diags := expression(t, text, false)
	if diags.HasErrors() {
		return nil, expr.FromHCL(diags).Err()
	}
	v, sensitive := expr.Split(v)
	plain, err := expr.Plain(v)
	if sensitive {
		plain = []any{"sensitive", plain}
	}
	return plain, err
}

// expression evaluates an expression in which secret and secret(NAME) are
// sensitive.
func expression(t *testing.T, text string, hidden bool) (cty.Value, hcl.Diagnostics) {
	t.Helper()
	files := expr.NewFiles(fstest.MapFS{
		"dir/hello.tmpl": {Data: []byte("hello ${name}%{ for x in list }, ${x}%{ endfor }")},
		"dir/index.tmpl": {Data: []byte("${{ hunter2 = 1 }[key]}")},
		"dir/text":       {Data: []byte("text\n")},
	})
	x, diags := hclsyntax.ParseExpression([]byte(text), "test", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	files.UseVault(expr.NewVault(expr.Target{SecretsHidden: hidden, Secrets: func(name string) (string, error) {
		if name == "none" {
			return "", errors.New("there is none")
		}
		return "hunter2", nil
	}}))
	ctx := &hcl.EvalContext{Functions: files.FunctionMap("dir"), Variables: map[string]cty.Value{
		"secret": cty.StringVal("hunter2").Mark(expr.Sensitive),
		"db":     cty.ObjectVal(map[string]cty.Value{"password": cty.StringVal("hunter2").Mark(expr.Sensitive), "user": cty.StringVal("ada")}),
	}}
	v, diags := x.Value(ctx)
	if expr.HasIndex(x) && !diags.HasErrors() {
		v = expr.MarkIndexed(x, ctx, v)
	}
	return v, diags
}

// functionExamples are calls of all functions with what they give: those of
// Terraform's documentation where it has the function.
func functionExamples() [][2]string {
	return slices.Concat(firstExamples(), moreExamples())
}

func firstExamples() [][2]string {
	return [][2]string{
		{`chomp("hello\n")`, `"hello"`},
		{`endswith("hello world", "world")`, `true`},
		{`format("Hello, %s! %03d %.2f", "Ander", 7, 1.5)`, `"Hello, Ander! 007 1.50"`},
		{`formatlist("Hello, %s!", ["A", "B"])`, `["Hello, A!","Hello, B!"]`},
		{`indent(2, "a\nb")`, `"a\n  b"`},
		{`join(", ", ["foo", "bar"])`, `"foo, bar"`},
		{`regex("[a-z]+", "53453453.345345aaabbbccc23454")`, `"aaabbbccc"`},
		{`regex("^(?P<scheme>[^:]+):", "https://x")`, `{"scheme":"https"}`},
		{`regexall("[a-z]+", "1234abcd5678efgh9")`, `["abcd","efgh"]`},
		{`replace("1 + 2 + 3", "+", "-")`, `"1 - 2 - 3"`},
		{`replace("hello world", "/w.*d/", "everybody")`, `"hello everybody"`},
		{`replace("hello world", "/(?P<n>o)/", "[$n]")`, `"hell[o] w[o]rld"`},
		{`split(",", "foo,bar,baz")`, `["foo","bar","baz"]`},
		{`startswith("hello", "hel")`, `true`},
		{`strcontains("hello", "ll")`, `true`},
		{`strrev("hello ☃")`, `"☃ olleh"`},
		{`strlen("añb")`, `3`},
		{`substr("hello world", 1, 4)`, `"ello"`},
		{`substr("hello world", -5, -1)`, `"world"`},
		{`title("hello world")`, `"Hello World"`},
		{`trim("?!hello?!", "!?")`, `"hello"`},
		{`trimprefix("helloworld", "hello")`, `"world"`},
		{`trimsuffix("helloworld", "world")`, `"hello"`},
		{`trimspace("  hello\n\n")`, `"hello"`},
		{`upper("hello") == "HELLO" && lower("HELLO") == "hello"`, `true`},

		{`alltrue([true, "true"])`, `true`},
		{`alltrue([true, false])`, `false`},
		{`alltrue([])`, `true`},
		{`anytrue([])`, `false`},
		{`anytrue([false, true])`, `true`},
		{`chunklist(["a", "b", "c"], 2)`, `[["a","b"],["c"]]`},
		{`coalesce("", null, "b")`, `"b"`},
		{`coalesce(null, 1)`, `1`},
		{`coalescelist([], ["c"])`, `["c"]`},
		{`compact(["a", "", "b"])`, `["a","b"]`},
		{`concat(["a"], ["b", "c"])`, `["a","b","c"]`},
		{`contains(["a", "b"], "a")`, `true`},
		{`distinct(["a", "b", "a"])`, `["a","b"]`},
		{`element(["a", "b", "c"], 4)`, `"b"`},
		{`flatten([["a"], [], [["b"], "c"]])`, `["a","b","c"]`},
		{`index(["a", "b", "c"], "b")`, `1`},
		{`keys({ b = 1, a = 2 })`, `["a","b"]`},
		{`[length([1, 2]), length({ a = 1 }), length("añ"), length(toset(["a", "a"]))]`, `[2,1,2,1]`},
		{`lookup({ a = "x" }, "a", "y")`, `"x"`},
		{`lookup({ a = "x" }, "b", "y")`, `"y"`},
		{`matchkeys(["i-1", "i-2", "i-3"], ["us", "eu", "us"], ["us"])`, `["i-1","i-3"]`},
		{`[matchkeys([], [], ["a"]), matchkeys([1, 2], ["a", "b"], []), matchkeys([1, 2], [1, "b"], ["1"])]`, `[[],[],[1]]`},
		{`merge({ a = 1, b = 2 }, { b = 3 })`, `{"a":1,"b":3}`},
		{`[one(["x"]), one([])]`, `["x",null]`},
		{`range(1, 8, 2)`, `[1,3,5,7]`},
		{`reverse([1, 2, 3])`, `[3,2,1]`},
		{`setintersection(["a", "b"], ["b", "c"])`, `["b"]`},
		{`setproduct(["a", "b"], ["c"])`, `[["a","c"],["b","c"]]`},
		{`setsubtract(["a", "b"], ["a"])`, `["b"]`},
		{`setunion(["b"], ["a", "b"])`, `["a","b"]`},
		{`slice(["a", "b", "c", "d"], 1, 3)`, `["b","c"]`},
	}
}

func moreExamples() [][2]string {
	return [][2]string{
		{`sort(["e", "d", "a"])`, `["a","d","e"]`},
		{`sum([10, 13, 6, 4.5])`, `33.5`},
		{`transpose({ a = ["1", "2"], b = ["2"] })`, `{"1":["a"],"2":["a","b"]}`},
		{`values({ b = 1, a = 2 })`, `[2,1]`},
		{`zipmap(["a", "b"], [1, 2])`, `{"a":1,"b":2}`},

		{`[can(tonumber("x")), can(1)]`, `[false,true]`},
		{`try(tonumber("x"), "fallback")`, `"fallback"`},
		{`[tostring(1.50), tonumber("2"), tobool("true")]`, `["1.5",2,true]`},
		{`[tolist(["a"]), toset(["b", "a", "b"]), tomap({ a = 1 })]`, `[["a"],["a","b"],{"a":1}]`},
		{`upper(sensitive("x"))`, `["sensitive","X"]`},
		{`template("hello.tmpl", { name = secret, list = [] })`, `["sensitive","hello hunter2"]`},
		{`[issensitive(secret), issensitive([secret]), issensitive(upper(secret)), issensitive("x"), issensitive(nonsensitive(secret))]`, `[true,true,true,false,false]`},
		{`nonsensitive(secret)`, `"hunter2"`},

		{`[abs(-2), ceil(5.1), floor(4.9), log(16, 2), max(5, 12), min(5, 12), pow(3, 2), signum(-3)]`, `[2,6,4,4,12,5,9,-1]`},
		{`[parseint("100", 10), parseint("FF", 16)]`, `[100,255]`},

		{`base64encode("Hello World")`, `"SGVsbG8gV29ybGQ="`},
		{`base64decode("SGVsbG8gV29ybGQ=")`, `"Hello World"`},
		{`csvdecode("a,b\n1,2\n")`, `[{"a":"1","b":"2"}]`},
		{`jsondecode("{\"hello\": [1, null]}")`, `{"hello":[1,null]}`},
		{`jsonencode({ hello = "world", n = 1.5 })`, `"{\"hello\":\"world\",\"n\":1.5}"`},
		{`yamldecode("hello: [world, 1]")`, `{"hello":["world",1]}`},
		{`yamlencode({ a = "b", c = [1] })`, `"\"a\": \"b\"\n\"c\":\n- 1\n"`},
		{`textencodebase64("Hello World", "UTF-16LE")`, `"SABlAGwAbABvACAAVwBvAHIAbABkAA=="`},
		{`textdecodebase64("SABlAGwAbABvACAAVwBvAHIAbABkAA==", "utf-16le")`, `"Hello World"`},
		{`[for e in ["UTF-8", "UTF-16BE", "ISO-8859-1", "ISO-8859-15", "windows-1252"] : textencodebase64("ä", e)]`, `["w6Q=","AOQ=","5A==","5A==","5A=="]`},
		{`urldecode("Hello+World%21%20")`, `"Hello World! "`},
		{`urlencode("Hello World!")`, `"Hello+World%21"`},

		{`md5("hello world")`, `"5eb63bbbe01eeed093cb22bb8f5acdc3"`},
		{`sha1("hello world")`, `"2aae6c35c94fcfb415dbe95f408b9ce91ee846ed"`},
		{`sha256("hello world")`, `"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"`},
		{`base64sha256("hello world")`, `"uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="`},
		{`substr(sha512("hello world"), 0, 16)`, `"309ecc489c12d6eb"`},
		{`substr(base64sha512("hello world"), 0, 8)`, `"MJ7MSJwS"`},
		{`uuidv5("dns", "www.terraform.io")`, `"a5008fae-b28c-5ba5-96cd-82b4c53552d6"`},
		{`uuidv5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.terraform.io")`, `"a5008fae-b28c-5ba5-96cd-82b4c53552d6"`},

		{`cidrhost("10.12.112.0/20", 16)`, `"10.12.112.16"`},
		{`cidrhost("10.12.112.0/20", -2)`, `"10.12.127.254"`},
		{`cidrhost("fd00:fd12:3456:7890:00a2::/72", 34)`, `"fd00:fd12:3456:7890::22"`},
		{`cidrnetmask("172.16.0.0/12")`, `"255.240.0.0"`},
		{`cidrsubnet("172.16.0.0/12", 4, 2)`, `"172.18.0.0/16"`},
		{`cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162)`, `"fd00:fd12:3456:7800:a200::/72"`},
		{`cidrsubnets("10.1.0.0/16", 4, 4, 8, 4)`, `["10.1.0.0/20","10.1.16.0/20","10.1.32.0/24","10.1.48.0/20"]`},
		{`[cidrcontains("10.0.0.0/8", "10.1.2.3"), cidrcontains("10.0.0.0/8", "10.0.0.0/7"), cidrcontains("10.0.0.0/8", "11.0.0.1")]`, `[true,false,false]`},

		{`formatdate("DD MMM YYYY hh:mm ZZZ", "2018-01-02T23:12:01Z")`, `"02 Jan 2018 23:12 UTC"`},
		{`timeadd("2017-11-22T00:00:00Z", "10m")`, `"2017-11-22T00:10:00Z"`},
		{`timecmp("2017-11-22T00:00:00Z", "2017-11-22T01:00:00+01:00")`, `0`},

		{`[basename("foo/bar/baz.txt"), dirname("foo/bar/baz.txt")]`, `["baz.txt","foo/bar"]`},
		{`read("text")`, `"text\n"`},
		{`[read(source("text")) == read("text"), exists(source("../dir")), source("text") == source("../dir")]`, `[true,true,false]`},
		{`[exists("text"), exists("../dir"), exists("none")]`, `[true,true,false]`},
		{`secret("db")`, `["sensitive","hunter2"]`},
		{`template("hello.tmpl", { name = "x", list = ["a", "b"] })`, `"hello x, a, b"`},
	}
}

func TestFunctions(t *testing.T) {
	tested := ""
	for _, tt := range functionExamples() {
		tested += tt[0] + "\n"
		got, err := evaluate(t, tt[0])
		if err != nil {
			t.Errorf("%s: %v", tt[0], err)
			continue
		}
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(tt[1]) {
			t.Errorf("%s = %s, want %s", tt[0], data, tt[1])
		}
	}
	for _, doc := range expr.FunctionDocs() {
		if !strings.Contains(tested, doc.Name+"(") && doc.Name != "hosts" {
			t.Errorf("%s is not tested", doc.Name)
		}
		if doc.Doc == "" || doc.Group == "" || !strings.HasPrefix(doc.Signature, doc.Name+"(") {
			t.Errorf("%s is not described: %+v", doc.Name, doc)
		}
	}
}

func TestFunctionsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		`cidrhost("10.0.0.0/30", 4)`:            "holds no address number 4",
		`cidrsubnet("10.0.0.0/30", 3, 0)`:       "has no room for 3 more bits",
		`cidrsubnet("10.0.0.0/8", 2, 4)`:        "has no network number 4",
		`cidrsubnets("10.0.0.0/30", 1, 1, 1)`:   "has no room for network number 3",
		`cidrnetmask("fd00::/8")`:               "only IPv4",
		`cidrhost("10.0.0.1", 1)`:               "is no network",
		`cidrhost(secret, 1)`:                   "hidden",
		`one(["a", "b"])`:                       "more than one",
		`index(["a"], "b")`:                     "not in the list",
		`lookup({}, "x")`:                       "no key",
		`coalesce("", null)`:                    "all arguments are null or empty",
		`timecmp("now", "now")`:                 "no RFC 3339 time",
		`uuidv5("x", "y")`:                      "a UUID",
		`matchkeys(["a"], [], [])`:              "as many keys as values",
		`textencodebase64("a", "KOI9")`:         "the encoding is UTF-8",
		`textencodebase64("☃", "ISO-8859-1")`:   "characters that the encoding has not",
		`textdecodebase64("AA==", "UTF-16LE")`:  "no text in this encoding",
		`textdecodebase64("!", "UTF-8")`:        "illegal base64",
		`urldecode("%zz")`:                      "invalid URL escape",
		`file("x")`:                             "use read(PATH)",
		`fileexists("x")`:                       "use exists(PATH)",
		`templatefile("x", {})`:                 "use template(PATH, VARS)",
		`filebase64("x")`:                       "attribute source",
		`base64decode("!")`:                     "base64decode()",
		`replace("a", "/(/", "b")`:              "missing closing",
		`template("hello.tmpl", 1)`:             "an object is required",
		`template("hello.tmpl", { list = [] })`: "Unknown variable",
		`read("../../x")`:                       "outside of the site",
		`nonsense()`:                            "no function named",
		`timestamp()`:                           "no function named",
		`sum(["x"])`:                            "no number",
	} {
		_, err := evaluate(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s shows a secret: %v", text, err)
		}
		if !strings.HasSuffix(err.Error(), ")") {
			t.Errorf("%s: no hint: %v", text, err)
		}
	}
}
