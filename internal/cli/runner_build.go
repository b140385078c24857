package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/klauspost/compress/gzip"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/runnerbuild"
	"github.com/tenetcm/tenet/runtime/ssh"
)

// runnerCmd is about the program that acts on hosts.
type runnerCmd struct {
	Build runnerBuildCmd `cmd:"" help:"Build the programs that are brought to hosts, for their architectures."`
}

type runnerBuildCmd struct {
	OS     string   `name:"os" help:"The hosts' system, as Go names it." default:"linux" placeholder:"OS"`
	Arch   []string `help:"Their architectures: amd64, arm64, armv7, armv6, riscv64, 386, ppc64le, s390x, loong64." default:"amd64,arm64,armv7,riscv64,386" placeholder:"ARCH"`
	Source string   `help:"Folder of tenet's source; without it, where this program was built." placeholder:"DIR"`
	Out    string   `help:"Where the programs go; without it, where this user's tenet looks for them." placeholder:"DIR"`
}

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

// Run builds the runners, one after the other. What nobody would use is refused before.
func (cmd *runnerBuildCmd) Run(ctx runContext, s *client) error {
	for _, arch := range cmd.Arch {
		if !ssh.IsPlatform(cmd.OS, arch) {
			return usage("tenet runner build --help lists the architectures", "hosts of %s %s are not known", cmd.OS, arch)
		}
	}
	builder := s.runnerBuilder(cmd.Source)
	if _, _, err := builder.Dir(); err != nil {
		return usage("build this program of the source that is there (CGO_ENABLED=0 go build ./cmd/tenet), or give --source DIR, with that of version "+version(), "nothing is built: %w", err)
	}
	var built []builtRunner
	for _, arch := range cmd.Arch {
		r := builtRunner{OS: cmd.OS, Arch: arch, Version: version()}
		path, err := builder.Build(ctx, cmd.OS, arch, func() {
			if !s.globals.JSON && !s.globals.Quiet {
				fmt.Fprintf(s.Err, "building the runner for %s %s\n", cmd.OS, arch)
			}
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return &status{code: exitInterrupted, err: errInterrupted}
		case err != nil:
			return newStatus(exitFailed, err, "runners may be built elsewhere, of the same source, and given by --runner-dir; Go is at https://go.dev/dl")
		}
		out := cmd.Out
		if out == "" && cmd.Source != "" { // where that is nobody knows the next time
			out = filepath.Join(builder.Cache, version())
		}
		if err := r.install(path, out); err != nil {
			return failure(err)
		}
		built = append(built, r)
	}
	if s.globals.JSON {
		return s.printJSON(built)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "OS\tARCH\tSIZE\tGZIP\tSHA-256\tPATH")
	for _, r := range built {
		fmt.Fprintf(out, "%s\t%s\t%.1f MB\t%.1f MB\t%s\t%s\n", r.OS, r.Arch, float64(r.Size)/1e6, float64(r.Gzip)/1e6, r.SHA256[:16], r.Path)
	}
	return failure(out.Flush())
}

// runnerBuilder builds runners into this user's cache.
func (s *client) runnerBuilder(source string) *runnerbuild.Builder {
	b := &runnerbuild.Builder{Source: source, Version: version()}
	if cache := s.cacheDir(); cache != "" {
		b.Cache = filepath.Join(cache, "runners")
	}
	return b
}

// install measures what was built, and copies it to another folder, if that is wanted.
func (r *builtRunner) install(built, dir string) error {
	data, err := os.ReadFile(built)
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
	if r.Path, err = filepath.Abs(built); dir == "" || err != nil {
		return err
	}
	if r.Path, err = filepath.Abs(filepath.Join(dir, filepath.Base(built))); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return err
	}
	return replaceFile(r.Path, 0o755, data)
}

// replaceFile puts data at a path, with a mode that the umask does not restrict.
func replaceFile(path string, mode fs.FileMode, data []byte) error {
	return atomicfile.Replace(path, atomicfile.Options{}, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Chmod(mode))
	})
}

// counter counts what is written.
type counter struct{ n int64 }

// Write counts.
func (c *counter) Write(data []byte) (int, error) {
	c.n += int64(len(data))
	return len(data), nil
}

var _ io.Writer = (*counter)(nil)
