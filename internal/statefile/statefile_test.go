package statefile_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/machine"
)

// A host is declared as it was, in either language.
func TestHostRoundTrip(t *testing.T) {
	for _, h := range []site.Host{
		{Name: "web1", Address: "web1", Executor: "ssh"},
		{Name: "web-1.example.com", Address: "192.0.2.1", Port: 2222, User: "deploy", Executor: "ssh", Become: "root", BecomeMethod: "doas", SSHOptions: []string{"ProxyJump=gate", "SetEnv=\"A=${b}\""}, RunnerCache: "/var/tmp/\"x\""},
		{Name: "a", Address: "a", Executor: "agent"},
		{Name: "b", Address: "b", Executor: "ssh", Become: "app"},
	} {
		for language, name := range map[statefile.Language]string{statefile.HCL: "site.hcl", statefile.Starlark: "site.star"} {
			text, problems := lang.Format(name, []byte(language.Host(&h)))
			if problems.HasErrors() {
				t.Fatalf("%v\n%s", problems.Err(), text)
			}
			loaded, problems := lang.Load(fstest.MapFS{name: {Data: text}}, lang.Options{Registry: modules.Standard()})
			if problems.HasErrors() {
				t.Fatalf("%v\n%s", problems.Err(), text)
			}
			hosts, _, problems := loaded.Hosts(context.Background(), lang.Target{})
			if problems.HasErrors() || len(hosts) != 1 {
				t.Fatalf("%v\n%s", problems.Err(), text)
			}
			got := hosts[0]
			got.Range = h.Range
			if !reflect.DeepEqual(got, h) {
				t.Errorf("%s gives %+v, not %+v", text, got, h)
			}
		}
	}
}

// What looks otherwise in an editor than it reads does not stand there as it is, whoever has told it.
func TestUnsafeLines(t *testing.T) {
	p := &machine.ImportPart{Type: "file", Label: "x", Values: []machine.ImportValue{{Name: "content", Value: "a\nb \u202e c\n\x1b[2J\n"}}}
	for _, l := range []statefile.Language{statefile.HCL, statefile.Starlark} {
		if text := l.Print(p); strings.ContainsAny(text, "\u202e\x1b") {
			t.Errorf("%s: %q", l, text)
		}
	}
}
