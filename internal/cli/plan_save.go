package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// savePlan saves the plan of a host, of the site at path.
func (s *client) savePlan(ctx context.Context, c *site, path, out string, plan *planfile.Plan, registry *states.Registry) error {
	keys, err := s.readers(ctx, c, planfile.Secret(plan.Run), path)
	if err != nil {
		return err
	}
	data, err := plan.Bytes(registry, keys)
	if err := s.writePlan(ctx, out, data, err); err != nil {
		return err
	}
	reached := ""
	if plan.Host.Name != "" && c.declared != nil && c.declared.Executor != "local" {
		reached = "-i " + path + " "
	}
	if plan.Failed {
		s.notePlan("The plan is saved to be looked at: tenet show " + out + ". It fails, and cannot be carried out.")
	} else {
		s.notePlan("The plan is saved; to carry it out: tenet apply " + reached + out)
	}
	return nil
}

// writePlan writes a plan into its file, unless it could not be made.
func (s *client) writePlan(ctx context.Context, out string, data []byte, err error) error {
	if err == nil {
		err = writePrivate(ctx, out, data)
	}
	if err != nil {
		return failure(fmt.Errorf("the plan is not saved: %w", err))
	}
	return nil
}

// notePlan tells what to do with a plan that is saved.
func (s *client) notePlan(text string) {
	if !s.globals.Quiet && !s.globals.JSON {
		fmt.Fprintln(s.Err, ui.Clean(text))
	}
}

// maySave refuses to put a plan in the place of something else.
func maySave(out string) error {
	if out == "-" { // rows go there
		return usage("give it a name", "-o: a plan is saved in a file, not on standard output")
	}
	info, err := os.Stat(out)
	if err != nil || info.Mode().IsRegular() && info.Size() == 0 || isPlanFile(out) {
		return nil // what else is wrong is told when it is written
	}
	return usage("give another name, or remove it first", "-o: %s is there, and is no saved plan", out)
}

// localHost tells on which machine this is: by its facts, or by those that the
// command line gives in their place.
func (s *client) localHost(name string) (planfile.Host, error) {
	h := planfile.Host{Name: name}
	here, err := s.newHost()
	if err != nil {
		return h, err
	}
	facts, err := s.facts(here)
	if err != nil {
		return h, err
	}
	hostname, err := facts.Fact("hostname")
	if err != nil {
		return h, failure(err)
	}
	h.Hostname, _ = hostname.(string)
	if facts.IsGiven("machine_id") { // given
		id, _ := facts.Fact("machine_id")
		h.Machine, _ = id.(string)
	} else if s.globals.Facts == "" {
		h.Machine = machineID(here)
	}
	if s.globals.Root != "" {
		if h.Root, err = filepath.Abs(s.globals.Root); err != nil {
			return h, failure(err)
		}
		if h.Root == "/" {
			h.Root = ""
		}
	}
	return h, nil
}

// machineID is what tells a machine from all others; empty where it has none,
// as a container may.
func machineID(h host.Reader) string {
	data, err := host.ReadFile(h, "/etc/machine-id", 100)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// readers gives those for whom a plan is to be encrypted: nobody, if there is
// nothing to hide; else those who may read the files that its secrets are from,
// or may read secrets of the site.
func (s *client) readers(ctx context.Context, c *site, isSecret bool, path string) ([]*secrets.File, error) {
	if !isSecret {
		return nil, nil
	}
	if c.secrets != nil {
		if files := c.secrets.Files(); len(files) > 0 {
			return files, nil
		}
	}
	const name = "secrets.recipients"
	dir, err := openSecrets(path)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	to, err := s.recipients(ctx, dir, "secrets.age")
	if err == nil {
		var file *secrets.File
		if file, err = secrets.New(name, to); err == nil {
			return []*secrets.File{file}, nil
		}
	}
	return nil, newStatus(exitFailed, fmt.Errorf("the plan is not saved, since it holds sensitive values, and cannot be encrypted: %w", err),
		"write the public keys of all who may read it into "+name+" of the site, one a line")
}

// writePrivate puts a file at a path in one step, for its owner alone.
func writePrivate(ctx context.Context, path string, data []byte) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		return err
	}
	return local.WriteFile(ctx, full, host.Text(string(data)), host.Meta{Mode: new(fs.FileMode(0o600))})
}
