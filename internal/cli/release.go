package cli

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

type releaseCmd struct {
	Sign   releaseSignCmd   `cmd:"" help:"Sign programs as a release, for agents."`
	Upload releaseUploadCmd `cmd:"" help:"Give the server a release that was signed, and its programs."`
	List   releaseListCmd   `cmd:"" help:"List the releases that the server has."`
	Remove releaseRemoveCmd `cmd:"" help:"Have the server forget a release."`
}

type releaseSignCmd struct {
	Release string   `arg:"" name:"version" help:"The version of the programs, such as v1.4.0."`
	Program []string `arg:"" help:"A program, or NAME/OS/ARCH=FILE where the file does not say what it is."`
	Key     string   `help:"The private key by which it is signed." required:"" placeholder:"FILE"`
	Out     string   `short:"o" help:"Write the release to this file (default: VERSION.release)." placeholder:"FILE"`
}

// Run signs a release.
func (cmd *releaseSignCmd) Run(_ runContext, s *client) error {
	key, err := readSigningKey(cmd.Key)
	if err != nil {
		return failure(err)
	}
	r := trust.Release{Format: trust.ReleaseFormat, Version: cmd.Release}
	for _, text := range cmd.Program {
		p, err := readProgram(text, cmd.Release)
		if err != nil {
			return failure(err)
		}
		r.Programs = append(r.Programs, *p)
	}
	if err := r.Check(); err != nil {
		return failure(&diag.HintError{Code: "release", Message: "this can be no release: " + err.Error(), Hint: "tenet release sign v1.4.0 FILE… --key KEY"})
	}
	signed, err := trust.Sign(trust.KindRelease, r, key)
	if err != nil {
		return failure(err)
	}
	data, err := plainjson.Marshal(signed)
	if err != nil {
		return failure(err)
	}
	if cmd.Out == "" {
		cmd.Out = cmd.Release + ".release"
	}
	if err := atomicfile.Replace(cmd.Out, atomicfile.Options{Mode: 0o644}, atomicfile.Data(append(data, '\n'))); err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(r)
	}
	return s.say(fmt.Sprintf("%s is signed in %s: %s", r.Version, ui.Clean(cmd.Out), titlesOf(r.Programs)))
}

func titlesOf(list []trust.Program) string {
	var words []string
	for _, p := range list {
		words = append(words, ui.Line(p.Title()))
	}
	return strings.Join(words, ", ")
}

// readProgram reads what a program is. What Go has noted in it must not say otherwise.
func readProgram(text, version string) (*trust.Program, error) {
	title, file, isNamed := strings.Cut(text, "=")
	if !isNamed {
		file = text
	}
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	p := &trust.Program{Content: trust.Content{SHA256: sha256.Sum256(data), Size: int64(len(data))}}
	if isNamed {
		words := strings.Split(title, "/")
		if len(words) != 3 {
			return nil, &diag.HintError{Code: "release", Message: fmt.Sprintf("%q does not name a program", title), Hint: "write NAME/OS/ARCH=FILE, such as tenet-agent/linux/arm64=FILE"}
		}
		p.Name, p.OS, p.Arch = words[0], words[1], words[2]
		return p, nil
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, &diag.HintError{Code: "release", Message: fmt.Sprintf("%s does not say what program it is: %v", file, err), Hint: "write NAME/OS/ARCH=FILE"}
	}
	p.Name = path.Base(info.Path)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS":
			p.OS = setting.Value
		case "GOARCH":
			p.Arch = setting.Value
		}
	}
	if v := info.Main.Version; trust.CheckVersion(v) == nil && v != version {
		return nil, &diag.HintError{Code: "release", Message: fmt.Sprintf("%s is of version %s, and %s is to be released", file, v, version), Hint: "hosts try a program first, and refuse one that says another version"}
	}
	return p, nil
}

// readFile reads a program, as far as one may be large.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, trust.MaxProgramSize+1))
	if err == nil && len(data) > trust.MaxProgramSize {
		err = fmt.Errorf("%s has more than %d MiB", name, trust.MaxProgramSize>>20)
	}
	return data, err
}

type releaseUploadCmd struct {
	Release string   `arg:"" name:"file" help:"The release, as it was signed."`
	Program []string `arg:"" optional:"" help:"Its programs."`
	Reason  string   `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run uploads a release.
func (cmd *releaseUploadCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	text, err := readSome(cmd.Release, 8<<20)
	if err != nil {
		return usage("", "%w", err)
	}
	signed := &trust.Signed{}
	if err := json.Unmarshal(text, signed); err != nil {
		return failure(&diag.HintError{Code: "release", Message: fmt.Sprintf("%s is no release: %v", cmd.Release, err), Hint: "tenet release sign makes one"})
	}
	r, err := server.AddRelease(ctx, signed, cmd.Reason)
	if err != nil {
		return failure(err)
	}
	lacking := map[trust.Digest]bool{}
	for _, p := range r.Lacking {
		lacking[p.SHA256] = true
	}
	for _, name := range cmd.Program {
		data, err := readFile(name)
		if err != nil {
			return failure(err)
		}
		if d := trust.DigestOf(data); lacking[d] {
			if err := server.UploadProgram(ctx, d, data); err != nil {
				return failure(fmt.Errorf("%s: %w", filepath.Base(name), err))
			}
			delete(lacking, d)
		}
	}
	var missing []trust.Program
	for _, p := range r.Lacking {
		if lacking[p.SHA256] {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return newStatus(exitFailed, errors.New("the server has the release "+ui.Line(r.Version)+", and lacks of its programs: "+titlesOf(missing)), "name their files behind that of the release")
	}
	return s.say("the server has the release " + ui.Line(r.Version) + ": " + titlesOf(r.Programs))
}

type releaseListCmd struct{}

// Run lists releases.
func (cmd *releaseListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	list, err := server.Releases(ctx)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(list)
	}
	if len(list) == 0 {
		return s.say("there are no releases")
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "VERSION\tBY\tAT\tPROGRAMS\tLACKING")
	for _, r := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", ui.Line(r.Version), ui.Line(r.By), when(r.At), titlesOf(r.Programs), orDash(titlesOf(r.Lacking)))
	}
	return unread(failure(out.Flush()))
}

type releaseRemoveCmd struct {
	Release string `arg:"" name:"version" help:"Its version."`
	Reason  string `help:"Why, for the audit." placeholder:"TEXT"`
}

// Run removes a release.
func (cmd *releaseRemoveCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	if err := server.RemoveRelease(ctx, cmd.Release, cmd.Reason); err != nil {
		return failure(err)
	}
	return s.say("the server has no release " + ui.Line(cmd.Release) + " any more")
}
