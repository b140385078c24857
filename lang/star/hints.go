package star

// syntaxHints say what to write in the place of what other languages have. The
// first that fits the line counts.
func syntaxHints() []betterMessage {
	return []betterMessage{
		{`\b[fF]r?["']`, "there are no f-strings", `write "…%s…" % name or "…{}…".format(name)`},
		{`^\s*(import\s+\w|from\s+\S+\s+import\b)`, "there is no import", `write load("./lib.star", "name"); the language's functions are there anyway`},
		{`^\s*class\s`, "there are no classes", "write a def that returns a dict or a list of parts"},
		{`^\s*(try|except\b.*|finally)\s*:`, "there is no try", `check before: if "key" in d: …; for values that are not known yet there is the function try_(a, b) of the language`},
		{`^\s*raise\b`, "there is no raise", `write fail("what is wrong")`},
		{`^\s*with\s`, "there is no with", "write read(PATH) for the text of a file of the site"},
		{`^\s*(global|nonlocal)\s`, "there is no global", "return the value from the function, or change a dict or list"},
		{`^\s*while\b`, "there are no while loops", "write for x in range(N): …, and break"},
		{`\bis\s+(not\s+)?\w`, `there is no "is"`, "write == None or != None"},
		{`^\s*del\s`, "there is no del", "write d.pop(KEY), or make a new list"},
		{`^\s*(async|await|yield)\b|\b(yield|await)\s`, "there are no generators and no async", "return a list"},
		{`\{\{.*\}\}`, "{{ … }} is no value here", `write the name of the value without quotes; in text "…%s…" % name`},
		{`^\s*-\s+\w[\w .-]*:(\s|$)`, "this looks like YAML", `write TYPE("LABEL", attribute = value), such as file("/etc/motd", content = "…")`},
		{`^\s*[\w-]+:(\s+\S.*)?$`, "this looks like YAML", `write NAME = value, in a call: file("/etc/motd", content = "…")`},
		{`^\s*\w+(\s+"")+\s*\{`, "this looks like HCL", `write TYPE("LABEL", attribute = value), or put it into a file named *.hcl`},
		{`^\s*\w+\s*\{\s*$`, "this looks like HCL", `write TYPE("LABEL", attribute = value), or put it into a file named *.hcl`},
		{`\?.*:`, `there is no "? :"`, "write A if CONDITION else B"},
		{`&&`, `there is no "&&"`, "write and"},
		{`\|\|`, `there is no "||"`, "write or"},
		{`(^|[^=!<>"'])!\s*[\w(]`, `there is no "!"`, "write not"},
		{`\*\*\s*\d`, `there is no "**"`, "write pow(a, b)"},
		{`\w\s*(\+\+|--)`, "there is no ++", "write x += 1"},
		{`^\s*@\w`, "there are no decorators", "call the function yourself"},
		{`:=`, `there is no ":="`, "assign in a line of its own"},
		{`^\s*(elif|else\s+if|if|for|def)\b[^:]*$`, "", "end the line with a colon"},
		{`^\s*(//|/\*)`, "", "a comment begins with #"},
		{`\bdef\s+\w+\(.*\w\s*:\s*\w+|\)\s*->`, "there are no type annotations", "leave them out"},
	}
}

// replacements says what stands in the place of names that others have.
func replacements() map[string]string {
	return map[string]string{
		"true": "write True", "false": "write False", "null": "write None", "nil": "write None", "none": "write None",
		"string": `types are text: type = "string"`, "number": `types are text: type = "number"`, "map": `types are text: "map(string)"; there is no map(): write [f(x) for x in list]`,
		"object": `types are text: type = "object({ a = string })"`, "optional": `types are text: type = "object({ a = optional(string) })"`,
		"local": "a value is a name here: name = …", "locals": "a value is a name here: name = …",
		"param": "a param of a state is a parameter of its function: def parts(tls = False): …",
		"each":  "write a loop: for x in list: …", "for_each": "write a loop, with instance = KEY",
		"item": "write a loop: for x in list: …, and give each turn instance = KEY", "__name__": "a script runs as a whole: call the function at top level",
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
}

// betterMessage is what to say in the place of what fits the pattern. An empty summary
// leaves that as it is.
type betterMessage struct{ pattern, summary, hint string }

// betterMessages are messages of Starlark, and what helps.
func betterMessages() []betterMessage {
	return []betterMessage{
		{`^fail: (.*)$`, "$1", "the site's own code refuses this"},
		{`^local variable (\w+) referenced before assignment`, "", "give it a value on each way that leads here"},
		{`^global variable (\w+) referenced before assignment`, "", "define it above this line"},
		{`^function (\S+) called recursively`, "", "functions cannot call themselves here; write a loop over a list or range()"},
		{`^unknown binary op: (string) \+ (\w+)`, "+ cannot join text and a value of type $2", `make it text: "…" + str(x), or "…%s" % x`},
		{`^unknown binary op: (\w+) \+ (string)`, "+ cannot join a value of type $1 and text", `make it text: str(x) + "…", or "%s…" % x`},
		{`^unknown binary op: dict \+ dict`, "+ cannot join dicts", "join dicts with |"},
		{`^unknown binary op: (\w+) (\S+) (\w+)`, "$2 does not take values of the types $1 and $3", "look at the types of both with type(x)"},
		{`^builtin_function_or_method has no \.(\w+)`, "a function has no .$1", `a part is a value here: x = TYPE("LABEL", …), and then x; what other files declare is ref("TYPE.LABEL"); an output is x.output("NAME")`},
		{`^dict has no \.(\w+) field or method`, "", `write ["$1"]: the keys of a dict are in brackets`},
		{`has no \.(\w+) field or method`, "", "dir(x) lists what a value offers"},
		{`^key (.*) not in dict`, "", "give a default: d.get(KEY, DEFAULT)"},
		{`index (-?\d+) out of range`, "", "look at the length with len()"},
		{`missing (\d+ )?arguments?`, "", "give all parameters that have no default"},
		{`unexpected keyword argument`, "", "look at the function's parameters"},
		{`accepts (no arguments|at most|\d)`, "", "look at the function's parameters"},
		{`^invalid call of non-function \((\w+)\)`, "", "only functions are called, with ()"},
		{`\bopaque\b`, "", `it is not known yet, or sensitive: pass it on as an argument, or to functions of the language such as format()`},
		{`^cannot load (\S+): (.*)$`, "", "look at the names that the file defines"},
		{`^load: name (\S+) not found in module (\S+?)(?: \(did you mean (\w+)\?\))?$`, "$2 does not define $1", "load what it defines at top level"},
		{`frozen|during iteration`, "", "make a changed copy instead: list(x), dict(x)"},
		{`not iterable|not indexable|unhashable|not comparable|not a sequence`, "", "look at the types of the values, with type(x)"},
		{`(division|modulo) by zero`, "", "check the divisor before"},
		{`^int: `, "", "look at the text that it converts"},
		{`got (\w+), want (\w+)`, "", "convert it, or give a value of the right type"},
	}
}
