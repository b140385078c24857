package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/klauspost/compress/gzip"

	vers "github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/runtime/ssh"
)

// runnerCmd is about the program that acts on hosts.
type runnerCmd struct {
	Build runnerBuildCmd `cmd:"" help:"Build the programs that are brought to hosts, for their architectures."`
}

type runnerBuildCmd struct {
	OS     string   `name:"os" help:"The hosts' system, as Go names it." default:"linux" placeholder:"OS"`
	Arch   []string `help:"Their architectures: amd64, arm64, armv7, armv6, riscv64, 386, ppc64le, s390x, loong64." default:"amd64,arm64,armv7,riscv64,386" placeholder:"ARCH"`
	Source string   `help:"Folder of tenet's source." default:"." placeholder:"DIR"`
	Out    string   `help:"Where the programs go; without it, where this user's tenet looks for them." placeholder:"DIR"`
}

// module is tenet's own source.
const module = "github.com/tenetcm/tenet"

// builtRunner is a program that was built.
type builtRunner struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Path    string `json:"path"`
	Version string `json:"version"`
	Size    int64  `json:"size"`
	Gzip    int64  `json:"gzip"` // as it is sent
	SHA256  string `json:"sha256"`
}

// Run builds the runners, one after the other.
func (cmd *runnerBuildCmd) Run(ctx runContext, s *client) error {
	for _, arch := range cmd.Arch {
		if !ssh.Known(cmd.OS, arch) {
			return usage("tenet runner build --help lists the architectures", "hosts of %s %s are not known", cmd.OS, arch)
		}
	}
	source, err := s.source(ctx, cmd.Source)
	if err != nil {
		return err
	}
	var built []builtRunner
	for _, arch := range cmd.Arch {
		if !s.globals.JSON && !s.globals.Quiet {
			fmt.Fprintf(s.Err, "building the runner for %s %s\n", cmd.OS, arch)
		}
		r, err := cmd.build(ctx, s, source, arch)
		if err != nil {
			return err
		}
		if r.Version != version() && len(built) == 0 {
			fmt.Fprintf(s.Err, "warning: the source is of version %s: this program, of version %s, does not use what is built from it\n", r.Version, version())
		}
		built = append(built, *r)
	}
	if s.globals.JSON {
		return s.printJSON(built)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "OS\tARCH\tSIZE\tGZIP\tSHA-256\tPATH")
	for _, r := range built {
		fmt.Fprintf(out, "%s\t%s\t%.1f MB\t%.1f MB\t%s\t%s\n", r.OS, r.Arch, float64(r.Size)/1e6, float64(r.Gzip)/1e6, r.SHA256[:16], r.Path)
	}
	return failed(out.Flush())
}

// source finds the source that dir is in.
func (s *client) source(ctx context.Context, dir string) (string, error) {
	found, err := s.goTool(ctx, dir, nil, "list", "-m", "-f", "{{.Path}}\t{{.Dir}}")
	if err != nil {
		return "", err
	}
	path, root, _ := strings.Cut(strings.TrimSpace(found), "\t")
	if path != module || root == "" {
		where := "the module " + path
		if root == "" {
			where = "no module"
		}
		return "", usage("give --source DIR, with the source of version "+version(), "%s is not the source of tenet: it is in %s", dir, where)
	}
	return root, nil
}

// goTool runs the go command.
func (s *client) goTool(ctx context.Context, dir string, environ []string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	c.Env = append(append(os.Environ(), "GOWORK=off"), environ...)
	err := c.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		return "", &status{code: exitInterrupted, err: errInterrupted}
	case errors.Is(err, exec.ErrNotFound):
		return "", &status{code: exitFailed, err: errors.New("there is no Go here, which runners are built with"), hint: "install it from https://go.dev/dl, or build them elsewhere and give --runner-dir"}
	}
	text := strings.TrimSpace(stderr.String())
	return "", failed(fmt.Errorf("go %s: %w\n%s", args[0], err, text))
}

// build builds one runner, and puts it in its place once it is whole.
func (cmd *runnerBuildCmd) build(ctx context.Context, s *client, source, arch string) (*builtRunner, error) {
	tmp, err := os.MkdirTemp("", "tenet-runner-")
	if err != nil {
		return nil, failed(err)
	}
	defer os.RemoveAll(tmp)
	made := filepath.Join(tmp, "tenet-runner")
	program := "./cmd/tenet-runner"
	if _, err := os.Stat(filepath.Join(source, program)); err != nil {
		program = "./cmd/tenet"
	}
	goarch, arm := arch, ""
	if version, ok := strings.CutPrefix(arch, "armv"); ok {
		goarch, arm = "arm", version
	}
	environ := []string{"CGO_ENABLED=0", "GOOS=" + cmd.OS, "GOARCH=" + goarch, "GOARM=" + arm}
	if _, err := s.goTool(ctx, source, environ, "build", "-trimpath", "-ldflags", "-s -w", "-o", made, program); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(made)
	if err != nil {
		return nil, failed(err)
	}
	r := &builtRunner{OS: cmd.OS, Arch: arch, Version: vers.Of(info)}
	dir := cmd.Out
	if dir == "" {
		cache := s.cacheDir()
		if cache == "" {
			return nil, usage("give --out DIR", "there is no HOME to put the runners in")
		}
		dir = filepath.Join(cache, "runners", r.Version)
	}
	r.Path, err = filepath.Abs(filepath.Join(dir, "tenet-runner-"+cmd.OS+"-"+arch))
	if err != nil {
		return nil, failed(err)
	}
	return r, failed(r.install(made))
}

// install measures what was made, and moves it to its path.
func (r *builtRunner) install(made string) error {
	data, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	r.SHA256, r.Size = hex.EncodeToString(sum[:]), int64(len(data))
	counted := &counter{}
	packed, err := gzip.NewWriterLevel(counted, ssh.PackLevel)
	if err != nil {
		return err
	}
	if _, err := packed.Write(data); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	r.Gzip = counted.n
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return err
	}
	whole, err := os.CreateTemp(filepath.Dir(r.Path), ".tenet-runner-")
	if err != nil {
		return err
	}
	_, err = whole.Write(data)
	err = errors.Join(err, whole.Chmod(0o755), whole.Close())
	if err == nil {
		err = os.Rename(whole.Name(), r.Path)
	}
	if err != nil {
		os.Remove(whole.Name())
	}
	return err
}

// counter counts what is written.
type counter struct{ n int64 }

// Write counts.
func (c *counter) Write(data []byte) (int, error) {
	c.n += int64(len(data))
	return len(data), nil
}

var _ io.Writer = (*counter)(nil)
