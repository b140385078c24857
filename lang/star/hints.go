package star

import (
	"regexp"
	"slices"
)

// syntaxHints say what to write in the place of what other languages have. The
// first that fits the line counts.
var syntaxHints = []struct {
	pattern       *regexp.Regexp
	summary, hint string
}{
	{regexp.MustCompile(`\b[fF]r?["']`), "there are no f-strings", `write "…%s…" % name or "…{}…".format(name)`},
	{regexp.MustCompile(`^\s*(import\s+\w|from\s+\S+\s+import\b)`), "there is no import", `write load("./lib.star", "name"); the language's functions are there anyway`},
	{regexp.MustCompile(`^\s*class\s`), "there are no classes", "write a def that returns a dict or a list of parts"},
	{regexp.MustCompile(`^\s*(try|except\b.*|finally)\s*:`), "there is no try", `check before: if "key" in d: …; for values that are not known yet there is the function try(a, b) of the language, in HCL`},
	{regexp.MustCompile(`^\s*raise\b`), "there is no raise", `write fail("what is wrong")`},
	{regexp.MustCompile(`^\s*with\s`), "there is no with", "write read(PATH) for the text of a file of the site"},
	{regexp.MustCompile(`^\s*(global|nonlocal)\s`), "there is no global", "return the value from the function, or change a dict or list"},
	{regexp.MustCompile(`^\s*while\b`), "there are no while loops", "write for x in range(N): …, and break"},
	{regexp.MustCompile(`\bis\s+(not\s+)?\w`), `there is no "is"`, "write == None or != None"},
	{regexp.MustCompile(`^\s*del\s`), "there is no del", "write d.pop(KEY), or make a new list"},
	{regexp.MustCompile(`^\s*(async|await|yield)\b|\b(yield|await)\s`), "there are no generators and no async", "return a list"},
	{regexp.MustCompile(`\{\{.*\}\}`), "{{ … }} is no value here", `write the name of the value without quotes; in text "…%s…" % name`},
	{regexp.MustCompile(`^\s*-\s+\w[\w .-]*:(\s|$)`), "this looks like YAML", `write TYPE("LABEL", attribute = value), such as file("/etc/motd", content = "…")`},
	{regexp.MustCompile(`^\s*[\w-]+:(\s+\S.*)?$`), "this looks like YAML", `write NAME = value, in a call: file("/etc/motd", content = "…")`},
	{regexp.MustCompile(`^\s*\w+(\s+"[^"]*")+\s*\{`), "this looks like HCL", `write TYPE("LABEL", attribute = value), or put it into a file named *.hcl`},
	{regexp.MustCompile(`^\s*\w+\s*\{\s*$`), "this looks like HCL", `write TYPE("LABEL", attribute = value), or put it into a file named *.hcl`},
	{regexp.MustCompile(`\?[^"']*:`), `there is no "? :"`, "write A if CONDITION else B"},
	{regexp.MustCompile(`&&`), `there is no "&&"`, "write and"},
	{regexp.MustCompile(`\|\|`), `there is no "||"`, "write or"},
	{regexp.MustCompile(`(^|[^=!<>"'])!\s*[\w(]`), `there is no "!"`, "write not"},
	{regexp.MustCompile(`\$\{`), "", `there are no templates in text: write "…%s…" % name`},
	{regexp.MustCompile(`\*\*\s*\d`), `there is no "**"`, "write pow(a, b)"},
	{regexp.MustCompile(`\w\s*(\+\+|--)`), "there is no ++", "write x += 1"},
	{regexp.MustCompile(`^\s*@\w`), "there are no decorators", "call the function yourself"},
	{regexp.MustCompile(`:=`), `there is no ":="`, "assign in a line of its own"},
	{regexp.MustCompile(`^\s*(elif|else\s+if|if|for|def)\b[^:]*$`), "", "end the line with a colon"},
	{regexp.MustCompile(`^\s*(//|/\*)`), "", "a comment begins with #"},
	{regexp.MustCompile(`\bdef\s+\w+\(.*\w\s*:\s*\w+|\)\s*->`), "there are no type annotations", "leave them out"},
}

// insteadOf says what stands in the place of names that others have.
var insteadOf = map[string]string{
	"true": "write True", "false": "write False", "null": "write None", "nil": "write None", "none": "write None",
	"string": `types are text: type = "string"`, "number": `types are text: type = "number"`, "map": `types are text: "map(string)"; there is no map(): write [f(x) for x in list]`,
	"object": `types are text: type = "object({ a = string })"`, "optional": `types are text: type = "object({ a = optional(string) })"`,
	"local": "a value is a name here: name = …", "locals": "a value is a name here: name = …",
	"param": "a param of a state is a parameter of its function: def parts(tls = False): …",
	"each":  "write a loop: for x in list: …", "for_each": "write a loop, with instance = KEY",
	"self":       "a part is a value: conf = file(…), and then notify = [conf]",
	"open":       "write read(PATH) for the text of a file of the site",
	"input":      "write variable(NAME)",
	"filter":     "write [x for x in list if …]",
	"isinstance": `write type(x) == "string"`,
	"round":      "write int(x + 0.5) or floor(x)",
	"super":      "there are no classes", "Exception": `write fail("what is wrong")`,
	"os": "there is no access to the controller; facts are fact.NAME", "sys": "there is no access to the controller",
	"json": "write jsonencode(x) or jsondecode(text)", "yaml": "write yamlencode(x) or yamldecode(text)",
	"time": "nothing depends on the clock", "random": "nothing depends on chance", "struct": `write a dict: {"name": value}`,
	"templatefile": "write template(PATH, name = value)", "lookup_env": "write variable(NAME), and set TENET_VAR_NAME",
	"depends_on": "write require = […]", "functions": "load() shares functions between scripts", "validation": "write variable(NAME, validation = {…})",
	"vars": "write var.NAME", "facts": "write fact.NAME", "include": `write load("./lib.star", "name")`,
	"include_tasks": `write load("./lib.star", "name")`, "when": "it is an argument: when = …", "require": "it is an argument: require = […]",
	"notify": "it is an argument: notify = […]",
}

func sortStrings(list []string) { slices.Sort(list) }
