package custom_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// acts makes a module of the body of act, and carries it out.
func acts(ctx context.Context, t testing.TB, h host.Host, body string) (map[string]any, error) {
	t.Helper()
	m := source(t, `
"""Doc."""
attributes = {
    "name": attr("string", doc = "Doc."),
    "seen": attr("any", out = True, doc = "Doc."),
}
def act(host, want):
    `+strings.ReplaceAll(body, "\n", "\n    ")+"\n")
	want, err := m.Decode(map[string]any{"name": "n"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, out, err := m.Act(ctx, h, want)
	if err != nil {
		return nil, err
	}
	return m.Encode(out), nil
}

// Errors of the host come out as they are.
func TestErrorsOfTheHost(t *testing.T) {
	h := fake.Host(t)
	shadow := host.NewShadow(h)
	if err := shadow.WriteFile(t.Context(), "/etc/new", host.Text("x"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	for body, c := range map[string]struct {
		h    host.Host
		want error
	}{
		"host.run(['true'])":                                      {shadow, host.ErrUnforeseeable},
		"host.query(['true'], reads = ['/etc'])":                  {shadow, host.ErrUnanswerable},
		"host.read_file('/none')":                                 {h, fs.ErrNotExist},
		"host.list('/none')":                                      {h, fs.ErrNotExist},
		"host.content('/none')":                                   {h, fs.ErrNotExist},
		"host.mkdir('/etc')":                                      {h, fs.ErrExist},
		"def f(): host.remove('/none')\n[f() for i in [1]]":       {h, fs.ErrNotExist},
		"sorted([1, 2], key = lambda x: host.read_file('/none'))": {h, fs.ErrNotExist},
		"host.run(['nothing-of-the-kind'])":                       {h, fs.ErrNotExist},
		"host.write_file('/etc/x', 'x', owner = 'nobody-here')":   {h, fs.ErrNotExist},
		"host.symlink('target', '/none/link')":                    {h, fs.ErrNotExist},
		"host.set_meta('/none', mode = '0600')":                   {h, fs.ErrNotExist},
		"host.readlink('/none')":                                  {h, fs.ErrNotExist},
	} {
		_, err := acts(t.Context(), t, c.h, body)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", body, err, c.want)
		}
		var bug *custom.BugError
		if errors.As(err, &bug) || err != nil && strings.Contains(err.Error(), ".star") {
			t.Errorf("%s is told as a mistake in the module: %v", body, err)
		}
	}
}

// What the host's methods give.
func TestHost(t *testing.T) {
	h := fake.Host(t)
	fake.Put(t, h, "/srv/a", "héllo\xff", 0o640)
	fake.Put(t, h, "/srv/large", strings.Repeat("x", host.InlineLimit+1), 0o600)
	fake.Link(t, h, "a", "/srv/link")
	fake.Link(t, h, "loop", "/srv/loop")
	fake.Link(t, h, "../etc/../srv/link", "/srv/far")
	h.Handle("cat", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{Stdout: c.Stdin, Stderr: []byte(strings.Join(c.Argv, ",") + c.Dir + c.User), ExitCode: len(c.Env)}, nil
	})
	for body, want := range map[string]string{
		"host.lstat('/none')":                                                             "None",
		"host.lstat('/none/at/all')":                                                      "None",
		"host.stat('/none')":                                                              "None",
		"host.lstat('/srv/link').kind":                                                    "symlink",
		"host.stat('/srv/far').kind":                                                      "file",
		"host.lstat('/srv/a').mode":                                                       "0640",
		"host.lstat('/srv/a').size":                                                       "7",
		"host.lstat('/srv/a').owner":                                                      "root",
		"host.lstat('/srv/a').group_as(0)":                                                "0",
		"host.lstat('/srv/a').owner_as('0')":                                              "0",
		"host.lstat('/srv/a').owner_as('alice')":                                          "root",
		"host.lstat('/srv/a').owner_as(None)":                                             "None",
		"host.read_file('/srv/link')":                                                     "héllo\xff",
		"host.read_file('/none', '')":                                                     "",
		"host.read_file('/none', default = None)":                                         "None",
		"host.content('/srv/a') == host.content('/srv/link')":                             "True",
		"host.content('/srv/a') == host.content('/srv/large')":                            "False",
		"host.content('/srv/large').size":                                                 "1048577",
		"[e.name for e in host.list('/srv') if e.kind == 'symlink']":                      `["far", "link", "loop"]`,
		"host.list('/none', [])":                                                          "[]",
		"host.readlink('/srv/link')":                                                      "a",
		"host.user('alice').uid":                                                          "1000",
		"host.user(1000).name":                                                            "alice",
		"host.user('nobody-here')":                                                        "None",
		"host.group('www-data').gid":                                                      "33",
		"host.group(4242)":                                                                "None",
		"host.run(['cat', 'x'], stdin = 'in', dir = '/srv', user = 'alice').stdout":       "in",
		"host.run(['cat', 'x'], dir = '/srv', user = 'alice').stderr":                     "cat,x/srvalice",
		"host.run(['cat'], env = {'A': 'b'}, ok = [0, 1]).exit_code":                      "1",
		"host.query(['cat'], reads = [], env = {'A': 'b', 'C': ''}, ok = None).exit_code": "2",
		"search('^h(.)(x)?', 'hello')":                                                    `("he", "e", None)`,
		"search('^x', 'hello')":                                                           "None",
		"seconds('1m30s')":                                                                "90.0",
		"json.encode({'b': [1, None], 'a': 'é'})":                                         `{"a":"é","b":[1,null]}`,
		"json.decode('{\"a\": [1, 2.5]}')[\"a\"][1]":                                      "2.5",
		"json.decode('\"[[[\\\\\"\"')":                                                    `[[["`,
		"struct(a = 1).a":                                                                 "1",
		"type(want) + want.name":                                                          "xn",
		"[host.write_file('/srv/copy', host.content('/srv/large')), host.stat('/srv/copy').size][1]": "1048577",
		"dir(host)": `["content", "group", "list", "lstat", "mkdir", "query", "read_file", "readlink", "remove", "run", "set_meta", "stat", "symlink", "user", "write_file"]`,
	} {
		_, err := acts(t.Context(), t, h, "fail("+body+")")
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	for body, want := range map[string]string{
		"host.stat('/srv/loop')":              "too many symbolic links",
		"host.read_file('/srv/large')":        "content(path) is for such",
		"host.read_file('/srv')":              "directory",
		"host.read_file('srv')":               "not absolute",
		"host.run(['cat'], env = {'A': 'b'})": "cat ended with exit status 1: cat",
		"search('(', '')":                     "missing closing",
		"seconds('soon')":                     "no duration",
	} {
		if _, err := acts(t.Context(), t, h, body+"\nreturn False"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	out, err := acts(t.Context(), t, h, "return True, {'seen': {'a': [1, 2.5, 1.0, True, None, 'x', (1,)], 'b': 1 << 70}}")
	if got := fmt.Sprint(out["seen"]); err != nil || got != "map[a:[1 2.5 1 true <nil> x [1]] b:1180591620717411303424]" {
		t.Errorf("%v, %v", got, err)
	}
}

// The end of the context ends a loop, and what comes out is its cause.
func TestCancel(t *testing.T) {
	why := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	start := time.Now()
	_, err := acts(ctx, t, fake.Host(t), "for i in range(1000000):\n  for j in range(1000000): pass")
	var bug *custom.BugError
	if !errors.Is(err, why) || errors.As(err, &bug) || time.Since(start) > time.Minute {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	if _, err := acts(ctx, t, fake.Host(t), "host.write_file('/etc/late', '')"); !errors.Is(err, why) {
		t.Errorf("it goes on: %v", err)
	}
}

// The time that a program may take.
func TestTimeout(t *testing.T) {
	h := fake.Host(t)
	h.Handle("wait", func(ctx context.Context, _ host.Command) (host.Result, error) {
		<-ctx.Done()
		return host.Result{}, context.Cause(ctx)
	})
	if _, err := acts(t.Context(), t, h, "host.run(['wait'], timeout = 0.01)"); err == nil || !strings.Contains(err.Error(), "it took longer than 10ms") {
		t.Error(err)
	}
}

// A module is used by many at once.
func TestConcurrent(t *testing.T) {
	set := load(t)
	file, line := states.NewRegistry(set.Modules()...).Lookup("star_file"), states.NewRegistry(set.Modules()...).Lookup("star_line")
	h := fake.Host(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for k, m := range []*states.Module{file, line} {
				values := map[string]any{"path": fmt.Sprintf("/srv/%d-%d", k, i)}
				if m == line {
					values["line"] = "a"
					if err := h.Add(values["path"].(string), "b\n"); err != nil {
						t.Error(err)
					}
				}
				want, err := m.Decode(values, nil)
				if err == nil {
					err = m.Check(want)
				}
				if err == nil {
					_, err = m.Read(t.Context(), h, want)
				}
				want = m.Fill(nil, want)
				m.Diff(nil, want)
				if err == nil {
					err = m.Write(t.Context(), h, nil, want)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// What is kept from one call to the next would make the next depend on it.
func TestNothingIsKept(t *testing.T) {
	m := source(t, `
"""Doc."""
attributes = {"name": attr("string", doc = "Doc.")}
seen = []
def act(host, want):
    seen.append(want.name)
    return False
`)
	want, err := m.Decode(map[string]any{"name": "n"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Act(t.Context(), fake.Host(t), want); err == nil || !strings.Contains(err.Error(), "cannot append to frozen list\nat modules/x.star:6:") {
		t.Error(err)
	}
}

// Secrets do not show where a resource is printed.
func TestResourceDoesNotShowItsValues(t *testing.T) {
	_, err := acts(t.Context(), t, fake.Host(t), "fail('%s' % want, str([want]))")
	if err == nil || err.Error() != "<x> [<x>]" {
		t.Error(err)
	}
}
