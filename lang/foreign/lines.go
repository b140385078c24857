package foreign

import (
	"regexp"
	"strconv"
	"strings"
)

// pattern finds a mistake in a line that does not parse. Of line, at and
// before, those that are given must match: the whole line, what stands at the
// place of the error and behind it, what stands before it. The advice may name
// the groups of the first of them that has any.
type pattern struct {
	line, at, before string
	advice           Advice
	// advise makes the advice of the groups, where it takes more than putting
	// them in.
	advise func(groups []string) (Advice, bool)
}

// Line gives advice on a line that does not parse, with the place of the error
// as an offset into it.
func Line(line string, offset int) (Advice, bool) {
	offset = min(max(offset, 0), len(line))
	for _, p := range patterns() {
		if a, ok := p.match(line, offset); ok {
			return a, true
		}
	}
	return Advice{}, false
}

func (p *pattern) match(line string, offset int) (Advice, bool) {
	var groups []string
	for _, part := range []struct{ pattern, text string }{{p.line, line}, {p.at, line[offset:]}, {p.before, line[:offset]}} {
		if part.pattern == "" {
			continue
		}
		found := regexp.MustCompile(part.pattern).FindStringSubmatch(part.text)
		if found == nil {
			return Advice{}, false
		}
		if len(groups) < 2 {
			groups = found
		}
	}
	if p.advise != nil {
		a, ok := p.advise(groups)
		a.Whole = p.line != ""
		return a, ok
	}
	return Advice{Whole: p.line != "", Last: p.advice.Last, Repair: p.advice.Repair, Summary: p.advice.Summary, Detail: fill(p.advice.Detail, groups), Hint: fill(p.advice.Hint, groups)}, true
}

// fill puts groups in the place of $1, $2 and so on. A group that names a value
// is written as one: see value.
func fill(text string, groups []string) string {
	for i := len(groups) - 1; i > 0; i-- {
		text = strings.ReplaceAll(text, "@"+strconv.Itoa(i), value(groups[i]))
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i), groups[i])
	}
	return text
}

// value writes what another language has as a value: text without quotes, or in
// single ones, gets double ones.
func value(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), ",; ")
	if len(text) > 1 && text[0] == '\'' && strings.HasSuffix(text, "'") {
		return strconv.Quote(text[1 : len(text)-1])
	}
	switch strings.ToLower(text) {
	case "yes", "true", "on":
		return "true"
	case "no", "false", "off":
		return "false"
	case "null", "~", "nil", "undef", "none":
		return "null"
	}
	if regexp.MustCompile(`[=!<>]=|[<>]|\band\b|\bor\b|\bnot\b|\|`).MatchString(text) && !strings.HasPrefix(text, `"`) {
		return condition(text)
	}
	if regexp.MustCompile(`^("|\[|\{|\$|[1-9]\d*$|0$|(var|local|param|fact|each)\.)`).MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// condition writes a condition of YAML and Jinja: names of facts and operators
// are those of tenet.
func condition(text string) string {
	text = regexp.MustCompile(`'([^']*)'`).ReplaceAllString(text, `"$1"`)
	for _, w := range [][2]string{{`\band\b`, "&&"}, {`\bor\b`, "||"}, {`\bnot\s+`, "!"}} {
		text = regexp.MustCompile(w[0]).ReplaceAllString(text, w[1])
	}
	return regexp.MustCompile(`"[^"]*"|[A-Za-z_][\w.]*`).ReplaceAllStringFunc(text, func(name string) string {
		root, rest, _ := strings.Cut(name, ".")
		next, _, _ := strings.Cut(rest, ".")
		if a, ok := Value(root, next); ok && !strings.HasPrefix(name, `"`) {
			ours, _, _ := strings.Cut(strings.TrimPrefix(a.Hint, "write "), ",")
			return ours
		}
		return name
	})
}

// patterns are tried in their order.
func patterns() []pattern {
	return append(append(documentsInLines(), signs()...), append(shapes(), expressions()...)...)
}

// documentsInLines are lines of other kinds of files.
func documentsInLines() []pattern {
	return []pattern{
		{line: `^\s*\{%-?\s*(?:if|elif|else|endif|unless)\b`, advice: Advice{Summary: "this is a statement of Jinja",
			Hint: "in text and template files write %{ if CONDITION } … %{ endif }; a part or a state is left out by when = CONDITION"}},
		{line: `^\s*\{%-?\s*(?:for|endfor)\b`, advice: Advice{Summary: "this is a loop of Jinja",
			Hint: "several parts are made by for_each = LIST, with each.key for the element; in text and template files write %{ for x in LIST } … %{ endfor }"}},
		{line: `^\s*\{[%#]`, advice: Advice{Summary: "this is a statement of Jinja",
			Hint: "write locals { NAME = VALUE } for values, and # for comments"}},
		{line: `=\s*\{\{-?\s*([\w.]+)\s*-?\}\}`, advise: func(g []string) (Advice, bool) {
			return Advice{Summary: "this is an expression of Jinja", Detail: "Values stand in tenet as they are, without braces.",
				Hint: "write " + valueOfName(g[1])}, true
		}},
		{line: `^\s*(class|define|node)\s+[\w:.'"]+\s*(\(|\{|inherits)`, advise: func(g []string) (Advice, bool) {
			a, ok := Block(g[1], "")
			a.Summary = "this is a declaration of Puppet"
			return a, ok
		}},
		{line: `^\s*@@(\w[\w:]*)\s*\{`, advice: Advice{Summary: "this is an exported resource of Puppet", Detail: "A host hands on values, not resources.",
			Hint: "let the other host declare the resource for each: hosts(\"PATTERN\")[…].facts.NAME is a fact of another host, and .outputs.NAME what it gives: output \"NAME\" { value = … }"}},
		{line: `^\s*([A-Z]\w*)\s*<<?\|.*\|>>?`, advice: Advice{Summary: "this is a collector of Puppet", Detail: "A host reads values of others, and declares its resources itself.",
			Hint: "write for_each = { for h in hosts(\"PATTERN\") : h.name => h } in the part; each.value.facts.NAME is a fact of that host, and .outputs.NAME what it gives"}},
		{line: `^\s*([a-z]\w*)\s*\{\s*['"]?([^'":]+)['"]?\s*:\s*$`, advice: Advice{Summary: "this is a resource of Puppet",
			Detail: "The label stands before the brace, and = between a name and its value.", Hint: `write $1 "$2" { … }`}},
		{line: `^\s*(\w+)\.(\w+)\s*:?\s+["']?([^"'{]*)["']?\s*\{`, advise: saltFunction},
		{line: `^\s*-\s+(\w+):\s*(\S.*)$`, advice: Advice{Summary: "this is YAML", Detail: "A state file is written in HCL.",
			Hint: `an attribute is NAME = VALUE, here $1 = @2, within TYPE "LABEL" { … }`}},
		{line: `^\s*(\w[\w-]*):\s*[|>][-+]?\s*$`, advice: Advice{Summary: "this is YAML", Detail: "A state file is written in HCL.",
			Hint: "text over several lines is written $1 = <<-EOT, then the lines, then a line EOT"}},
		{line: `^\s*(\w*mode):\s+["']?0?([0-7]{3})["']?\s*$`, advice: Advice{Summary: "this is YAML", Detail: "An attribute has = between its name and its value, and a mode is a string.",
			Hint: `write $1 = "0$2"`}},
		{line: `^\s*(\w[\w-]*):\s*$`, advice: Advice{Summary: "this is YAML", Detail: "A state file is written in HCL.",
			Hint: `write $1 = ["…", "…"] for a list in brackets, $1 = { NAME = … } for a map, or TYPE "LABEL" { … } for a part`}},
		{line: `^\s*(\w[\w-]*):\s+(\S.*)$`, advice: Advice{Summary: "this is YAML", Detail: "An attribute has = between its name and its value.",
			Hint: "write $1 = @2"}},
		{line: `^\s*(\w+)\s*=>\s*(\S.*?),?\s*$`, advice: Advice{Summary: "this is Puppet", Detail: "An attribute has = between its name and its value.",
			Hint: "write $1 = @2"}},
		{at: `^=>\s*(\S+)`, before: `("[^"]*"|\w+)\s*$`, advice: Advice{Detail: "An object has = between a name and its value.",
			Summary: "=> is no sign of the language", Hint: "write NAME = @1"}},
	}
}

// valueOfName says which value of tenet is meant by a name of a template.
func valueOfName(name string) string {
	root, rest, _ := strings.Cut(name, ".")
	next, _, _ := strings.Cut(rest, ".")
	if a, ok := Value(root, next); ok {
		return strings.TrimPrefix(a.Hint, "write ")
	}
	switch root {
	case "var", "local", "param", "fact", "each", "host":
		return name
	}
	return "var." + name
}

// saltFunction is file.managed "/etc/motd" {.
func saltFunction(g []string) (Advice, bool) {
	types := map[string]string{"pkg": "package", "cmd": "command", "service": "service", "user": "user", "group": "group",
		"file": "file", "file.directory": "directory", "file.symlink": "symlink", "file.line": "line", "file.append": "line",
		"file.replace": "line", "test": "print", "package": "package", "command": "command"}
	typ := types[g[1]+"."+g[2]]
	if typ == "" {
		typ = types[g[1]]
	}
	if typ == "" {
		return Advice{Summary: "a type of part is one word", Hint: `write TYPE "LABEL" { … }; tenet doc lists the types`}, true
	}
	hint := "write " + typ + " " + strconv.Quote(strings.TrimSpace(g[3])) + " { … }"
	switch g[2] {
	case "absent", "removed", "purged", "dead":
		hint += `, with ensure = "absent"`
	case "running":
		hint += ", with running = true"
	case "run":
		hint += `, with argv = ["PROGRAM", "ARGUMENT"]`
	}
	return Advice{Summary: "a type of part is one word", Detail: g[1] + "." + g[2] + " is a function of Salt.", Hint: hint}, true
}

// signs are characters that the language does not have, or not there.
func signs() []pattern {
	return []pattern{
		{at: `^'`, before: `<<-?$`, advice: Advice{Summary: "the marker of a heredoc is an identifier, and its line ends behind it",
			Detail: "In a heredoc whose marker stands in single quotes nothing is a template.", Hint: "write <<-'END', or <<-END for a template, and the text in the lines below", Last: true}},
		{at: `^<<-?"(\w+)"`, advice: Advice{Summary: "the marker of a heredoc stands in single quotes, or in none", Hint: "write <<-'$1', in which nothing is a template, or <<-$1", Last: true}},
		{at: `^"(\w+)"`, before: `<<-?$`, advice: Advice{Summary: "the marker of a heredoc stands in single quotes, or in none", Hint: "write <<-'$1', in which nothing is a template, or <<-$1", Last: true}},
		{at: `^\\([^\\nrtuU"])`, advise: func(g []string) (Advice, bool) {
			return Advice{Summary: "\\" + g[1] + " is no escape in text", Detail: `In quotes a backslash begins \n, \r, \t, \", \\ or \u.`,
				Hint: `write \\` + g[1] + ` for a backslash, such as one of a regular expression`}, true
		}},
		{at: `^'([^']*)'`, advice: Advice{Summary: "text stands in double quotes", Detail: "Single quotes are no sign of the language.", Hint: `write "$1"`}},
		{at: `^'`, advice: Advice{Summary: "text stands in double quotes", Detail: "Single quotes are no sign of the language.", Hint: "put it in double quotes"}},
		{at: `^[“”„«‘’]([^“”»‘’]*)[“”»‘’]`, advice: Advice{Summary: "text stands in straight double quotes", Detail: "These are the quotes of a word processor.", Hint: `write "$1"`}},
		{at: `^[“”„«»‘’]`, advice: Advice{Summary: "text stands in straight double quotes", Detail: "These are the quotes of a word processor.", Hint: `write "…"`}},
		{at: `^;`, advice: Advice{Summary: "a line needs no semicolon", Hint: "leave it out; each attribute stands on a line of its own"}},
		{at: `^,\s*$`, advice: Advice{Summary: "an attribute ends with its line", Detail: "Commas stand in lists and objects only.", Hint: "remove the comma"}},
		{at: `^\$\{\s*([^}]+?)\s*\}`, before: `(^|[=(\[,:?&|+])\s*$`, advice: Advice{Summary: "${ } stands within quotes only", Hint: `write $1, or "${$1}" within text`}},
		{at: `^\$([a-z_]\w*)`, advice: Advice{Summary: "a value has no $ before its name", Hint: "write var.$1 or local.$1, or \"${var.$1}\" within text"}},
		{at: `^\(`, before: `\b(salt|grains|pillar)\["[\w.]+"\]$`, advise: func(g []string) (Advice, bool) {
			a, ok := Value(g[1], "")
			a.Summary = "a call begins with the name of a function"
			return a, ok
		}},
		{at: "^[–—−]", advice: Advice{Summary: "this dash is no minus", Hint: "write the sign of the keyboard: -"}},
		{at: "^[\u00a0\u2007\u202f\u200b]", advice: Advice{Summary: "this is a space of a word processor", Hint: "replace it by a plain space"}},
		{at: "^`", advice: Advice{Summary: "text stands in double quotes", Detail: "Backquotes are no sign of the language.",
			Hint: `write "…"; a program is run by a part: command "NAME" { argv = ["PROGRAM"] }`}},
		{line: `=\s*[|>][-+]?\s*$`, advice: Advice{Summary: "this is YAML's text over several lines",
			Hint: "write NAME = <<-EOT, then the lines, then a line EOT"}},
	}
}

// shapes are blocks and attributes that are not quite right.
func shapes() []pattern {
	statement := func(word string) func([]string) (Advice, bool) {
		return func([]string) (Advice, bool) {
			a, ok := Block(word, "")
			a.Summary = "the language has no statements"
			a.Detail = "A state file says what is wanted; its order and its conditions stand in attributes."
			return a, ok
		}
	}
	return []pattern{
		{line: `^\s*(?:if|elif|elsif|unless|else|when)\b.*(\{|:|then)\s*$`, advise: statement("if")},
		{line: `^\s*(?:\}\s*)?else\b`, advise: statement("if")},
		{line: `^\s*(?:for|foreach|while)\b.*(\{|:|do)\s*$`, advise: statement("for")},
		{line: `^\s*(?:let|set|var|const|my|local|export)\s+\$?(\w+)\s*:?=\s*(\S.*)$`, advice: Advice{Summary: "a value has a name in locals",
			Hint: "write locals { $1 = @2 }, and local.$1 where it is used"}},
		{line: `^\s*def\s+(\w+)\s*\(`, advice: Advice{Summary: "this is a function of Python or Starlark",
			Hint: "put Starlark into a file named *.star"}},
		{line: `^\s*\w+\s*=\s*if\b(.*)`, advice: Advice{Summary: "if is no operator of the language",
			Detail: "One of two values is chosen by a condition in front of both.", Hint: "write CONDITION ? VALUE : OTHER"}},
		{line: `^\s*(?:include|import|import_tasks|include_tasks)\s+"([^"]*)"\s*,?\s*$`, advice: Advice{Summary: "files are not included one by one",
			Detail: "All *.hcl and *.star files of a directory are one site.", Hint: "leave it out, and put the file beside this one; what is used several times is a component"}},
		{line: `^\s*([a-z]\w*)\s+"([^"]*)"\s*,?\s*$`, advice: Advice{Summary: "there is = missing, or a brace",
			Detail: "An attribute has = between its name and its value; a block has braces.", Hint: `write $1 = "$2", or $1 "$2" { … }`}},
		{line: `^\s*([a-z]\w*)\s+(\d\S*|true|false|\[.*\]|var\.\S+|local\.\S+)\s*$`, advice: Advice{Summary: "there is = missing",
			Detail: "An attribute has = between its name and its value.", Hint: "write $1 = $2"}},
		{line: `^\s*([a-z]\w*)\s+([/~.][^\s"{]*|[\w-]+[./-][^\s"{]*)\s*\{`, advice: Advice{Summary: "a label stands in quotes",
			Hint: `write $1 "$2" {`}},
		{at: `^/([\w./-]+)\]?`, before: `\b(file|directory|symlink|line)\.$`, advice: Advice{Summary: "a label that is no identifier stands in brackets and quotes",
			Hint: `write TYPE["/$1"], such as file["/$1"]`}},
		{at: `^o([0-7]+)`, before: `\b0$`, advice: Advice{Summary: "a mode is a string", Detail: "The language has no octal numbers.", Hint: `write "0$1"`}},
		{at: `^x([0-9a-fA-F]+)`, before: `\b0$`, advice: Advice{Summary: "the language has no hexadecimal numbers", Hint: `write parseint("$1", 16)`}},
	}
}

// expressions are operators of other languages.
func expressions() []pattern {
	operator := func(word, ours string) pattern {
		return pattern{at: `^` + word + `(?:\W|$)`, advice: Advice{Summary: strings.TrimSpace(word) + " is no operator of the language", Hint: ours}}
	}
	repaired := func(p pattern, by string) pattern {
		p.advice.Repair = by
		return p
	}
	return []pattern{
		repaired(operator("and", "write && in its place"), "&& "),
		repaired(operator("or", "write || in its place"), "||"),
		{at: `^in\s+(\[.*\]|[\w.]+)`, before: `([\w.]+|"[^"]*")\s*$`, advice: Advice{Summary: "in is no operator of the language",
			Hint: "write contains(LIST, VALUE), here contains($1, …)"}},
		operator("not", "write ! before the condition; not in is !contains(LIST, VALUE)"),
		{before: `\bnot\s+$`, advice: Advice{Summary: "not is no operator of the language", Hint: "write ! before the condition: !var.enabled"}},
		operator("is", "compare: x == null, x != null; try(x, null) is null where x is not defined"),
		operator("mod", "write % in its place"),
		{at: `^if\s+(.+?)\s+else\s+(.+?)\s*$`, before: `=\s*(.+?)\s*$`, advice: Advice{Summary: "a conditional is written CONDITION ? A : B",
			Detail: "This is how Python and Jinja write it.", Hint: "write the condition first: $1 ? … : $2"}},
		operator("if", "write CONDITION ? A : B"),
		{at: `^\|\s*(\w+)(?:\(([^)]*)\))?`, advise: filter},
		{at: `^~`, advice: Advice{Summary: "~ is no operator of the language", Hint: `texts are joined in a template: "${a}${b}"`}},
		{at: `^[+]=`, advice: Advice{Summary: "values do not change", Hint: "write concat(LIST, LIST) or merge(MAP, MAP) under another name"}},
		{at: `^=\s*("[^"]*"|[\w.]+)`, before: `(?:[=(\[?]|\bif\b).*[\w\])"]\s*$`, advice: Advice{Summary: "= gives a value to an attribute; == compares",
			Hint: "write == $1", Repair: "=="}},
		{at: `^=`, before: `[=!]=$`, advice: Advice{Summary: "=== is no operator of the language", Hint: "write == or !="}},
	}
}

// filter is a filter of Jinja: x | upper.
func filter(g []string) (Advice, bool) {
	filters := map[string]string{
		"default": "coalesce(VALUE, DEFAULT), or try(VALUE, DEFAULT) where the value may not be there", "d": "coalesce(VALUE, DEFAULT)",
		"to_json": "jsonencode(VALUE)", "tojson": "jsonencode(VALUE)", "json": "jsonencode(VALUE)", "to_nice_json": "jsonencode(VALUE)",
		"from_json": "jsondecode(TEXT)", "to_yaml": "yamlencode(VALUE)", "yaml": "yamlencode(VALUE)", "to_nice_yaml": "yamlencode(VALUE)",
		"from_yaml": "yamldecode(TEXT)", "b64encode": "base64encode(TEXT)", "b64decode": "base64decode(TEXT)",
		"int": "tonumber(TEXT)", "float": "tonumber(TEXT)", "string": "tostring(VALUE)", "bool": "tobool(TEXT)", "list": "tolist(VALUE)",
		"join": "join(SEPARATOR, LIST)", "split": "split(SEPARATOR, TEXT)", "replace": "replace(TEXT, OLD, NEW)",
		"regex_replace": `replace(TEXT, "/PATTERN/", NEW)`, "length": "length(VALUE)", "count": "length(VALUE)",
		"first": "LIST[0]", "last": "element(LIST, -1)", "unique": "distinct(LIST)", "trim": "trimspace(TEXT)", "capitalize": "title(TEXT)",
		"combine": "merge(MAP, MAP)", "dict2items": "[for k, v in MAP : …]", "items2dict": "{ for x in LIST : x.key => x.value }",
		"map": "[for x in LIST : x.NAME]", "selectattr": "[for x in LIST : x if CONDITION]", "select": "[for x in LIST : x if CONDITION]",
		"reject": "[for x in LIST : x if !CONDITION]", "hash": "sha256(TEXT)", "password_hash": "a variable with the hash", "basename": "basename(PATH)", "dirname": "dirname(PATH)",
		"upper": "upper(TEXT)", "lower": "lower(TEXT)", "sort": "sort(LIST)", "flatten": "flatten(LIST)", "max": "max(LIST...)", "min": "min(LIST...)", "abs": "abs(NUMBER)",
	}
	write := filters[g[1]]
	if write == "" {
		write = g[1] + "(VALUE), if there is such a function: tenet doc functions lists all"
	}
	return Advice{Summary: "the language has no filters", Detail: "This is how Jinja writes a call.", Hint: "call the function: " + write}, true
}
