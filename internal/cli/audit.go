package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" help:"List what was done on the server, the newest first."`
	Verify auditVerifyCmd `cmd:"" help:"Verify that nothing in the audit was changed or removed."`
}

type auditListCmd struct {
	Actor  string `help:"Only what this person has done, or PERSON/PROGRAM." placeholder:"NAME"`
	Action string `help:"Only acts of this kind, such as host.approve." placeholder:"ACTION"`
	Host   string `help:"Only what concerns this host." placeholder:"HOST"`
	Site   string `help:"Only what concerns this site." placeholder:"SITE"`
	Last   int    `short:"n" help:"How many at most; 0: all." default:"50" placeholder:"N"`
}

// Run lists the audit.
func (cmd *auditListCmd) Run(ctx runContext, s *client) error {
	if cmd.Last < 0 {
		return usage("", "--last is a number of entries, not %d", cmd.Last)
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	entries := []api.AuditEntry{}
	for e, err := range server.Audit(ctx, api.AuditFilter{Actor: cmd.Actor, Action: cmd.Action, Host: cmd.Host, Site: cmd.Site}) {
		if err != nil {
			return failure(err)
		}
		entries = append(entries, e)
		if len(entries) == cmd.Last {
			break
		}
	}
	if s.globals.JSON {
		return s.printJSON(entries)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "N\tAT\tWHO\tACT\tABOUT")
	for _, e := range entries {
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\n", e.N, when(e.At), ui.Line(e.Actor), ui.Line(e.Action), ui.Line(auditText(e)))
	}
	return unread(failure(out.Flush()))
}

// auditText is what an act was about, in one line.
func auditText(e api.AuditEntry) string {
	var words []string
	for name, value := range map[string]string{"host": cmp.Or(e.HostName, e.Host), "site": e.Site} {
		if value != "" {
			words = append(words, name+"="+value)
		}
	}
	slices.Sort(words)
	for _, name := range slices.Sorted(maps.Keys(e.Detail)) {
		words = append(words, name+"="+e.Detail[name])
	}
	if e.Reason != "" {
		words = append(words, "("+e.Reason+")")
	}
	return strings.Join(words, " ")
}

type auditVerifyCmd struct {
	Heads string `help:"A file of heads that were kept elsewhere, which have to be in it: lines of JSON." placeholder:"FILE"`
}

// Run verifies the audit.
func (cmd *auditVerifyCmd) Run(ctx runContext, s *client) error {
	heads, err := cmd.read()
	if err != nil {
		return err
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	head, err := server.VerifyAudit(ctx, heads)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(head)
	}
	return s.print(fmt.Sprintf("the audit is whole: %d entries, of which the last has the digest %s", head.N, ui.Clean(head.Digest)))
}

// read reads the heads; a server takes a thousand of them.
func (cmd *auditVerifyCmd) read() (heads []api.AuditHead, err error) {
	if cmd.Heads == "" {
		return nil, nil
	}
	f, err := os.Open(cmd.Heads)
	if err != nil {
		return nil, usage("", "--heads: %w", err)
	}
	defer f.Close()
	const most = 1000
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var h api.AuditHead
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.N < 1 || h.Digest == "" {
			return nil, usage(`a line is such as {"n":42,"digest":"9f86…"}`, "--heads: line %d of %s is no head", n, cmd.Heads)
		}
		heads = append(heads, h)
	}
	if err := lines.Err(); err != nil {
		return nil, usage("", "--heads: %w", err)
	}
	return heads[max(0, len(heads)-most):], nil
}
