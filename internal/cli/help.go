package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpAllFlag shows all flags. It acts as kong's own --help does.
type helpAllFlag bool

// IgnoreDefault tells kong that it is no value.
func (helpAllFlag) IgnoreDefault() {}

// BeforeReset prints the help, whatever else the arguments lack.
func (helpAllFlag) BeforeReset(ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(helpOptions(), ctx); err != nil {
		return err
	}
	ctx.Kong.Exit(exitDone)
	return nil
}

func helpOptions() kong.HelpOptions {
	return kong.HelpOptions{Compact: true, NoExpandSubcommands: true, ValueFormatter: kong.DefaultHelpValueFormatter}
}

// printHelp shows a command without the flags of every command that do nothing there, or are rarely
// wanted.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	command := ""
	if node := ctx.Selected(); node != nil {
		command = strings.Fields(node.FullPath())[1]
	}
	shown := append(commonFlags(command), "help", "help-all")
	for _, f := range ctx.Model.Flags {
		f.Hidden = f.Hidden || !slices.Contains(shown, f.Name)
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// commonFlags lists the flags of every command that the help of one command shows; "" is no command.
func commonFlags(command string) []string {
	const (
		selection = "limit tags target exclude "
		values    = "var var-file "
		ofHosts   = "limit inventory forks ask-become-pass json quiet verbose "
		records   = "limit inventory ask-become-pass state-dir json verbose "
	)
	flags := map[string]string{
		"":           "version",
		"init":       "json quiet",
		"plan":       selection + values + "root ask-become-pass json quiet verbose",
		"apply":      selection + values + "root forks ask-become-pass json quiet verbose",
		"show":       "identity json verbose",
		"watch":      selection + values + "root json quiet verbose",
		"validate":   values + "facts json quiet",
		"test":       "json quiet verbose",
		"fmt":        "json quiet",
		"compile":    selection + values + "facts json",
		"graph":      selection + values + "facts json",
		"inspect":    "limit " + values + "facts json",
		"why":        selection + values + "facts json",
		"facts":      ofHosts + "facts root",
		"doc":        "json verbose",
		"import":     "root json",
		"do":         ofHosts + "root",
		"ping":       ofHosts,
		"exec":       ofHosts,
		"history":    records,
		"status":     records,
		"logs":       records,
		"hold":       records,
		"unhold":     records,
		"forget":     records,
		"clean":      records,
		"runner":     "json",
		"secret":     "identity json",
		"version":    "json",
		"completion": "",
	}
	return strings.Fields(flags[command])
}
