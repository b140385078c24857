package expr

// Example is an expression and the value that it has, both as the language
// writes them.
type Example struct {
	Expression string `json:"expression"`
	Value      string `json:"value"`
}

// ExampleFiles are the files that examples of functions look at.
func ExampleFiles() map[string]string {
	return map[string]string{"motd": "hello\n", "motd.tmpl": "Welcome to ${name}.\n"}
}

// functionExamples gives an example of each function.
func functionExamples() map[string]Example {
	all := map[string]Example{}
	for _, table := range [][][3]string{textExamples(), collectionExamples(), otherExamples()} {
		for _, e := range table {
			all[e[0]] = Example{e[1], e[2]}
		}
	}
	return all
}

func textExamples() [][3]string {
	return [][3]string{
		{"chomp", `chomp("hello\n")`, `"hello"`},
		{"endswith", `endswith("app.conf", ".conf")`, `true`},
		{"format", `format("%s-%03d", "web", 7)`, `"web-007"`},
		{"formatlist", `formatlist("%s.example.test", ["a", "b"])`, `["a.example.test", "b.example.test"]`},
		{"indent", `indent(2, "a:\nb")`, `"a:\n  b"`},
		{"join", `join(", ", ["a", "b"])`, `"a, b"`},
		{"lower", `lower("Debian")`, `"debian"`},
		{"regex", `regex("[0-9]+", "release 12.4")`, `"12"`},
		{"regexall", `regexall("[0-9]+", "release 12.4")`, `["12", "4"]`},
		{"replace", `replace("a.b.c", "/\\./", "-")`, `"a-b-c"`},
		{"split", `split(",", "a,b")`, `["a", "b"]`},
		{"startswith", `startswith("/etc/motd", "/etc/")`, `true`},
		{"strcontains", `strcontains("hello", "ell")`, `true`},
		{"strlen", `strlen("größe")`, `5`},
		{"strrev", `strrev("abc")`, `"cba"`},
		{"substr", `substr("hello world", 6, 5)`, `"world"`},
		{"title", `title("hello world")`, `"Hello World"`},
		{"trim", `trim("--a-b--", "-")`, `"a-b"`},
		{"trimprefix", `trimprefix("v1.2", "v")`, `"1.2"`},
		{"trimspace", `trimspace("  hello\n")`, `"hello"`},
		{"trimsuffix", `trimsuffix("app.conf", ".conf")`, `"app"`},
		{"upper", `upper("debian")`, `"DEBIAN"`},
	}
}

func collectionExamples() [][3]string {
	return [][3]string{
		{"alltrue", `alltrue([true, 1 < 2])`, `true`},
		{"anytrue", `anytrue([false, 1 < 2])`, `true`},
		{"chunklist", `chunklist(["a", "b", "c"], 2)`, `[["a", "b"], ["c"]]`},
		{"coalesce", `coalesce(null, "", "default")`, `"default"`},
		{"coalescelist", `coalescelist([], ["a"])`, `["a"]`},
		{"compact", `compact(["a", "", null])`, `["a"]`},
		{"concat", `concat(["a"], ["b", "c"])`, `["a", "b", "c"]`},
		{"contains", `contains(["debian", "ubuntu"], "debian")`, `true`},
		{"distinct", `distinct(["a", "b", "a"])`, `["a", "b"]`},
		{"element", `element(["a", "b"], 3)`, `"b"`},
		{"flatten", `flatten([["a"], ["b", ["c"]]])`, `["a", "b", "c"]`},
		{"index", `index(["a", "b"], "b")`, `1`},
		{"keys", `keys({ b = 2, a = 1 })`, `["a", "b"]`},
		{"length", `length(["a", "b"])`, `2`},
		{"lookup", `lookup({ a = 1 }, "b", 0)`, `0`},
		{"matchkeys", `matchkeys(["web1", "db1"], ["web", "db"], ["db"])`, `["db1"]`},
		{"merge", `merge({ a = 1, b = 1 }, { b = 2 })`, `{ a = 1, b = 2 }`},
		{"one", `one(["a"])`, `"a"`},
		{"range", `range(1, 4)`, `[1, 2, 3]`},
		{"reverse", `reverse(["a", "b"])`, `["b", "a"]`},
		{"setintersection", `setintersection(["a", "b"], ["b", "c"])`, `["b"]`},
		{"setproduct", `setproduct(["a", "b"], [1, 2])`, `[["a", 1], ["a", 2], ["b", 1], ["b", 2]]`},
		{"setsubtract", `setsubtract(["a", "b"], ["a"])`, `["b"]`},
		{"setunion", `setunion(["a"], ["b"])`, `["a", "b"]`},
		{"slice", `slice(["a", "b", "c"], 1, 3)`, `["b", "c"]`},
		{"sort", `sort(["b", "a"])`, `["a", "b"]`},
		{"sum", `sum([1, 2, 3.5])`, `6.5`},
		{"transpose", `transpose({ ada = ["web"], bob = ["db", "web"] })`, `{ db = ["bob"], web = ["ada", "bob"] }`},
		{"values", `values({ b = 2, a = 1 })`, `[1, 2]`},
		{"zipmap", `zipmap(["a", "b"], [1, 2])`, `{ a = 1, b = 2 }`},

		{"can", `can(tonumber("x"))`, `false`},
		{"issensitive", `issensitive(sensitive("x"))`, `true`},
		{"nonsensitive", `nonsensitive(sensitive("x"))`, `"x"`},
		{"sensitive", `sensitive("x")`, `(sensitive)`},
		{"tobool", `tobool("true")`, `true`},
		{"tolist", `tolist(["a", "b"])`, `["a", "b"]`},
		{"tomap", `tomap({ a = 1 })`, `{ a = 1 }`},
		{"tonumber", `tonumber("80")`, `80`},
		{"toset", `toset(["b", "a", "b"])`, `["a", "b"]`},
		{"tostring", `tostring(80)`, `"80"`},
		{"try", `try({ a = 1 }.b, "default")`, `"default"`},
	}
}

func otherExamples() [][3]string {
	return [][3]string{
		{"abs", `abs(-2)`, `2`},
		{"ceil", `ceil(1.2)`, `2`},
		{"floor", `floor(1.8)`, `1`},
		{"log", `log(8, 2)`, `3`},
		{"max", `max(1, 3, 2)`, `3`},
		{"min", `min(1, 3, 2)`, `1`},
		{"parseint", `parseint("ff", 16)`, `255`},
		{"pow", `pow(2, 10)`, `1024`},
		{"signum", `signum(-5)`, `-1`},

		{"base64decode", `base64decode("aGVsbG8=")`, `"hello"`},
		{"base64encode", `base64encode("hello")`, `"aGVsbG8="`},
		{"csvdecode", `csvdecode("name,uid\nada,1000\n")`, `[{ name = "ada", uid = "1000" }]`},
		{"jsondecode", `jsondecode("{\"a\": 1}")`, `{ a = 1 }`},
		{"jsonencode", `jsonencode({ a = 1 })`, `"{\"a\":1}"`},
		{"textdecodebase64", `textdecodebase64("aABpAA==", "UTF-16LE")`, `"hi"`},
		{"textencodebase64", `textencodebase64("hi", "UTF-16LE")`, `"aABpAA=="`},
		{"urldecode", `urldecode("a+b%26c")`, `"a b&c"`},
		{"urlencode", `urlencode("a b&c")`, `"a+b%26c"`},
		{"yamldecode", `yamldecode("a: [1, 2]")`, `{ a = [1, 2] }`},
		{"yamlencode", `yamlencode({ a = 1 })`, `"\"a\": 1\n"`},

		{"base64sha256", `base64sha256("")`, `"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="`},
		{"base64sha512", `substr(base64sha512(""), 0, 12)`, `"z4PhNX7vuL3x"`},
		{"md5", `md5("")`, `"d41d8cd98f00b204e9800998ecf8427e"`},
		{"sha1", `sha1("")`, `"da39a3ee5e6b4b0d3255bfef95601890afd80709"`},
		{"sha256", `sha256("")`, `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`},
		{"sha512", `substr(sha512(""), 0, 12)`, `"cf83e1357eef"`},
		{"uuidv5", `uuidv5("dns", "example.test")`, `"4a63a3ed-c1d1-5183-95b9-8491ccc69182"`},

		{"cidrcontains", `cidrcontains("10.0.0.0/8", "10.1.2.3")`, `true`},
		{"cidrhost", `cidrhost("192.0.2.0/24", 10)`, `"192.0.2.10"`},
		{"cidrnetmask", `cidrnetmask("192.0.2.0/26")`, `"255.255.255.192"`},
		{"cidrsubnet", `cidrsubnet("10.0.0.0/8", 8, 2)`, `"10.2.0.0/16"`},
		{"cidrsubnets", `cidrsubnets("10.0.0.0/16", 4, 8)`, `["10.0.0.0/20", "10.0.16.0/24"]`},

		{"formatdate", `formatdate("YYYY-MM-DD", "2024-02-29T12:00:00Z")`, `"2024-02-29"`},
		{"timeadd", `timeadd("2024-02-29T12:00:00Z", "24h")`, `"2024-03-01T12:00:00Z"`},
		{"timecmp", `timecmp("2024-02-29T12:00:00Z", "2024-03-01T12:00:00Z")`, `-1`},

		{"basename", `basename("/etc/nginx/nginx.conf")`, `"nginx.conf"`},
		{"dirname", `dirname("/etc/nginx/nginx.conf")`, `"/etc/nginx"`},
		{"exists", `exists("motd")`, `true`},
		{"read", `read("motd")`, `"hello\n"`},
		{"secret", `secret("db")`, `(sensitive)`},
		{"source", `read(source("motd"))`, `"hello\n"`},
		{"template", `template("motd.tmpl", { name = "web1" })`, `"Welcome to web1.\n"`},
		{"hosts", `[for h in hosts("@web") : h.address]`, `["192.0.2.1", "192.0.2.2"]`},
	}
}
