package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type serverStatusCmd struct{}

type serverResumeCmd struct {
	Message string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// serverPlace is where a server on this machine keeps its data.
type serverPlace struct {
	Dir   string `help:"Where the server keeps its data (default: as \"tenet server\")." placeholder:"DIR"`
	Store string `help:"Its database, if that is elsewhere." placeholder:"URL"`
}

type serverBackupCmd struct {
	File      string   `arg:"" help:"Write it to this file."`
	Recipient []string `required:"" help:"Seal it to this key: age1…, or an SSH key." placeholder:"KEY" sep:"none"`
	serverPlace
}

type serverRestoreCmd struct {
	File     string   `arg:"" help:"The backup."`
	Identity []string `name:"backup-identity" required:"" help:"Open it with the private key in this file." placeholder:"FILE" sep:"none"`
	serverPlace
}

// config says where the server is.
func (p *serverPlace) config(s *client) (c ServerConfig, err error) {
	c = ServerConfig{Dir: p.Dir, Store: p.Store}
	if c.Dir == "" {
		c.Dir, err = s.serverDir()
	}
	return c, err
}

// Run backs a server up.
func (cmd *serverBackupCmd) Run(ctx runContext, s *client) error {
	services, err := s.services()
	if err != nil {
		return err
	}
	c, err := cmd.config(s)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(cmd.File); err == nil {
		return usage("name another file, or remove it", "%s is there already", cmd.File)
	}
	err = atomicfile.Replace(cmd.File, atomicfile.Options{Mode: 0o600, Durable: true}, func(f *os.File) error {
		return services.Backup(ctx, c, f, cmd.Recipient)
	})
	if err != nil {
		return failure(err)
	}
	return s.say("backed up to " + ui.Clean(cmd.File))
}

// Run makes a server of a backup.
func (cmd *serverRestoreCmd) Run(ctx runContext, s *client) error {
	services, err := s.services()
	if err != nil {
		return err
	}
	c, err := cmd.config(s)
	if err != nil {
		return err
	}
	f, err := os.Open(cmd.File)
	if err != nil {
		return usage("", "%w", err)
	}
	defer f.Close()
	if err := services.Restore(ctx, c, f, cmd.Identity); err != nil {
		return failure(err)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return failure(err)
	}
	return s.say("restored to " + ui.Clean(dir) + "; it delivers nothing until somebody has looked at it: tenet server status, tenet server resume")
}

// Run tells how the server stands.
func (cmd *serverStatusCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	st, err := server.ServerStatus(ctx)
	if err != nil {
		return failure(err)
	}
	return s.showServer(st)
}

// Run has a restored server go on.
func (cmd *serverResumeCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	before, err := server.ServerStatus(ctx)
	if err == nil && !before.Recovering {
		return newStatus(exitFailed, errors.New("the server does not recover from anything"), "")
	}
	if err != nil {
		return failure(err)
	}
	st, err := server.ResumeServer(ctx, cmd.Message)
	if err != nil {
		return failure(err)
	}
	return s.showServer(st)
}

func (s *client) showServer(st api.ServerStatus) error {
	if s.globals.JSON {
		return s.printJSON(st)
	}
	text := "version " + ui.Clean(st.Version) + ", it delivers what hosts are to be"
	if st.Recovering {
		text = "version " + ui.Clean(st.Version) + ", recovering: nothing is delivered until somebody says \"tenet server resume\""
	}
	switch b := st.Broker; {
	case st.Standby:
		text = "version " + ui.Clean(st.Version) + ", it stands by: another server is the active one"
	case b.Kind == "cluster" && b.Connected:
		text += "\nagents are reached by a cluster of NATS"
	case b.Kind == "cluster":
		text += "\nagents are not reached: " + ui.Clean(b.Reason)
	}
	for _, h := range st.Unknown {
		text += "\n" + ui.Clean(h.Name) + " holds something that the server does not know, of " + ui.Clean(strings.Join(h.Sites, ", ")) + ": deploy it anew"
	}
	return s.say(text)
}
