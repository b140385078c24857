package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
)

type secretCmd struct {
	Set   secretSetCmd   `cmd:"" help:"Store a secret, read from standard input or asked for. Needs no key."`
	Edit  secretEditCmd  `cmd:"" help:"Edit the secrets of a file as text."`
	List  secretListCmd  `cmd:"" help:"List the names of the secrets. Needs no key."`
	Rekey secretRekeyCmd `cmd:"" help:"Encrypt the secrets anew, for the recipients there are now."`
}

type secretSetCmd struct {
	Name string `arg:"" help:"NAME for one in secrets.age, FILE/NAME for one in secrets/FILE.age."`
	siteArg
}

// secretsArg is where secrets are.
type secretsArg struct {
	Path string `arg:"" optional:"" default:"." help:"Directory of a site, or one of its files of secrets."`
}

type (
	secretEditCmd  struct{ secretsArg }
	secretListCmd  struct{ secretsArg }
	secretRekeyCmd struct{ secretsArg }
)

// Run stores one secret.
func (cmd *secretSetCmd) Run(ctx runContext, s *client) error {
	name, key, err := secrets.Locate(cmd.Name)
	if err != nil {
		return usageOf(err)
	}
	if _, err := os.Stat(cmd.Site); err != nil { // it may be a value, which is not to be shown
		return usage("the value is read from standard input, never from the arguments: tenet secret set "+cmd.Name+" [SITE]",
			"the second argument is the directory of a site, and there is none")
	}
	dir, err := openSecrets(cmd.Site)
	if err != nil {
		return err
	}
	defer dir.close()
	value, err := s.secretValue(ctx, cmd.Name)
	if err != nil {
		return err
	}
	return s.withLock(ctx, dir, func() error {
		file, err := s.fileToSet(ctx, dir, name)
		if err != nil {
			return err
		}
		if err := file.Set(key, value); err != nil {
			return usageOf(err)
		}
		if err := s.writeSecrets(dir, name, file); err != nil {
			return err
		}
		return s.say(fmt.Sprintf("%s is set in %s.", cmd.Name, name))
	})
}

// usageOf makes wrong usage of what is wrong with an argument or input.
func usageOf(err error) error {
	if d, ok := errors.AsType[diag.Diagnostic](err); ok {
		return usage(d.Hint, "%s", d.Summary)
	}
	return failure(err)
}

// say prints a line for people, which --quiet leaves out.
func (c *console) say(text string) error {
	if c.globals.Quiet {
		return nil
	}
	_, err := fmt.Fprintln(c.Err, text)
	return failure(err)
}

// secretValue reads a value from standard input, or asks for it where that is a
// terminal. The end of the line is no part of a value of one line.
func (s *client) secretValue(ctx context.Context, name string) (string, error) {
	if _, tty := terminal(s.In); tty {
		text, err := s.askSecret(ctx, "Value of "+name+": ")
		if err == nil && text == "" {
			err = usage("", "no value was given")
		}
		return text, err
	}
	data, err := io.ReadAll(io.LimitReader(s.In, secrets.MaxValue+3))
	if err != nil {
		return "", failure(err)
	}
	text := string(data)
	if line, isLine := strings.CutSuffix(text, "\n"); isLine && !strings.Contains(line, "\n") {
		text = strings.TrimSuffix(line, "\r")
	}
	if text == "" {
		return "", usage("write for instance: tenet secret set "+name+" < FILE", "standard input holds no value")
	}
	return text, nil
}

// Run lists the names of the secrets.
func (cmd *secretListCmd) Run(_ runContext, s *client) error {
	dir, err := openSecrets(cmd.Path)
	if err != nil {
		return err
	}
	defer dir.close()
	type listed struct {
		Name string `json:"name"`
		File string `json:"file"`
		Line int    `json:"line"`
	}
	all, list := []listed{}, diag.List{}
	names, err := dir.files()
	if err != nil {
		return err
	}
	for _, name := range names {
		file, found, err := dir.read(name)
		if err != nil {
			return s.diagnoseSecrets(dir, diag.From(err))
		}
		list = append(list, found...)
		for _, key := range file.Names() {
			all = append(all, listed{secrets.QualifiedName(name, key), name, file.Place(key).Start.Line})
		}
		if to, err := dir.recipients(name); err == nil && !found.HasErrors() {
			list.Add(warnReaders(name, file, to)...)
		}
	}
	if s.globals.JSON {
		err = s.printJSON(all)
	} else {
		for _, one := range all {
			err = errors.Join(err, s.print(one.Name))
		}
	}
	return errors.Join(err, s.diagnoseSecrets(dir, list))
}

// warnReaders warns where a file's readers are not the recipients.
func warnReaders(name string, file *secrets.File, to *secrets.Recipients) (l diag.List) {
	added, removed := file.Differ(to)
	rekey := "tenet secret rekey encrypts the secrets for the recipients there are now"
	if added > 0 {
		l.Add(diag.Diagnostic{Severity: diag.Warning, Hint: rekey,
			Summary: fmt.Sprintf("%s cannot read %s yet", people(added, "recipient", "recipients"), name)})
	}
	if removed > 0 {
		l.Add(diag.Diagnostic{Severity: diag.Warning, Hint: rekey,
			Summary: fmt.Sprintf("%s can read %s", people(removed, "former recipient", "former recipients"), name)})
	}
	return l
}

// plural counts things whose name gets an s.
func plural(n int, word string) string { return people(n, word, word+"s") }

func people(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Run encrypts all secrets anew.
func (cmd *secretRekeyCmd) Run(ctx runContext, s *client) error {
	dir, err := openSecrets(cmd.Path)
	if err != nil {
		return err
	}
	defer dir.close()
	return s.withLock(ctx, dir, func() error {
		names, err := dir.files()
		if err == nil && len(names) == 0 {
			err = newStatus(exitFailed, errors.New("there are no secrets"), "tenet secret set NAME stores one")
		}
		if err != nil {
			return err
		}
		// All or none: a file that cannot be read must not leave others changed.
		made, former := map[string]*secrets.File{}, 0
		identities := s.identities(ctx)
		for _, name := range names {
			file, removed, err := s.rekey(ctx, dir, name, identities)
			if err != nil {
				return err
			}
			made[name], former = file, max(former, removed)
		}
		for _, name := range slices.Sorted(maps.Keys(made)) {
			if err := s.writeSecrets(dir, name, made[name]); err != nil {
				return err
			}
			to, err := dir.recipients(name)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s: %s, for %s.", name, people(len(made[name].Names()), "secret", "secrets"), people(to.Len(), "recipient", "recipients"))
			if err := s.say(text); err != nil {
				return err
			}
		}
		if former > 0 {
			return s.say("Who was removed could read the secrets before: replace those that they must not know.")
		}
		return nil
	})
}

// rekey gives a file with a new key, and how many lose it.
func (s *client) rekey(ctx context.Context, dir *secretsDir, name string, identities func() ([]secrets.Identity, error)) (*secrets.File, int, error) {
	file, list, err := dir.read(name)
	if err == nil {
		err = list.Err()
	}
	var to *secrets.Recipients
	if err == nil {
		to, err = s.recipients(ctx, dir, name)
	}
	var ids []secrets.Identity
	if err == nil {
		ids, err = identities()
	}
	var key *secrets.Key
	if err == nil {
		key, err = file.Open(ids)
	}
	if err != nil {
		return nil, 0, s.diagnoseSecrets(dir, diag.From(err))
	}
	made, err := key.Rekey(to)
	if err != nil {
		return nil, 0, s.diagnoseSecrets(dir, diag.From(err))
	}
	_, removed := file.Differ(to)
	return made, removed, nil
}
