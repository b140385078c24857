package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/packages/get"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/packages/lock"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/signature"
)

type getCmd struct {
	siteArg
	Update packageChoice `help:"Look what sources stand for by now: all, or with --update=NAME these." placeholder:"NAME"`
	gitFlags
	Vendor bool `help:"Put the packages into the directory vendor of the site, too."`
}

// gitFlags are for repositories that do not let everybody in.
type gitFlags struct {
	TokenFile        string `help:"For repositories by https://: file whose first line is a token or password." placeholder:"FILE"`
	CredentialHelper string `help:"For repositories by https://: program that git asks for a user and a password, as in gitcredentials(7)." placeholder:"PROGRAM"`
	CAFile           string `name:"ca-file" help:"For repositories by https://: certificates of the authorities that sign those of their hosts (default: those of the machine)." placeholder:"FILE"`
	SSHKey           string `help:"For repositories by ssh://: private key (default: those that ssh finds)." placeholder:"FILE"`
}

// credentials are those of the flags, whose files have to be there.
func (f gitFlags) credentials() (git.Credentials, error) {
	if f.TokenFile != "" && f.CredentialHelper != "" {
		return git.Credentials{}, bothCredentials()
	}
	err := errors.Join(findFile("token-file", &f.TokenFile), findFile("credential-helper", &f.CredentialHelper), findFile("ca-file", &f.CAFile), findFile("ssh-key", &f.SSHKey))
	return git.Credentials{TokenFile: f.TokenFile, Helper: f.CredentialHelper, SSHKey: f.SSHKey}, err
}

func bothCredentials() error {
	return usage("leave one out", "--token-file and --credential-helper say both by which password a repository is read")
}

// packageChoice chooses packages; as a flag it may stand without a value, for all.
type packageChoice struct {
	given bool
	names []string
}

// Decode reads the flag.
func (c *packageChoice) Decode(ctx *kong.DecodeContext) error {
	c.given = true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		c.names = append(c.names, ctx.Scan.Pop().String())
	}
	return nil
}

// IsBool says that the flag needs no value.
func (c *packageChoice) IsBool() bool { return true }

// IsCumulative says that the flag may stand several times.
func (c *packageChoice) IsCumulative() bool { return true }

// chooses reports whether a package is meant: by its source, or by its name without what is around it.
func (c *packageChoice) chooses(source string) bool {
	if !c.given || len(c.names) == 0 {
		return c.given
	}
	for _, name := range c.names {
		if source == name || shortName(source) == name {
			return true
		}
	}
	return false
}

// shortName is what a package is called among people: oci://registry.example/acme/nginx:1.4 is nginx.
func shortName(source string) string {
	name, err := packages.Name(source)
	if err != nil {
		return source
	}
	first, version, _ := strings.Cut(path.Base(name), "@")
	if _, inner, ok := strings.Cut(version, "+"); ok {
		return path.Base(strings.ReplaceAll(inner, "%2F", "/"))
	}
	return strings.TrimSuffix(first, ".git")
}

// Run brings the packages of a site.
func (cmd *getCmd) Run(ctx runContext, s *client) error {
	info, err := siteAt(cmd.Site)
	if err != nil {
		return err
	}
	dir := cmd.Site
	if !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return failure(err)
	}
	defer root.Close()
	signers, err := s.signersOf(root)
	if err != nil {
		return err
	}
	g, err := s.getter(root, signers)
	if err != nil {
		return err
	}
	former, err := g.Former()
	if err != nil {
		return newStatus(exitSite, err, diag.HintOf(err))
	}
	if err := cmd.check(former); err != nil {
		return err
	}
	g.Updates = cmd.Update.chooses
	if s.gitCredentials, err = cmd.credentials(); err != nil {
		return err
	}
	s.gitCAFile = cmd.CAFile
	g.Origins = s.origins()
	now, err := s.bring(ctx, cmd.Site, g)
	if err != nil {
		return err
	}
	changes := get.Changes(former, now)
	s.compareVersions(ctx, g, root, changes)
	if cmd.Vendor || get.IsVendored(root.FS()) {
		if err := g.Vendor(root, now); err != nil {
			return failure(err)
		}
	}
	if err := writeLock(root, now); err != nil {
		return failure(err)
	}
	return s.tellObtained(now, changes)
}

// check refuses to update what is not there.
func (cmd *getCmd) check(former *lock.Lock) error {
	for _, name := range cmd.Update.names {
		var known []string
		one := packageChoice{given: true, names: []string{name}}
		found := false
		for _, p := range former.Packages {
			known = append(known, shortName(p.Source))
			found = found || one.chooses(p.Source)
		}
		if !found {
			hint := "tenet get brings it, if a source of the site names it"
			if len(known) > 0 {
				hint = "it has " + strings.Join(known, ", ")
			}
			return usage(hint, "%s has no package %q", lock.Name, name)
		}
	}
	return nil
}

// getter makes ready for bringing the packages of a site.
func (s *client) getter(root *os.Root, signers *get.Signers) (*get.Getter, error) {
	cache := s.packageCache()
	if cache == "" {
		return nil, usage("set HOME, or XDG_CACHE_HOME", "nothing says where packages are kept")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, failure(err)
	}
	return &get.Getter{Site: root.FS(), Cache: cache, Origins: s.origins(), Signers: signers,
		Note: func(text string) {
			if !s.globals.Quiet && !s.globals.JSON {
				fmt.Fprintln(s.Err, ui.Line(text))
			}
		}}, nil
}

// origins are where packages come from.
func (s *client) origins() map[string]get.Origin {
	repositories := &git.Client{Dir: filepath.Join(s.packageCache(), "repositories"), Getenv: s.getenv, Credentials: s.gitCredentials, CAFile: s.gitCAFile}
	return map[string]get.Origin{oci.Scheme: get.Registries{Client: s.registries()}, git.Prefix: get.Repositories{Client: repositories}}
}

// registries asks registries with the credentials of docker and podman.
func (s *client) registries() *oci.Client {
	return &oci.Client{CredentialFiles: oci.CredentialFiles(s.getenv)}
}

// signersOf reads whose signatures of packages count for a site; nil: it demands none.
func (s *client) signersOf(root *os.Root) (*get.Signers, error) {
	none := errors.New("it is not looked for")
	loaded, _ := lang.Load(root.FS(), lang.Options{Registry: modules.Standard(), OpenPackage: func(string) (*lang.Package, error) { return nil, none }}) // what is wrong is told when it is opened
	name := loaded.Signers()
	if name == "" {
		return nil, nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, newStatus(exitSite, fmt.Errorf("the signers of the site: %w", err), "a line of it: PRINCIPAL ssh-ed25519 AAAA…")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, signature.MaxSigners+1))
	if err == nil && len(data) > signature.MaxSigners {
		err = fmt.Errorf("%s is longer than %d bytes", name, signature.MaxSigners)
	}
	return &get.Signers{Name: name, Data: data}, failure(err)
}

// bring opens all packages of a site, for each of its hosts, and gives the lock of them. A site that has mistakes is refused: it cannot be told what it uses.
func (s *client) bring(ctx context.Context, path string, g *get.Getter) (*lock.Lock, error) {
	s.packageOpener = func(fs.FS) func(string) (*lang.Package, error) { return g.Open(ctx) }
	s.secretsHidden, s.inventoryHidden = true, true
	c, err := s.load(ctx, path)
	if err != nil {
		return nil, err
	}
	all := c.Diagnostics()
	hosts, _, found := c.Hosts(ctx, c.Target)
	all = append(all, found...)
	if len(hosts) == 0 {
		hosts = []lang.Host{{Name: c.Target.Host}}
	}
	for _, h := range hosts {
		if ctx.Err() != nil {
			return nil, &status{code: exitInterrupted, err: errInterrupted}
		}
		_, diags, err := s.compileHost(ctx, c, h.Name, c.Target.Facts)
		if err != nil {
			return nil, err
		}
		all = append(all, diags...)
	}
	if err := g.OpenLiterals(ctx); err != nil { // which scripts may name for other hosts
		return nil, failure(err)
	}
	if ctx.Err() != nil {
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	}
	if err := s.diagnose(c, errorsOf(all)); err != nil {
		return nil, err
	}
	l, err := g.Lock()
	if err != nil {
		return nil, newStatus(exitSite, err, diag.HintOf(err))
	}
	return l, nil
}

// errorsOf leaves out warnings, and repetitions.
func errorsOf(list diag.List) diag.List {
	return slices.DeleteFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// compareVersions finds out what differs between versions of packages, as far as the former ones are here.
func (s *client) compareVersions(ctx context.Context, g *get.Getter, root *os.Root, changes []get.Change) {
	o := lang.Options{Registry: modules.Standard(), OpenPackage: g.Open(ctx)}
	before := &packages.Opener{Site: root.FS(), Cache: s.packageCache()}
	for i := range changes {
		c := &changes[i]
		if c.Former == nil || c.Now == nil || c.Former.Digest == c.Now.Digest {
			continue
		}
		former, err := before.Open(c.Former.Source)
		if err != nil {
			continue // it is not here
		}
		if now, err := g.Open(ctx)(c.Now.Source); err == nil {
			c.Interface = get.Compare(ctx, former.Files, now.Files, o)
		}
	}
}

// writeLock writes the lock of a site, if it is another one.
func writeLock(root *os.Root, l *lock.Lock) error {
	data := l.Bytes()
	before, err := fs.ReadFile(root.FS(), lock.Name)
	isMissing := errors.Is(err, fs.ErrNotExist)
	switch {
	case isMissing && len(l.Packages) == 0, err == nil && string(before) == string(data):
		return nil
	case err != nil && !isMissing:
		return err
	}
	return atomicfile.ReplaceIn(root, lock.Name, atomicfile.Options{Mode: 0o644, Durable: true}, atomicfile.Data(data))
}
