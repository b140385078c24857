package cli

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// grammar is the whole command line.
type grammar struct {
	Globals
	commands
}

// commands are the fields that are commands, by their names in small letters. flags are those of every command
// that the help of this one shows: see flagSets.
type commands struct {
	Init        initCmd        `cmd:"" flags:"json quiet" help:"Write a small site, or a component, to begin with."`
	Plan        planCmd        `cmd:"" flags:"@selection @values root ask-become-pass json quiet verbose" help:"Show what apply would do."`
	Apply       applyCmd       `cmd:"" flags:"@selection @values root forks ask-become-pass json quiet verbose" help:"Bring this machine, or hosts, into the declared state."`
	Show        showCmd        `cmd:"" flags:"identity json verbose" help:"Show a saved plan."`
	Watch       watchCmd       `cmd:"" flags:"@selection @values root json quiet verbose" help:"Apply a site, or look for what has drifted, now and at intervals."`
	Validate    validateCmd    `cmd:"" flags:"@values facts json quiet" help:"Check a site, and report all that is wrong with it."`
	Test        testCmd        `cmd:"" flags:"json quiet verbose" help:"Test sites on simulated machines."`
	Get         getCmd         `cmd:"" flags:"@values facts json quiet" help:"Bring the packages that a site uses, and note in tenet.lock what they are."`
	Package     packageCmd     `cmd:"" flags:"json quiet" help:"Make one archive of a component or a collection, once it is checked and tested."`
	Push        pushCmd        `cmd:"" flags:"json quiet" help:"Put a package into a registry, and sign it."`
	Fmt         fmtCmd         `cmd:"" flags:"json quiet" help:"Rewrite state files in the canonical layout."`
	Compile     compileCmd     `cmd:"" flags:"@selection @values facts json" help:"Print what a site compiles to, in the order in which it runs."`
	Graph       graphCmd       `cmd:"" flags:"@selection @values facts json" help:"Draw the graph of a site."`
	Inspect     inspectCmd     `cmd:"" flags:"limit @values facts json" help:"Show a site's variables and states, and where they come from."`
	Diff        diffCmd        `cmd:"" flags:"limit @values facts json" help:"Tell which rules would run if one document became another."`
	Why         whyCmd         `cmd:"" flags:"@selection @values facts json" help:"Explain why something runs, and when."`
	Facts       factsCmd       `cmd:"" flags:"@hosts facts root" help:"Show what is known about this machine, or about hosts."`
	Doc         docCmd         `cmd:"" flags:"json verbose" help:"Describe types of parts, words, options, functions and components."`
	Import      importCmd      `cmd:"" flags:"root json" help:"Declare what stands on this machine already."`
	Do          doCmd          `cmd:"" flags:"@hosts root" help:"Apply one part, ad hoc, here or on hosts."`
	Ping        pingCmd        `cmd:"" flags:"@hosts" help:"Tell whether hosts can be reached and used."`
	Exec        execCmd        `cmd:"" flags:"@hosts" help:"Run a command on this machine, or on hosts."`
	History     historyCmd     `cmd:"" flags:"@records" help:"List the runs on this machine, or on hosts."`
	Status      statusCmd      `cmd:"" flags:"@records" help:"Show how things stand on this machine or on hosts, or how a run ended."`
	Logs        logsCmd        `cmd:"" flags:"@records" help:"Show what a run did."`
	Events      eventsCmd      `cmd:"" flags:"json quiet" help:"Show what all runs here, or all hosts of the server, did, in one sequence; follow it."`
	Hold        holdCmd        `cmd:"" flags:"@records" help:"Let nobody apply here, or on hosts, for now; plans still work."`
	Unhold      unholdCmd      `cmd:"" flags:"@records" help:"Let applies start again."`
	Retry       retryCmd       `cmd:"" flags:"@records" help:"Have what a watch or an agent has given up tried again, here or on hosts."`
	Forget      forgetCmd      `cmd:"" flags:"@records" help:"Let go of what a site has created, and of what a handler is owed."`
	Clean       cleanCmd       `cmd:"" flags:"@records" help:"Remove records of former runs."`
	Runner      runnerCmd      `cmd:"" flags:"json" help:"Build what acts on hosts."`
	Server      serverCmd      `cmd:"" flags:"json" help:"Run a server: it holds what hosts are to be, and agents fetch it."`
	Agent       agentCmd       `cmd:"" flags:"json" help:"Let a server keep this machine as it is to be."`
	Secret      secretCmd      `cmd:"" flags:"identity json" help:"Keep the secrets of a site, encrypted."`
	Login       loginCmd       `cmd:"" flags:"json quiet" help:"Log in to a server."`
	Logout      logoutCmd      `cmd:"" flags:"quiet" help:"Log out from the server."`
	Deploy      deployCmd      `cmd:"" flags:"var var-file data json quiet" help:"Have the server hold a site as what its hosts are to be."`
	Deployments deploymentsCmd `cmd:"" flags:"json quiet" help:"Look at deployments, approve, pause and end them."`
	Rollback    rollbackCmd    `cmd:"" flags:"json quiet" help:"Bring hosts of the server back to a former revision, and pin them."`
	Undeploy    undeployCmd    `cmd:"" flags:"json quiet" help:"Have the server take a cluster away from its hosts, or list the clusters of a site."`
	Unpin       unpinCmd       `cmd:"" flags:"json quiet" help:"Let hosts of the server follow what is deployed again."`
	Release     releaseCmd     `cmd:"" flags:"json quiet" help:"Sign programs for agents, and give them to the server."`
	Update      updateCmd      `cmd:"" flags:"json quiet" help:"Bring the agents of hosts to a release of their program."`
	Host        hostCmd        `cmd:"" flags:"json quiet" help:"Take hosts in on the server, and look after them."`
	Person      personCmd      `cmd:"" flags:"json quiet" help:"Say who may do what on the server."`
	Role        roleCmd        `cmd:"" flags:"json quiet" help:"Keep lists of grants that several people have on the server."`
	Program     programCmd     `cmd:"" flags:"json quiet" help:"Make tokens by which programs of yours call the server."`
	Trust       trustCmd       `cmd:"" flags:"json quiet" help:"Say whose signatures hosts of the server accept."`
	Audit       auditCmd       `cmd:"" flags:"json" help:"Look at what was done on the server, and by whom."`
	Version     versionCmd     `cmd:"" flags:"json" help:"Show the version."`
	Completion  completionCmd  `cmd:"" help:"Print a completion script for a shell."`
}

// Globals are the flags of every command.
type Globals struct {
	Limit       string        `short:"l" help:"Take these hosts of the site: names, globs, @GROUP, @rest:EXECUTION, !NOT, with commas." placeholder:"HOSTS" group:"selection"`
	Tags        []string      `help:"Take what carries one of these tags, with all it requires." placeholder:"TAG" group:"selection"`
	Target      []string      `help:"Take what has this address, with all it requires." placeholder:"ADDR" sep:"none" group:"selection"`
	Exclude     []string      `help:"Leave out what has this address, and all that requires it." placeholder:"ADDR" sep:"none" group:"selection"`
	Var         []string      `help:"Give a variable a value." placeholder:"NAME=VALUE" sep:"none" group:"values"`
	VarFile     []string      `help:"Give variables values from a file." placeholder:"FILE" sep:"none" group:"values"`
	Data        []string      `help:"Take the document of data from this file." placeholder:"NAME=FILE" sep:"none" group:"values"`
	Facts       string        `name:"facts" help:"Take the facts from a JSON file, in place of this machine's." placeholder:"FILE" group:"values"`
	Identity    []string      `name:"identity" help:"Open secrets with the private key in this file." placeholder:"FILE" sep:"none" group:"values"`
	EvalTimeout time.Duration `help:"How long the evaluation of a site may take." default:"10s" placeholder:"DURATION" group:"values"`
	EvalMemory  string        `help:"How much memory the evaluation of a site may take." default:"1GiB" placeholder:"SIZE" group:"values"`
	StateDir    string        `help:"Keep the records of runs in this directory." placeholder:"DIR" group:"host"`
	Root        string        `help:"Act on the tree below this directory." placeholder:"DIR" group:"host"`
	Parallel    int           `help:"How many invocations run at once." placeholder:"N" group:"host"`
	connectFlags
	JSON    bool        `name:"json" help:"Print JSON." group:"output"`
	Quiet   bool        `short:"q" help:"Print failures and the sum only." group:"output"`
	NoColor bool        `help:"Print no colours." group:"output"`
	HelpAll helpAllFlag `name:"help-all" help:"Show all flags, also those that do nothing here or are rarely wanted."`
	Version versionFlag `help:"Show the version." group:"output"`
	Verbose bool        `short:"v" help:"Print what stays as it is, too." group:"output"`
}

// giveValues reports whether any of the flags gives a value to what a site declares.
func (g *Globals) giveValues() bool { return len(g.Var)+len(g.VarFile)+len(g.Data) > 0 }

// newParser makes the parser of a command line. Where its first word is a command, the parser
// knows no other one: to build it for all of them takes longer than many commands do.
func newParser(g *grammar, args []string, env Environment, exit func(status int)) *kong.Kong {
	options := []kong.Option{
		kong.Name("tenet"),
		kong.Description("Brings machines into a declared state and keeps them there."),
		kong.Writers(env.Out, env.Err),
		kong.Exit(exit),
		kong.KindMapper(reflect.String, kong.MapperFunc(decodeText)),
		kong.ConfigureHelp(helpOptions()),
		kong.Help(printHelp),
		kong.ExplicitGroups([]kong.Group{
			{Key: "selection", Title: "Selection:"}, {Key: "values", Title: "Values:"},
			{Key: "host", Title: "Host:"},
			{Key: "hosts", Title: "Hosts:"}, {Key: "rollout", Title: "Rollout:"}, {Key: "output", Title: "Output:"},
		}),
	}
	var root any = g
	if command := g.command(args[0]); command != nil {
		root, options = &g.Globals, append(options, command)
	}
	parser, err := kong.New(root, options...)
	if err != nil {
		panic("cli: the grammar is wrong: " + err.Error())
	}
	return parser
}

// command gives one command of the grammar, or nil where there is none of that name, or it
// describes the others.
func (g *grammar) command(name string) kong.Option {
	all := reflect.ValueOf(&g.commands).Elem()
	for i := range all.NumField() {
		field := all.Type().Field(i)
		if strings.ToLower(field.Name) == name && name != "completion" {
			return kong.DynamicCommand(name, field.Tag.Get("help"), "", all.Field(i).Addr().Interface())
		}
	}
	return nil
}

// spell gives the arguments as the grammar spells them; there is at least one.
func spell(args []string) []string {
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "test":
		args = slices.Clone(args)
		for i, arg := range args {
			if arg == "-update" { // as go test has it
				args[i] = "--update"
			}
		}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	return args
}
