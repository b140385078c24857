package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
)

type trustCmd struct {
	Show      trustShowCmd      `cmd:"" help:"Show whose signatures hosts accept, and for what."`
	Key       trustKeyCmd       `cmd:"" help:"Make a private key by which you sign, and print its public key."`
	AddKey    trustAddKeyCmd    `cmd:"" name:"add-key" help:"Let a key sign something, and nothing else from then on."`
	RemoveKey trustRemoveKeyCmd `cmd:"" name:"remove-key" help:"Take all rights from a key."`
	Rotate    trustRotateCmd    `cmd:"" help:"Replace the server's key, or its CA."`
	Retire    trustRetireCmd    `cmd:"" help:"Have hosts trust the present CA alone, once all have learned of it."`
	Draft     trustDraftCmd     `cmd:"" help:"Print the next trust document as it would be without a change, to be edited and signed."`
	Sign      trustSignCmd      `cmd:"" help:"Sign a trust document by a key of yours, also offline."`
	Add       trustAddCmd       `cmd:"" help:"Add a trust document that was signed elsewhere."`
}

type trustShowCmd struct{}

// Run shows the newest trust document.
func (cmd *trustShowCmd) Run(ctx runContext, s *client) error {
	return s.changeTrust(func(server *api.Client) (api.Trusted, error) { return server.Trust(ctx) })
}

// changeTrust asks the server for something about trust, and shows how that stands after it.
func (s *client) changeTrust(ask func(*api.Client) (api.Trusted, error)) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	t, err := ask(server)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(t)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "document\t%d.%d of %s\n", t.Generation, t.Number, when(t.Issued))
	fmt.Fprintf(out, "recovery\t%s\n", t.Recovery)
	for _, a := range t.Authorities {
		fmt.Fprintf(out, "CA\t%s\t%s\tuntil %s\n", a.Digest, ui.Line(a.Name), when(a.Ends))
	}
	for _, k := range t.Keys {
		var verbs []string
		for _, v := range k.Verbs {
			verbs = append(verbs, ui.Line(string(v)))
		}
		fmt.Fprintf(out, "key\t%s\t%s\tsigns %s\n", k.Key, ui.Line(k.Name), strings.Join(verbs, ", "))
	}
	for _, e := range t.Expiring {
		fmt.Fprintf(out, "ends\t%s\t%s\t%s\n", ui.Line(e.What), when(e.At), ui.Line(e.Hint))
	}
	return unread(failure(out.Flush()))
}

type trustAddKeyCmd struct {
	Key    string   `arg:"" help:"The public key: tenet-key:…"`
	Name   string   `required:"" help:"Whose it is." placeholder:"NAME"`
	Verb   []string `required:"" help:"What it may sign: trust, assign, release, or what hosts are asked for, such as exec. All that it may from then on." placeholder:"VERB"`
	Reason string   `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run lets a key sign something.
func (cmd *trustAddKeyCmd) Run(ctx runContext, s *client) error {
	k := trust.Delegated{Name: cmd.Name}
	if err := k.Key.UnmarshalText([]byte(cmd.Key)); err != nil {
		return usage("\"tenet trust key FILE --public\" prints that of a private key", "%w", err)
	}
	for _, v := range cmd.Verb {
		if k.Verbs = append(k.Verbs, trust.Verb(v)); !slices.Contains(trustVerbs(), trust.Verb(v)) {
			return usage("the verbs are "+verbList(), "nobody signs %.80q", v)
		}
	}
	return s.changeTrust(func(server *api.Client) (api.Trusted, error) { return server.AddTrustKey(ctx, k, cmd.Reason) })
}

// trustVerbs are what keys may sign.
func trustVerbs() []trust.Verb {
	return append([]trust.Verb{trust.VerbTrust, trust.VerbAssign, trust.VerbRelease}, channel.Verbs()...)
}

func verbList() string {
	var list []string
	for _, v := range trustVerbs() {
		list = append(list, string(v))
	}
	return strings.Join(list, ", ")
}

type trustRemoveKeyCmd struct {
	Key    string `arg:"" help:"The public key, or its name where no other key has it."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run takes all rights from a key.
func (cmd *trustRemoveKeyCmd) Run(ctx runContext, s *client) error {
	return s.changeTrust(func(server *api.Client) (t api.Trusted, err error) {
		var key trust.PublicKey
		if key.UnmarshalText([]byte(cmd.Key)) != nil {
			if t, err = server.Trust(ctx); err != nil {
				return t, err
			}
			if key, err = keyOfName(t.Keys, cmd.Key); err != nil {
				return t, err
			}
		}
		return server.RemoveTrustKey(ctx, key, cmd.Reason)
	})
}

func keyOfName(keys []trust.Delegated, name string) (trust.PublicKey, error) {
	var found []trust.PublicKey
	for _, k := range keys {
		if k.Name == name {
			found = append(found, k.Key)
		}
	}
	if len(found) != 1 {
		return trust.PublicKey{}, &diag.HintError{Code: "not_found", Message: fmt.Sprintf("%d keys have the name %q", len(found), name), Hint: "name the public key, as \"tenet trust show\" prints it"}
	}
	return found[0], nil
}

type trustRotateCmd struct {
	What   string `arg:"" enum:"key,ca" help:"The \"key\" by which the server signs, or its \"ca\"."`
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run replaces a key of the server.
func (cmd *trustRotateCmd) Run(ctx runContext, s *client) error {
	what := cmd.What
	if what == "ca" {
		what = "authority"
	}
	return s.changeTrust(func(server *api.Client) (api.Trusted, error) { return server.RotateTrust(ctx, what, cmd.Reason) })
}

type trustRetireCmd struct {
	Reason string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run has hosts trust the present CA alone.
func (cmd *trustRetireCmd) Run(ctx runContext, s *client) error {
	return s.changeTrust(func(server *api.Client) (api.Trusted, error) { return server.RetireAuthorities(ctx, cmd.Reason) })
}
