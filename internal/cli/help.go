package cli

import (
	"cmp"
	"reflect"
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

// flagSets are flags of every command that mean something to several commands.
func flagSets() map[string]string {
	return map[string]string{
		"@selection": "limit tags target exclude",
		"@values":    "var var-file data",
		"@hosts":     "limit inventory forks ask-become-pass json quiet verbose",
		"@records":   "limit inventory ask-become-pass state-dir json verbose",
	}
}

// commonFlags lists the flags of every command that the help of one command shows, as the command itself says
// by its tag flags; "" is no command.
func commonFlags(command string) []string {
	if command == "" {
		return []string{"version"}
	}
	var flags []string
	all := reflect.TypeFor[commands]()
	for i := range all.NumField() {
		if f := all.Field(i); strings.ToLower(f.Name) == command {
			for _, word := range strings.Fields(f.Tag.Get("flags")) {
				flags = append(flags, strings.Fields(cmp.Or(flagSets()[word], word))...)
			}
		}
	}
	return flags
}
