package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// mounted is a host with file systems mounted on all that is called mnt.
type mounted struct{ *host.Memory }

func (m mounted) NoFollow() host.Host        { return m }
func (m mounted) ForRun(id string) host.Host { return m }

func (m mounted) Lstat(path string) (host.Info, error) {
	info, err := m.Memory.Lstat(path)
	info.Mount = err == nil && strings.HasSuffix(path, "/mnt")
	return info, err
}

func (m mounted) Remove(path string) error {
	if strings.Contains(path, "/mnt") {
		return fmt.Errorf("%s was to be removed", path)
	}
	return m.Memory.Remove(path)
}

func (m mounted) OpenDir(path string) (host.Dir, error) { return host.DirByPath(m, path) }

// What is mounted below is neither entered nor changed, the plan says so, and the apply
// does what the plan has said.
func TestMountedBelow(t *testing.T) {
	www := www("sub/f=new", "sub/mnt/f=new")
	for name, c := range map[string]struct {
		part, fails string
		stays       string // of what is below /srv/app, beside the mount
	}{
		"recurse": {part: "directory \"/srv/app\" {\n mode = \"0700\"\n recurse = true\n file_mode = \"0600\"\n}\n", stays: ". sub sub/f sub/mnt top top/f"},
		"purge":   {part: "directory \"/srv/app\" {\n purge = true\n}\n", stays: ". sub sub/f sub/mnt"},
		"force":   {part: "directory \"/srv/app\" {\n ensure = \"absent\"\n force = true\n}\n", fails: "a file system is mounted there", stays: ". sub sub/f sub/mnt top top/f"},
		"tree":    {part: "tree \"/srv/app\" {\n source = \"plain\"\n purge = true\n}\n", stays: ". sub sub/f sub/mnt"},
		"tree in": {part: "tree \"/srv/app\" {\n source = \"www\"\n}\n", fails: "a file system is mounted there", stays: ". sub sub/f sub/mnt top top/f"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"site.hcl": {Data: []byte(c.part)}, "plain/sub/f": {Data: []byte("old"), Mode: 0o644}}
			for name, f := range www {
				files[name] = f
			}
			run := compileFiles(t, modules.Standard(), files).Run
			m := mounted{host.NewMemory()}
			for _, dir := range []string{"/srv", "/srv/app", "/srv/app/sub", "/srv/app/sub/mnt", "/srv/app/top"} {
				mkdir(t, m.Memory, dir)
			}
			for _, file := range []string{"sub/f", "sub/mnt/theirs", "top/f"} {
				write(t, m.Memory, "/srv/app/"+file, "old")
			}
			o := runtime.Options{Host: m, Site: files}
			planned := carry(t, runtime.Plan, run, o)
			applied := carry(t, runtime.Apply, run, o)
			for what, out := range map[string]outcome{"plan": planned, "apply": applied} {
				var messages strings.Builder
				for _, ev := range out.events {
					if ev.Type == states.EventSaid {
						messages.WriteString(ev.Reason)
					}
					if ev.Error != nil {
						messages.WriteString(ev.Error.Message)
					}
				}
				if !strings.Contains(messages.String(), "/srv/app/sub/mnt") || out.Failed != (c.fails != "") || !strings.Contains(messages.String(), c.fails) {
					t.Errorf("the %s failed: %t, and says %q", what, out.Failed, &messages)
				}
			}
			if is := strings.TrimSpace(names(t, m, "/srv/app")); is != c.stays {
				t.Errorf("there is %q, want %q", is, c.stays)
			}
			if info, err := m.Memory.Lstat("/srv/app/sub/mnt"); err != nil || info.Mode != 0o755 || content(t, m.Memory, "/srv/app/sub/mnt/theirs") != "old" {
				t.Errorf("the mount is %+v, %v", info, err)
			}
		})
	}
}

// A tree takes as many operations a folder, however deep it is.
func TestDeepTrees(t *testing.T) {
	for name, part := range map[string]string{
		"tree":    "tree \"/srv/app\" {\n source = \"www\"\n}\n",
		"recurse": "directory \"/srv/app\" {\n mode = \"0700\"\n recurse = true\n}\n",
		"force":   "directory \"/srv/app\" {\n ensure = \"absent\"\n force = true\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			var took [2]int
			for i, depth := range []int{60, 180} {
				deep := strings.Repeat("d/", depth)
				files := www(deep+"f=x", deep+"g=x")
				files["site.hcl"] = &fstest.MapFile{Data: []byte(part)}
				m := host.NewMemory()
				if err := m.Add("/srv/app/"+strings.Repeat("d/", depth)+"old", "x"); err != nil {
					t.Fatal(err)
				}
				count := &meddling{act: func(int) {}}
				out := carry(t, runtime.Apply, compileFiles(t, modules.Standard(), files).Run, runtime.Options{Host: &meddled{m, count}, Site: files})
				if out.Failed || out.Counts.Changed != 1 {
					t.Fatalf("failed: %t, counts %+v", out.Failed, out.Counts)
				}
				took[i] = count.done
			}
			if took[1] > 4*took[0] {
				t.Errorf("of three times the depth it takes %d operations instead of %d", took[1], took[0])
			}
		})
	}
}
