package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
)

type deployCmd struct {
	Site     string        `arg:"" help:"Directory of the site; with --revision its name."`
	Revision int64         `help:"Deploy a revision that the server has, by its number, and upload nothing." placeholder:"N"`
	Hosts    string        `help:"Only to these hosts of the server: names, globs, LABEL=VALUE, !NOT, with commas (default: all, also those that are new later)." placeholder:"HOSTS"`
	Plan     bool          `help:"Show what hosts would do; nothing begins until somebody starts it."`
	Approve  bool          `help:"Have it begin when another person has approved the plan."`
	Sign     string        `help:"Evaluate and sign here, by this private key, in the place of the server." placeholder:"KEY"`
	Empty    bool          `help:"That hosts are left with nothing, are no longer declared, or that rules delete all that they have made, is meant."`
	Wait     bool          `help:"Wait until it has ended."`
	Deadline time.Duration `help:"How long a host may take (default: 1h)." placeholder:"DURATION"`
	Message  string        `short:"m" help:"Why, for people and the audit." placeholder:"TEXT"`
}

// Run uploads a site, unless it names a revision that the server has, and has the server deploy it.
func (cmd *deployCmd) Run(ctx runContext, s *client) error {
	if cmd.Plan && cmd.Approve {
		return usage("leave one out", "--plan waits for a start, and --approve for another person's approval")
	}
	switch {
	case cmd.Revision < 0:
		return usage("write the number that the page of the site and tenet deployments tell", "--revision cannot be %d", cmd.Revision)
	case cmd.Revision > 0 && cmd.Sign != "":
		return usage("leave --revision out, and name the directory with its former files", "--sign evaluates the files of a directory, and --revision names what the server has")
	case cmd.Revision > 0 && len(s.globals.Data) > 0:
		return usage("leave it out", "--data takes the place of files that are uploaded, and --revision uploads none")
	}
	var key trust.PrivateKey
	if cmd.Sign != "" {
		var err error
		if key, err = readSigningKey(cmd.Sign); err != nil {
			return failure(err)
		}
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	name, number := cmd.Site, cmd.Revision
	if number == 0 {
		if name, number, err = cmd.upload(ctx, s, server, key); err != nil {
			return err
		}
	}
	q := api.DeployRequest{Site: name, Signed: cmd.Sign != "", Revision: number, Hosts: cmd.Hosts, Empty: cmd.Empty, Deadline: int(cmd.Deadline.Seconds()), Message: cmd.Message}
	return cmd.request(ctx, s, server, q)
}

// upload has the server have the files of the directory, and what is signed here of them. It gives the name of the site, and the number of the revision.
func (cmd *deployCmd) upload(ctx runContext, s *client, server *api.Client, key trust.PrivateKey) (name string, number int64, err error) {
	loaded, err := s.openSite(ctx, cmd.Site)
	if err != nil {
		return "", 0, err
	}
	name = loaded.Name()
	if name == "" {
		if list := loaded.Diagnostics(); list.HasErrors() {
			return "", 0, s.show(list.Sorted(), loaded.Source)
		}
		return "", 0, newStatus(exitSite, errors.New("the site has no name, by which a server would know it"), `add site { name = "…" }`)
	}
	documents, err := s.replacements(loaded)
	if err != nil {
		return "", 0, err
	}
	archive, err := packSite(cmd.Site, documents, s.packageCache())
	if err != nil {
		return "", 0, newStatus(exitSite, err, diag.HintOf(err))
	}
	r, err := server.Upload(ctx, name, archive, cmd.Message)
	if err != nil {
		return "", 0, failure(err)
	}
	if cmd.Sign != "" {
		err = cmd.sign(ctx, s, server, key, r, archive)
	}
	return name, r.Number, err
}

// request has the server deploy what it has, and tells of it.
func (cmd *deployCmd) request(ctx runContext, s *client, server *api.Client, q api.DeployRequest) error {
	switch {
	case cmd.Plan:
		q.Consent = "start"
	case cmd.Approve:
		q.Consent = "approve"
	}
	d, err := server.Deploy(ctx, q)
	if err != nil {
		return failure(err)
	}
	if !s.globals.JSON {
		if err := s.say(fmt.Sprintf("deployment %d of %s, revision %d", d.ID, ui.Clean(d.Site), d.Revision)); err != nil {
			return err
		}
	}
	if d, err = cmd.await(ctx, s, server, d); err != nil {
		return err
	}
	if s.globals.JSON {
		err = s.printJSON(d)
	} else {
		err = s.showDeployment(&d)
	}
	if err == nil && (d.Phase == "failed" || d.Phase == "aborted" || d.Phase == "superseded") {
		err = &status{code: exitFailed}
	}
	return err
}

// await waits as long as is wanted: until there is a plan, or until the deployment has ended. It tells whenever that comes to wait for
// something else.
func (cmd *deployCmd) await(ctx context.Context, s *client, server *api.Client, d api.Deployment) (_ api.Deployment, err error) {
	told := ""
	for cmd.Wait || cmd.Plan {
		if d, err = server.Deployment(ctx, d.ID); err != nil {
			return d, failure(err)
		}
		switch {
		case d.Phase != "planned" && d.Phase != "rolling" && d.Phase != "paused":
			return d, nil
		case cmd.Plan && !cmd.Wait && (d.Phase != "planned" || d.Why != nil && d.Why.Code == "start"):
			return d, nil
		}
		if text := d.Phase + reasonText(d.Why); cmd.Wait && text != told && !s.globals.JSON {
			told = text
			if err := s.say(text); err != nil {
				return d, err
			}
		}
		select {
		case <-ctx.Done():
			return d, &status{code: exitInterrupted, err: errInterrupted}
		case <-time.After(time.Second):
		}
	}
	return d, nil
}

// reasonText is a reason behind what it is about.
func reasonText(r *api.Reason) string {
	if r == nil {
		return ""
	}
	return ": " + ui.Clean(r.Text)
}

// replacements gives the documents of --data by the files of the site in whose places they are uploaded.
func (s *client) replacements(site *lang.Site) (map[string][]byte, error) {
	given, err := readData(s.globals.Data)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, g := range given {
		name, err := site.DataFile(g.Name)
		if err != nil {
			return nil, usage(diag.HintOf(err), "--data %s: %w", g.Name, err)
		}
		if there, here := formatOf(name), formatOf(g.File); there != here {
			return nil, usage("write it as "+there, "--data %s: %s is %s, and takes the place of %s", g.Name, g.File, here, name)
		}
		files[name] = g.Data
	}
	return files, nil
}

// formatOf names the format of a document.
func formatOf(name string) string {
	switch ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")); ext {
	case "yml":
		return "yaml"
	default:
		return ext
	}
}
