package sudoers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/states"
)

// rule writes the parts as one line of sudoers(5).
func rule(want Sudoers) string {
	who := append([]string{}, want.Users...)
	for _, g := range want.Groups {
		who = append(who, "%"+g)
	}
	list := func(names []string, otherwise string) string { return cmp.Or(strings.Join(names, ", "), otherwise) }
	tags := ""
	if want.NoPasswd != nil {
		tags += map[bool]string{true: "NOPASSWD: ", false: "PASSWD: "}[*want.NoPasswd]
	}
	if want.SetEnv != nil {
		tags += map[bool]string{true: "SETENV: ", false: "NOSETENV: "}[*want.SetEnv]
	}
	var commands []string
	for _, c := range want.Commands {
		commands = append(commands, strings.NewReplacer(",", `\,`, ":", `\:`, "=", `\=`).Replace(c))
	}
	return fmt.Sprintf("%s %s = (%s) %s%s\n", strings.Join(who, ", "), list(want.Hosts, "ALL"), list(want.RunAs, "root"), tags, strings.Join(commands, ", "))
}

// maxRule is far more than a line needs.
const maxRule = 100_000

func checkRule(want Sudoers) error {
	size := 0
	for _, a := range []struct {
		name   string
		values []string
		check  func(attribute, value string) error
	}{
		{"users", want.Users, checkWho}, {"groups", want.Groups, checkWho}, {"run_as", want.RunAs, checkWho},
		{"hosts", want.Hosts, checkWhere}, {"commands", want.Commands, checkCommand},
	} {
		if a.values != nil && len(a.values) == 0 {
			return states.InvalidAttribute(a.name, "an empty list allows nothing", "leave it out, or write what it allows")
		}
		for _, v := range a.values {
			if err := a.check(a.name, v); err != nil {
				return err
			}
			if size += len(v); size > maxRule {
				return states.InvalidAttribute(a.name, "the rule is too long", "")
			}
		}
	}
	return nil
}

// checkWho takes a plain name. In capitals it would be an alias, which a rule
// cannot define; ALL is meant as it is.
func checkWho(attribute, name string) error {
	if err := check.Name(attribute, name, "_-."); err != nil {
		return err
	}
	return checkAlias(attribute, name)
}

func checkWhere(attribute, name string) error {
	if err := check.HostName(attribute, name); err != nil {
		return err
	}
	return checkAlias(attribute, name)
}

func checkAlias(attribute, name string) error {
	if name != "ALL" && name == strings.ToUpper(name) && name != strings.ToLower(name) {
		return states.InvalidAttribute(
			attribute, fmt.Sprintf("sudo takes %q for an alias", name),
			"write content, with the alias defined in it",
		)
	}
	return nil
}

// checkCommand takes ALL, or an absolute path with arguments. What has a meaning of
// its own in sudoers, or needs quotes, is left to content.
func checkCommand(attribute, command string) error {
	e := &states.AttributeError{Attribute: attribute}
	program, arguments, _ := strings.Cut(command, " ")
	switch {
	case command == "ALL":
		return nil
	case !strings.HasPrefix(program, "/"):
		e.Message = fmt.Sprintf("%.80q does not begin with the absolute path of a program", command)
		return e
	case command != strings.Join(strings.Fields(command), " "):
		e.Message = "there is to be one space between arguments, and none around them"
		return e
	}
	if err := check.Path(attribute, program); err != nil {
		return err
	}
	if arguments == `""` {
		command = program
	}
	for _, r := range command {
		if r < ' ' || r > '~' || strings.ContainsRune("\\\"'#!`$;|&<>(){}", r) {
			e.Message = fmt.Sprintf("it cannot contain %q", r)
			e.Hint = "write content where it is needed"
			return e
		}
	}
	return nil
}
