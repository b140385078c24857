package cli

import (
	"crypto/rand"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type personCmd struct {
	List     personListCmd     `cmd:"" help:"List people."`
	Show     personShowCmd     `cmd:"" help:"Show somebody, and all that they may do."`
	Add      personAddCmd      `cmd:"" help:"Add somebody, and print a password for them."`
	Change   personChangeCmd   `cmd:"" help:"Give somebody other roles or grants, in place of all that they have."`
	Password personPasswordCmd `cmd:"" help:"Give somebody another password, and print it; they are logged out."`
	Remove   personRemoveCmd   `cmd:"" help:"Remove somebody for good, with their programs."`
}

type personListCmd struct{}

// Run lists people.
func (cmd *personListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	people := []api.Person{}
	for p, err := range server.People(ctx) {
		if err != nil {
			return failure(err)
		}
		people = append(people, p)
	}
	if s.globals.JSON {
		return s.printJSON(people)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, p := range people {
		login := "never"
		if p.Login != nil {
			login = when(*p.Login)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", ui.Line(p.Name), login, orDash(ui.Line(strings.Join(p.Roles, ","))), grantText(p.Grants))
	}
	return unread(failure(out.Flush()))
}

type personShowCmd struct {
	Name string `arg:"" help:"Their name."`
}

// Run shows somebody.
func (cmd *personShowCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.Person(ctx, cmd.Name)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(p)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s\t%s\n", name, ui.Line(value))
		}
	}
	line("name", p.Name)
	line("since", when(p.Made))
	if p.Login != nil {
		line("login", when(*p.Login))
	}
	if !p.Password {
		line("password", "none")
	}
	line("roles", strings.Join(p.Roles, ", "))
	line("groups", strings.Join(p.Groups, ", "))
	line("identity", strings.TrimSpace(p.Issuer+" "+p.Subject))
	for _, g := range p.May {
		line("may", g.Verb+" "+g.Hosts+" "+g.Site+" ("+g.Source+")")
	}
	return unread(failure(out.Flush()))
}

// personFlags say what somebody is to have.
type personFlags struct {
	Role    []string `help:"A role that they have." placeholder:"NAME"`
	Grant   []string `help:"What they may do besides: \"VERBS HOSTS SITE\", such as \"read,plan web* shop\"." placeholder:"GRANT" sep:"none"`
	Issuer  string   `help:"The provider of the identity by which they log in." placeholder:"URL"`
	Subject string   `help:"Their subject there." placeholder:"TEXT"`
	Reason  string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// change is what the flags name.
func (f *personFlags) change() (c api.PersonChange, err error) {
	c.Reason = f.Reason
	if (f.Issuer == "") != (f.Subject == "") {
		return c, usage("", "--issuer and --subject name an identity together")
	}
	if f.Issuer != "" {
		c.Issuer, c.Subject = &f.Issuer, &f.Subject
	}
	if len(f.Role) > 0 {
		c.Roles = &f.Role
	}
	if len(f.Grant) > 0 {
		grants, err := readGrants(f.Grant)
		if err != nil {
			return c, err
		}
		c.Grants = &grants
	}
	return c, nil
}

type personAddCmd struct {
	Name string `arg:"" help:"Letters, digits, and - _ . @ between them."`
	personFlags
	NoPassword bool `help:"They log in by the provider of identity alone."`
}

// Run adds somebody.
func (cmd *personAddCmd) Run(ctx runContext, s *client) error {
	change, err := cmd.change()
	if err != nil {
		return err
	}
	if !cmd.NoPassword {
		change.Password = new(rand.Text())
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.AddPerson(ctx, cmd.Name, change)
	return s.tellPerson(p, change.Password, err)
}

type personChangeCmd struct {
	Name string `arg:"" help:"Their name."`
	personFlags
	NoRoles  bool `help:"Take all roles from them." xor:"roles"`
	NoGrants bool `help:"Take all grants of their own from them." xor:"grants"`
}

// Run changes somebody.
func (cmd *personChangeCmd) Run(ctx runContext, s *client) error {
	change, err := cmd.change()
	if err != nil {
		return err
	}
	if cmd.NoRoles && change.Roles != nil || cmd.NoGrants && change.Grants != nil {
		return usage("leave one out", "it takes either some or none")
	}
	if cmd.NoRoles {
		change.Roles = &[]string{}
	}
	if cmd.NoGrants {
		change.Grants = &[]api.Grant{}
	}
	// What a script has lost in an empty variable must not pass for a change.
	if change.Roles == nil && change.Grants == nil && change.Issuer == nil {
		return usage("--role, --grant, --no-roles, --no-grants, or --issuer with --subject", "nothing is to be changed")
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.ChangePerson(ctx, cmd.Name, change)
	return s.tellPerson(p, nil, err)
}

type personPasswordCmd struct {
	Name   string `arg:"" help:"Their name."`
	None   bool   `help:"They have none from then on."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run gives somebody another password.
func (cmd *personPasswordCmd) Run(ctx runContext, s *client) error {
	password := ""
	if !cmd.None {
		password = rand.Text()
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	p, err := server.ChangePerson(ctx, cmd.Name, api.PersonChange{Password: &password, Reason: cmd.Reason})
	if cmd.None {
		return s.tellPerson(p, nil, err)
	}
	return s.tellPerson(p, &password, err)
}

// tellPerson says what has become of somebody; a password is printed, and nothing else is on standard output.
func (s *client) tellPerson(p api.Person, password *string, err error) error {
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(struct {
			api.Person
			NewPassword *string `json:"new_password,omitempty"`
		}{p, password})
	}
	var may []api.Grant
	for _, g := range p.May {
		may = append(may, g.Grant)
	}
	text := ui.Line(p.Name) + " may do nothing"
	if len(may) > 0 {
		text = ui.Line(p.Name) + " may " + grantText(may)
	}
	if err := s.say(text); err != nil || password == nil {
		return err
	}
	return s.print(*password)
}

type personRemoveCmd struct {
	Name   string `arg:"" help:"Their name; it is not given again."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run removes somebody.
func (cmd *personRemoveCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	if err := server.RemovePerson(ctx, cmd.Name, cmd.Reason); err != nil {
		return failure(err)
	}
	return s.say(ui.Line(cmd.Name) + " is removed")
}
