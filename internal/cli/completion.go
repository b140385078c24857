package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"Shell: ${enum}." enum:"bash,zsh,fish"`
}

// Run prints a completion script. It is made of the grammar, so that it knows
// every command and flag.
func (cmd *completionCmd) Run(_ runContext, s *client) error {
	script := map[string]func(*kong.Application) string{
		"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion,
	}[cmd.Shell]
	_, err := fmt.Fprint(s.Out, script(s.model))
	return failure(err)
}

// flagsOf lists a command's flags with those of every command.
func flagsOf(app *kong.Application, node *kong.Node) []*kong.Flag {
	return append(append([]*kong.Flag{}, app.Flags...), node.Flags...)
}

// names lists what may follow a command: the commands within it, or what can be read about.
func names(node *kong.Node) []string {
	if node.Name == "doc" {
		return docNames()
	}
	var list []string
	for _, c := range node.Children {
		list = append(list, c.Name)
	}
	return list
}

func words(app *kong.Application, node *kong.Node) string {
	var list []string
	for _, f := range flagsOf(app, node) {
		list = append(list, "--"+f.Name)
	}
	return strings.Join(list, " ")
}

func bashCompletion(app *kong.Application) string {
	var commands []string
	var cases strings.Builder
	for _, c := range app.Children {
		commands = append(commands, c.Name)
		fmt.Fprintf(&cases, "    %s) flags=%q words=%q ;;\n", c.Name, words(app, c), strings.Join(names(c), " "))
	}
	return fmt.Sprintf(`# tenet completion for bash: source <(tenet completion bash)
_tenet() {
  local current=${COMP_WORDS[COMP_CWORD]} flags= words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W %q -- "$current"))
    return
  fi
  case ${COMP_WORDS[1]} in
%s  esac
  if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ ${#COMPREPLY[@]} -gt 0 ] && return
  fi
  case $current in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}
complete -o filenames -F _tenet tenet
`, strings.Join(commands, " "), cases.String())
}

func zshCompletion(app *kong.Application) string {
	return "#compdef tenet\n# tenet completion for zsh: source <(tenet completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n" + bashCompletion(app)
}

func fishCompletion(app *kong.Application) string {
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	var out strings.Builder
	out.WriteString("# tenet completion for fish: tenet completion fish | source\n")
	for _, c := range app.Children {
		fmt.Fprintf(&out, "complete -c tenet -n __fish_use_subcommand -a %s -d %s\n", c.Name, quote(c.Help))
		for _, sub := range c.Children {
			fmt.Fprintf(&out, "complete -c tenet -n '__fish_seen_subcommand_from %s' -a %s -d %s\n", c.Name, sub.Name, quote(sub.Help))
		}
		if c.Name == "doc" {
			fmt.Fprintf(&out, "complete -c tenet -n '__fish_seen_subcommand_from doc' -a %s\n", quote(strings.Join(docNames(), " ")))
		}
		for _, f := range flagsOf(app, c) {
			fmt.Fprintf(&out, "complete -c tenet -n '__fish_seen_subcommand_from %s' -l %s -d %s\n", c.Name, f.Name, quote(f.Help))
		}
	}
	return out.String()
}
