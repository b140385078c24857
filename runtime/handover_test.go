package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
)

// busyFiles is a host on which the account of each file has it open for writing: to give a file
// of that account away, and not to write it anew, is an error.
type busyFiles struct {
	host.Host
	t *testing.T
}

func (h *busyFiles) NoFollow() host.Host        { return &busyFiles{h.Host.NoFollow(), h.t} }
func (h *busyFiles) ForRun(id string) host.Host { return &busyFiles{h.Host.ForRun(id), h.t} }

func (h *busyFiles) SetMeta(path string, m host.Meta) error {
	h.check(path, m, h.Lstat)
	return h.Host.SetMeta(path, m)
}

func (h *busyFiles) OpenDir(path string) (host.Dir, error) {
	d, err := h.Host.OpenDir(path)
	return &busyDir{d, h}, err
}

func (h *busyFiles) check(name string, m host.Meta, lstat func(string) (host.Info, error)) {
	info, err := lstat(name)
	if err == nil && info.Kind == host.Regular && info.UID != 0 && m.UID != nil && *m.UID != info.UID {
		h.t.Errorf("%s is given away by the user %d, who has it open", name, info.UID)
	}
}

type busyDir struct {
	host.Dir
	h *busyFiles
}

func (d *busyDir) SetMeta(name string, m host.Meta) error {
	d.h.check(name, m, d.Lstat)
	return d.Dir.SetMeta(name, m)
}

func (d *busyDir) Enter(name string) (host.Dir, error) {
	below, err := d.Dir.Enter(name)
	return &busyDir{below, d.h}, err
}

// handovers are parts with an owner, and the files that are theirs then.
var handovers = map[string]struct {
	part  string
	files []string
}{
	"file":             {"file \"/srv/f\" {\n content = \"x\"", []string{"/srv/f"}},
	"file as it is":    {"file \"/srv/old\" {\n mode = \"0600\"", []string{"/srv/old"}},
	"file with backup": {"file \"/srv/f\" {\n content = \"x\"\n backup = true\n validate = [\"true\"]", []string{"/srv/f"}},
	"download":         {"download \"/srv/old\" {\n url = \"https://example.org/old\"\n checksum = \"sha256:cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4\"", []string{"/srv/old"}},
	"certificate": {"certificate \"/srv/c.pem\" {\n private_key = \"/srv/c.key\"\n common_name = \"c\"",
		[]string{"/srv/c.pem", "/srv/c.key"}},
	"tree":    {"tree \"/srv/app\" {\n source = \"www\"", []string{"/srv/app/top", "/srv/app/sub/secret"}},
	"archive": {"archive \"/srv/app\" {\n source = \"app.tar\"", []string{"/srv/app/top", "/srv/app/sub/secret"}},
}

// A file that leaves an account other than root is written anew, though it holds what it shall.
func TestHandover(t *testing.T) {
	for name, c := range handovers {
		t.Run(name, func(t *testing.T) {
			m, err := simulated.New(t.Context(), simulated.Machine{NoApt: true, NoSystemd: true})
			if err != nil {
				t.Fatal(err)
			}
			m.Handle("true", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
			if err := simulated.WriteFile(t.Context(), m, "/srv/old", "old", host.Meta{}); err != nil {
				t.Fatal(err)
			}
			h := &busyFiles{m, t}
			for _, uid := range []int{4711, 0, 4711, 4712} {
				files := swappedFiles(t, fmt.Sprintf("%s%s\n owner = %q\n}\n", shop, c.part, fmt.Sprint(uid)))
				before := contents(m, c.files)
				run := compileFiles(t, modules.Standard(), files).Run
				o := runtime.Options{Host: h, Site: files, Registry: modules.Standard()}
				for _, how := range []carryOut{runtime.Plan, runtime.Apply} {
					if out := carry(t, how, run, o); out.Failed {
						t.Fatalf("owner %d: %+v", uid, out.parts)
					}
				}
				for i, file := range c.files {
					if info, err := m.Lstat(file); err != nil || info.UID != uid {
						t.Errorf("%s belongs to %d, not %d: %v", file, info.UID, uid, err)
					}
					if now := contents(m, c.files)[i]; now == "" || before[i] != "" && now != before[i] {
						t.Errorf("%s holds %q, and held %q", file, now, before[i])
					}
				}
			}
		})
	}
}

func contents(h host.Reader, names []string) (out []string) {
	for _, name := range names {
		out = append(out, simulated.Text(h, name))
	}
	return out
}
